#include "discover_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "container/cgroup_name.h"
#include <errno.h>
#include <string.h>

#define INBOX_MESSAGES 16384
#define SHORTEST_MS    20                /* between two ticks of the registry */
#define IDLE_MS        1000              /* the longest: messages wake it */
#define FORBIDDEN_NS   (15 * NS_PER_SEC) /* a server that has just started forbids everything for a moment */
#define BURST          1024              /* messages between two looks at everything else */

/* Everybody's share of the samples hangs on the rate at which the kernel side takes them. */
static void adjust_rate(struct discover *d)
{
    unsigned hz = world_highest_rate(&d->world);
    if (hz == d->world.hz)
        return;
    d->world.hz = hz;
    agent_set_rate(d->config.agent, hz);
    tell_all(d);
}

/* ---- Pods ---------------------------------------------------------------------------------------------------------
 */

static void warn_of(struct discover *d, const struct world_pod *p)
{
    for (size_t i = 0; i < p->wants.nwarnings; i++) {
        d->warnings++;
        log_warn("pod %s/%s: %s", p->pod->namespace, p->pod->name, p->wants.warnings[i]);
        if (d->world.rules->pod_events && d->kube)
            kube_queue_event(d->kube, p->pod, "ProfileAnnotation", p->wants.warnings[i]);
    }
}

/* The runtime's uid of a pod that is known; NULL: none, or no memory. Owned by the caller. */
static char *runtime_uid_of(const struct discover *d, const char *uid)
{
    for (size_t i = 0; i < d->world.pods.n; i++)
        if (!strcmp(d->world.pods.v[i].pod->uid, uid))
            return strdup(d->world.pods.v[i].pod->runtime_uid);
    return NULL;
}

static void put_pod(struct discover *d, struct kube_pod *pod)
{
    bool warn;
    AUTO_FREE char *uid = strdup(pod->runtime_uid), *before = runtime_uid_of(d, pod->uid);
    if (!uid || world_put_pod(&d->world, pod, &warn))
        return;
    const struct world_pod *p = world_find_pod(&d->world, uid);
    if (warn && p)
        warn_of(d, p);
    adjust_rate(d);
    tell_pod(d, uid);
    if (before && strcmp(before, uid) != 0) /* it said that it mirrors another one */
        tell_pod(d, before);
}

static void add_pairs(struct kube_pairs *to, const struct container_pairs *from)
{
    for (u32 i = 0; i < from->n; i++)
        if (strncmp(from->v[i].key, "io.kubernetes.", 14) != 0) /* the runtime's own bookkeeping */
            kube_pairs_add(to, from->v[i].key, from->v[i].value);
}

/* What a runtime tells of a sandbox is enough for a pod: its labels and the annotations that it was made with. */
static void put_sandbox(struct discover *d, const struct container *c)
{
    struct kube_pod *pod;
    if (c->starved || !c->is.pod[0] || !c->pod[0] || kube_pod_new(&pod, c->is.pod, c->namespace_, c->pod))
        return;
    add_pairs(&pod->labels, &c->pod_labels);
    add_pairs(&pod->annotations, &c->pod_annotations);
    kube_pod_guess_workload(pod);
    put_pod(d, pod);
}

/* ---- The registry's news ------------------------------------------------------------------------------------------
 */

static void on_changed(void *ctx, const struct container *c)
{
    struct discover *d = ctx;
    if (d->config.source == DISCOVER_BY_CRI && c->sandbox && c->state == CONTAINER_KNOWN)
        put_sandbox(d, c);
    tell_of(d, c);
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
    if (!s.found && world_remove_pod(&d->world, c->is.pod))
        adjust_rate(d);
}

static void on_gone(void *ctx, const struct container *c)
{
    struct discover *d = ctx;
    if (d->config.source == DISCOVER_BY_CRI && c->sandbox)
        remove_sandbox(d, c);
    tell_gone(d, c->cgroup);
}

/* A cgroup that has no row in the registry follows the container around it; without one it is the host's. */
static void follow(struct discover *d, u64 cgroup, const struct container *c, bool nobody)
{
    if ((c && c->cgroup == cgroup) || (!c && !nobody))
        return;
    struct told *t = tell_row(d, cgroup, true);
    if (!t)
        return;
    d->followers += c && !t->of;
    t->of = c ? c->cgroup : 0;
    if (c)
        tell_verdict(d, c, t);
    else
        tell_host(d, t);
}

static bool fence(void *ctx, u64 cgroup, const char *path, u32 pid)
{
    struct discover *d = ctx;
    struct told *t = cgroup_is_pods(path) ? tell_row(d, cgroup, true) : NULL;
    if (t && !t->fence)
        tell_fence(d, t);
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
    const struct told *t = tell_row(d, e->id, false);
    if (t && (t->of || t->nobody || t->fence))
        tell_gone(d, e->id); /* else the registry says so, when nobody will ask for its name any more */
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
    const struct told *t = tell_row(d, s->cgroup, false);
    if (t && t->nobody && !t->own && s->cgroup != WORLD_ROOT && h->whole && !is_in(h, s->tgid, s->cgroup))
        tell_gone(d, s->cgroup);
}

/* ---- The thread ---------------------------------------------------------------------------------------------------
 */

