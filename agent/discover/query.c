/* Questions to the discovery thread, for the pages that show what it knows. */
#include "discover/discover_internal.h"
#include "base/cleanup.h"
#include <errno.h>
#include <string.h>

void query_drop(struct query *a)
{
    if (__atomic_sub_fetch(&a->holders, 1, __ATOMIC_ACQ_REL))
        return;
    queue_free(&a->reply);
    buf_free(&a->text);
    free(a);
}

static void member(struct buf *b, const char *key, const char *value)
{
    buf_str(b, b->data[b->len - 1] == '{' ? "" : ",");
    buf_json(b, key);
    buf_char(b, ':');
    buf_json(b, value ? value : "");
}

struct listing {
    struct discover *d;
    struct buf *b;
};

static bool target(void *ctx, const struct container *c)
{
    struct discover *d = ((struct listing *)ctx)->d;
    struct buf *b = ((struct listing *)ctx)->b;
    static const char *const kinds[] = {
        [CGROUP_NONE] = "group", [CGROUP_CONTAINER] = "container", [CGROUP_POD] = "pod", [CGROUP_UNIT] = "unit"};
    struct verdict v;
    if (c->state == CONTAINER_ENDED || inventory_decide(&d->inventory, c, &v))
        return true;
    const u64 *at = map_get(&d->notified_by_cgroup, c->cgroup);
    const struct notified *t = at && *at ? &d->notified.v[*at - 1] : NULL;
    buf_str(b, b->len > 1 ? ",\n{" : "\n{");
    member(b, "kind", kinds[c->is.kind]);
    member(b, "path", c->path);
    if (c->is.kind == CGROUP_CONTAINER) {
        member(b, "id", c->is.id);
        member(b, "runtime", container_runtime_name(c->is.runtime));
    }
    if (c->is.pod[0])
        member(b, "pod_uid", c->is.pod);
    member(b, "reason", v.reason);
    bool asked =
        t && t->own ? XP_WANT_EVENTS(t->want) != 0 : v.identity && !v.identity->unwanted && !v.identity->pending;
    buf_printf(b, ",\"profiled\":%s,\"cgroup\":%llu,\"labels\":{", asked ? "true" : "false",
               (unsigned long long)c->cgroup);
    for (size_t i = 0; v.identity && i < v.identity->labels.n; i++)
        member(b, v.identity->labels.v[i].name, v.identity->labels.v[i].value);
    buf_str(b, "}}");
    verdict_free(&v);
    return !b->failed;
}

static void write_targets(struct discover *d, struct buf *b)
{
    buf_char(b, '[');
    struct listing l = {d, b};
    containers_all(d->containers, target, &l);
    buf_str(b, "\n]\n");
}

static void take_stats(struct discover *d, struct discover_stats *s)
{
    *s = (struct discover_stats){
        .pods = d->inventory.pods.n,
        .namespaces = d->inventory.namespaces.all.n,
        .namespaces_refused = d->inventory.namespaces.refused,
        .verdicts = d->verdicts,
        .warnings = d->warnings,
        .mailbox_full = __atomic_load_n(&d->mailbox_full, __ATOMIC_RELAXED),
        .wants_refused = d->wants_refused,
        .by_runtime = d->config.source == DISCOVER_BY_CRI,
    };
    for (size_t i = 0; i < d->inventory.pods.n; i++)
        s->wanted += d->inventory.pods.v[i].wants.profiled;
    containers_stats(d->containers, &s->containers);
    s->synced = d->kube ? d->synced : !s->by_runtime || (s->containers.last_ok_ns && !s->containers.why[0]);
    snprintf(s->runtime, sizeof(s->runtime), "%s", s->containers.runtime);
    snprintf(s->runtime_why, sizeof(s->runtime_why), "%s", s->containers.why);
    if (d->kube)
        kube_stats(d->kube, &s->kube);
}

void query_answer(struct discover *d, struct query *a)
{
    if (a->kind == QUERY_TARGETS)
        write_targets(d, &a->text);
    else
        take_stats(d, &a->stats);
    queue_put(a->reply, a);
}

/* NULL when nobody answers in time. */
static struct query *ask(struct discover *d, enum query_kind kind, unsigned timeout_ms)
{
    struct query *a = calloc(1, sizeof(*a));
    struct message *m = calloc(1, sizeof(*m));
    if (!a || !m || queue_new(&a->reply, 1)) {
        free(a);
        free(m);
        return NULL;
    }
    a->kind = kind;
    a->holders = 2;
    *m = (struct message){.kind = MESSAGE_QUERY, .ask = a};
    if (queue_put(d->mailbox, m)) {
        message_free(m); /* its hold on the question goes with it */
        timeout_ms = 0;
    }
    if (queue_get(a->reply, (int)timeout_ms))
        return a;
    query_drop(a);
    return NULL;
}

int discover_targets(struct discover *d, struct buf *json, unsigned timeout_ms)
{
    struct query *a = ask(d, QUERY_TARGETS, timeout_ms);
    if (!a)
        return -ETIMEDOUT;
    buf_add(json, a->text.data, a->text.len);
    query_drop(a);
    return 0;
}

int discover_stats(struct discover *d, struct discover_stats *out, unsigned timeout_ms)
{
    struct query *a = ask(d, QUERY_STATS, timeout_ms);
    if (!a)
        return -ETIMEDOUT;
    *out = a->stats;
    query_drop(a);
    return 0;
}
