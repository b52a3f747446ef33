#include "discover/discover_internal.h"
#include "base/stop.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "container/cgroup_name.h"
#include <errno.h>
#include <string.h>

#define MAILBOX_MESSAGES 16384
#define SHORTEST_MS      20   /* between two ticks of the registry */
#define IDLE_MS          1000 /* the longest: messages wake it */
#define BURST            1024 /* messages between two looks at everything else */

/* ---- The registry's news ----------------------------------------------------------------------------------------- */

static void on_changed(void *ctx, const struct container *c)
{
    struct discover *d = ctx;
    if (d->config.source == DISCOVER_BY_CRI && c->sandbox && c->state == CONTAINER_KNOWN)
        pods_put_sandbox(d, c);
    notify_of(d, c);
}

struct sandbox_search {
    const struct container *gone;
    bool found;
};

static bool is_other_sandbox(void *ctx, const struct container *c)
{
    struct sandbox_search *s = ctx;
    s->found |= c != s->gone && c->sandbox && !strcmp(c->is.pod, s->gone->is.pod);
    return !s->found;
}

/* A pod whose sandbox died has got another one under the same uid. */
static void remove_sandbox(struct discover *d, const struct container *c)
{
    struct sandbox_search s = {.gone = c};
    containers_all(d->containers, is_other_sandbox, &s);
    if (!s.found && inventory_remove_pod(&d->inventory, c->is.pod))
        d->unsettled = true;
}

static void on_gone(void *ctx, const struct container *c)
{
    struct discover *d = ctx;
    if (d->config.source == DISCOVER_BY_CRI && c->sandbox)
        remove_sandbox(d, c);
    notify_gone(d, c->cgroup);
}

/* A cgroup that has no row in the registry follows the container around it; without one it is the host's. */
static void follow(struct discover *d, u64 cgroup, const struct container *c, bool nobody)
{
    if ((c && c->cgroup == cgroup) || (!c && !nobody))
        return;
    struct notified *t = notify_row(d, cgroup, true);
    if (!t)
        return;
    d->followers += c && !t->of;
    t->of = c ? c->cgroup : 0;
    if (c)
        notify_verdict(d, c, t);
    else
        notify_host(d, t);
}

static bool fence(void *ctx, u64 cgroup, const char *path, u32 pid)
{
    struct discover *d = ctx;
    struct notified *t = cgroup_is_pods(path) ? notify_row(d, cgroup, true) : NULL;
    if (t && !t->fence)
        notify_fence(d, t);
    return true;
}

static void take_cgroup(struct discover *d, const struct xp_cgroup_event *e)
{
    if (e->made) {
        if (d->config.source != DISCOVER_NO_KUBE)
            fence(d, e->id, e->path, 0);
        containers_cgroup_made(d->containers, e->hierarchy, e->id, e->path, now_ns());
        follow(d, e->id, containers_find(d->containers, e->id), false);
        return;
    }
    containers_cgroup_removed(d->containers, e->hierarchy, e->id, now_ns());
    const struct notified *t = notify_row(d, e->id, false);
    if (t && (t->of || t->nobody || t->fence))
        notify_gone(d, e->id); /* else the registry says so, when nobody will ask for its name any more */
}

static bool is_in(const struct hierarchy *h, u32 tgid, u64 cgroup)
{
    char path[4096];
    u64 id;
    return !hierarchy_path_of(h, tgid, path, sizeof(path)) && !hierarchy_id_of(h, tgid, path, &id) && id == cgroup;
}

/* A group of the host that is gone already will not be said to go: it is forgotten at once. (If only that process is
 * gone, the next samples ask again.) */