static void take_rules(struct discover *d)
{
    if (!__atomic_load_n(&d->next_rules, __ATOMIC_RELAXED))
        return;
    AUTO_FREE struct discover_rules *next = __atomic_exchange_n(&d->next_rules, NULL, __ATOMIC_ACQ_REL);
    struct discover_rules old = d->rules;
    d->rules = *next;
    world_decide_pods(&d->world);
    for (size_t i = 0; i < d->world.pods.n; i++)
        if (d->world.pods.v[i].wants.nwarnings)
            warn_of(d, &d->world.pods.v[i]);
    publisher_set_rules(d->config.publisher, d->rules.processes, d->rules.nprocesses);
    adjust_rate(d);
    tell_all(d);
    if (old.release)
        old.release(old.owner);
}

static void remove_pod(struct discover *d, const char *uid)
{
    AUTO_FREE char *runtime_uid = runtime_uid_of(d, uid);
    if (!world_remove_pod(&d->world, uid) || !runtime_uid)
        return;
    adjust_rate(d);
    tell_pod(d, runtime_uid);
}

static void judge_namespace(struct discover *d)
{
    adjust_rate(d);
    tell_all(d);
}

static void give_up_namespaces(struct discover *d)
{
    d->world.without_namespaces = true;
    world_decide_pods(&d->world);
    judge_namespace(d);
}

/* All were listed: from now on an unknown one is waited for, also when an earlier answer made us give up. */
static void take_namespaces(struct discover *d)
{
    d->namespaces = true;
    if (!d->world.without_namespaces)
        return;
    d->world.without_namespaces = false;
    world_decide_pods(&d->world);
    judge_namespace(d);
}

/* Pods may be read, but namespaces not: their annotations are nobody's. */
static void look_for_namespaces(struct discover *d)
{
    struct kube_stats s;
    if (d->world.without_namespaces || d->namespaces || !d->synced || now_ns() - d->started_ns < FORBIDDEN_NS)
        return;
    kube_stats(d->kube, &s);
    if (s.errors[KUBE_ERROR_FORBIDDEN])
        give_up_namespaces(d);
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
        put_pod(d, TAKE_PTR(m->pod));
        break;
    case MESSAGE_POD_GONE:
        remove_pod(d, m->data);
        break;
    case MESSAGE_NAMESPACE:
        if (!world_put_namespace(&d->world, TAKE_PTR(m->ns)))
            judge_namespace(d);
        break;
    case MESSAGE_NAMESPACE_GONE:
        world_remove_namespace(&d->world, m->data);
        world_decide_pods(&d->world);
        judge_namespace(d);
        break;
    case MESSAGE_SYNCED:
        d->synced = true;
        break;
    case MESSAGE_NAMESPACES:
        take_namespaces(d);
        break;
    case MESSAGE_NO_NAMESPACES:
        give_up_namespaces(d);
        break;
    case MESSAGE_RULES:
        break; /* it is looked at after each message */
    case MESSAGE_ASK:
        ask_answer(d, m->ask);
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
    follow(d, WORLD_ROOT, NULL, true);
    while (!d->stop) {
        struct message *m = queue_get(d->inbox, idle_ms(d));
        for (int i = 0; m && i < BURST; i++) {
            handle(d, m);
            message_free(m);
            take_rules(d);
            m = i + 1 < BURST ? queue_get(d->inbox, 0) : NULL;
        }
        containers_tick(d->containers, now_ns());
        tell_due(d, now_ns());
        if (d->kube)
            look_for_namespaces(d);
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
    inbox_no_namespaces(d); /* the kubelet has none; else this is the end */
    return NULL;
}

static void *events_thread(void *arg)
{
    struct discover *d = arg;
    pthread_setname_np(pthread_self(), "events");
    kube_run_events(d->kube, &d->stop);
    return NULL;
}

/* ---- Life ---------------------------------------------------------------------------------------------------------
 */

static int build(struct discover *d)
{
    struct containers_handlers containers = {.ctx = d, .changed = on_changed, .gone = on_gone};
    struct kube_handlers kube = inbox_handlers(d);
    d->config.containers.stop = &d->stop;
    int rc = queue_new(&d->inbox, INBOX_MESSAGES);
    if (!rc)
        rc = containers_new(&d->containers, &d->config.containers, &containers);
    if (!rc && d->config.source == DISCOVER_BY_KUBE)
        rc = kube_new(&d->kube, &d->config.kube, &kube);
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
    d->world = (struct world){.rules = &d->rules, .source = config->source, .hz = rules->rate};
    int rc = build(d);
    if (rc) {
        snprintf(why, len, rc == -EINVAL ? "Kubernetes: no node name, or no API server is known" : "%s", strerror(-rc));
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
    d->stop = true;
    if (d->inbox)
        queue_close(d->inbox); /* wakes it */
    for (size_t i = 0; i < d->nthreads; i++)
        pthread_join(d->threads[i], NULL);
    for (struct message *m; d->inbox && (m = queue_get(d->inbox, 0));)
        message_free(m);
    queue_free(&d->inbox);
    discover_rules_free(&d->next_rules);
    kube_free(&d->kube);
    containers_free(&d->containers);
    world_free(&d->world);
    vec_free(&d->told);
    map_free(&d->told_by_cgroup);
    if (d->rules.release)
        d->rules.release(d->rules.owner);
    free(d);
    *dd = NULL;
}