static void take_stranger(struct discover *d, const struct stranger *s)
{
    const struct hierarchy *h = d->config.hierarchy;
    follow(d, s->cgroup, containers_learn(d->containers, s->cgroup, s->tgid, now_ns()), true);
    const struct notified *t = notify_row(d, s->cgroup, false);
    if (t && t->nobody && !t->own && s->cgroup != INVENTORY_ROOT && h->whole && !is_in(h, s->tgid, s->cgroup))
        notify_gone(d, s->cgroup);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static void take_rules(struct discover *d)
{
    if (!__atomic_load_n(&d->next_rules, __ATOMIC_RELAXED))
        return;
    AUTO_FREE struct discover_rules *next = __atomic_exchange_n(&d->next_rules, NULL, __ATOMIC_ACQ_REL);
    struct discover_rules old = d->rules;
    d->rules = *next;
    pods_choose_keys(d);
    inventory_decide_pods(&d->inventory);
    for (size_t i = 0; i < d->inventory.pods.n; i++)
        if (d->inventory.pods.v[i].wants.nwarnings)
            pods_warn_of(d, &d->inventory.pods.v[i]);
    publisher_set_rules(d->config.publisher, d->rules.processes, d->rules.nprocesses);
    d->judge_all = true;
    pods_settle(d);
    if (old.release)
        old.release(old.owner);
}

static void handle(struct discover *d, struct message *m)
{
    switch (m->kind) {
    case MESSAGE_CGROUP:
        take_cgroup(d, m->data);
        break;
    case MESSAGE_STRANGER:
        take_stranger(d, m->data);
        break;
    case MESSAGE_POD:
        pods_put(d, TAKE_PTR(m->pod));
        break;
    case MESSAGE_POD_GONE:
        pods_remove(d, m->data);
        break;
    case MESSAGE_NAMESPACE:
        pods_put_namespace(d, TAKE_PTR(m->ns));
        break;
    case MESSAGE_NAMESPACE_GONE:
        pods_remove_namespace(d, m->data);
        break;
    case MESSAGE_SYNCED:
        d->synced = true;
        break;
    case MESSAGE_NAMESPACES:
        pods_take_namespaces(d);
        break;
    case MESSAGE_NO_NAMESPACES:
        pods_give_up_namespaces(d);
        break;
    case MESSAGE_RULES:
    case MESSAGE_SHARE:
        break; /* they are looked at after each message */
    case MESSAGE_QUERY:
        pods_settle(d);
        query_answer(d, m->ask);
        break;
    }
}

static int idle_ms(const struct discover *d)
{
    u64 now = now_ns(), due = containers_due(d->containers);
    u64 ms = due > now ? (due - now) / 1000000 : 0;
    return ms < SHORTEST_MS ? SHORTEST_MS : ms > IDLE_MS ? IDLE_MS : (int)ms;
}

static void *discover_thread(void *arg)
{
    struct discover *d = arg;
    pthread_setname_np(pthread_self(), "discover");
    if (d->config.source != DISCOVER_NO_KUBE)
        hierarchy_scan(d->config.hierarchy, fence, d);
    d->started_ns = now_ns();
    publisher_set_rules(d->config.publisher, d->rules.processes, d->rules.nprocesses);
    follow(d, INVENTORY_ROOT, NULL, true);
    while (!stop_requested(&d->stop)) {
        struct message *m = queue_get(d->mailbox, idle_ms(d));
        for (int i = 0; m && i < BURST; i++) {
            handle(d, m);
            message_free(m);
            take_rules(d);
            m = i + 1 < BURST ? queue_get(d->mailbox, 0) : NULL;
        }
        containers_tick(d->containers, now_ns());
        if (d->kube)
            pods_look_for_namespaces(d);
        pods_settle(d);
        notify_due(d, now_ns());
    }
    return NULL;
}

static void *pods_thread(void *arg)
{
    struct discover *d = arg;
    pthread_setname_np(pthread_self(), "pods");
    kube_run(d->kube, &d->stop);
    return NULL;
}

static void *namespaces_thread(void *arg)
{
    struct discover *d = arg;
    pthread_setname_np(pthread_self(), "namespaces");
    kube_run_namespaces(d->kube, &d->stop);
    mailbox_no_namespaces(d); /* the kubelet has none; else this is the end */
    return NULL;
}

static void *events_thread(void *arg)
{
    struct discover *d = arg;
    pthread_setname_np(pthread_self(), "events");
    kube_run_events(d->kube, &d->stop);
    return NULL;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static int build(struct discover *d)
{
    struct containers_handlers containers = {.ctx = d, .changed = on_changed, .gone = on_gone};
    struct kube_handlers kube = mailbox_handlers(d);
    d->config.containers.stop = &d->stop;
    int rc = queue_new(&d->mailbox, MAILBOX_MESSAGES);
    if (!rc)
        rc = containers_new(&d->containers, &d->config.containers, &containers);
    if (!rc && d->config.source == DISCOVER_BY_KUBE)
        rc = kube_new(&d->kube, &d->config.kube, &kube);
    if (!rc)
        pods_choose_keys(d);
    return rc;
}

int discover_new(struct discover **out, const struct discover_config *config, const struct discover_rules *rules,
                 char *why, size_t len)
{
    struct discover *d = calloc(1, sizeof(*d));
    if (!d) {
        if (rules->release)
            rules->release(rules->owner);
        return -ENOMEM;
    }
    d->config = *config;
    d->rules = *rules;
    d->share = d->next_share = 100;
    d->hz = rules->rate;
    d->inventory =
        (struct inventory){.rules = &d->rules, .source = config->source, .parts = &d->parts, .hz = rules->rate};
    int rc = build(d);
    if (rc) {
        snprintf(why, len, rc == -EINVAL ? "Kubernetes: the node name or the API server is not known" : "%s",
                 strerror(-rc));
        discover_free(&d);
        return rc;
    }
    *out = d;
    return 0;
}

int discover_start(struct discover *d, char *why, size_t len)
{
    void *(*const runs[])(void *) = {discover_thread, pods_thread, namespaces_thread, events_thread};
    size_t n = d->kube ? 4 : 1;
    for (size_t i = 0; i < n; i++) {
        int rc = pthread_create(&d->threads[i], NULL, runs[i], d);
        if (rc) {
            snprintf(why, len, "cannot start a thread: %s", strerror(rc));
            return -rc;
        }
        d->nthreads = i + 1;
    }
    return 0;
}

void discover_free(struct discover **dd)
{
    struct discover *d = *dd;
    if (!d)
        return;
    stop_request(&d->stop);
    if (d->mailbox)
        queue_close(d->mailbox); /* wakes it */
    for (size_t i = 0; i < d->nthreads; i++)
        pthread_join(d->threads[i], NULL);
    for (struct message *m; d->mailbox && (m = queue_get(d->mailbox, 0));)
        message_free(m);
    queue_free(&d->mailbox);
    discover_rules_free(&d->next_rules);
    kube_free(&d->kube);
    kube_keys_free(&d->keys);
    containers_free(&d->containers);
    inventory_free(&d->inventory);
    parts_free(&d->parts);
    vec_free(&d->notified);
    map_free(&d->notified_by_cgroup);
    if (d->rules.release)
        d->rules.release(d->rules.owner);
    free(d);
    *dd = NULL;
}
