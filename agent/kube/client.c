#include "kube/kube.h"
#include "base/stop.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/queue.h"
#include "kube/event.h"
#include "kube/reflect.h"
#include <errno.h>
#include <string.h>

enum {
    POLL_MS = 10 * 1000,
    FORGET_MS = 30 * 1000,
    PAGE = 100,
    WATCH_SECONDS = 240,
    RETRY_MS = 200,
    RETRY_MAX_MS = 30 * 1000,
    FORBIDDEN_MS = 5 * 60 * 1000,
    MAX_OBJECT = 4 << 20,
    EVENTS_WAITING = 64,
    EVENT_STOP_MS = 500,
    EVENT_BURST = 10
};
#define EVENT_EVERY_NS (2 * NS_PER_SEC)

struct kube {
    struct access_config access;
    struct kube_handlers handlers;
    enum kube_source source;
    char *node; /* owned; NULL: any */
    struct kube_stats stats;
    struct reflect pods, namespaces;
    struct kube_keys *keys, *next_keys; /* owned; the next ones are not in effect yet (atomic) */
    struct access events;
    struct queue *waiting; /* struct event * */
};

const char *kube_error_name(enum kube_error e)
{
    static const char *const names[] = {
#define X(name, text) text,
        KUBE_ERRORS(X)
#undef X
    };
    return names[e];
}

static void warn(void *ctx, const char *text)
{
    struct kube *k = ctx;
    if (k->handlers.warn)
        k->handlers.warn(k->handlers.ctx, text);
}

/* ---- Pods -------------------------------------------------------------------------------------------------------- */

static const char *pod_key(const struct json *object)
{
    const char *uid = json_text(json_at_path(object, "metadata.uid"));
    return uid && *uid ? uid : NULL;
}

static int pod_apply(void *ctx, const struct json *object)
{
    struct kube *k = ctx;
    CLEANUP(kube_pod_free) struct kube_pod *pod = NULL;
    int rc = kube_pod_from_json(&pod, object);
    if (rc)
        return rc;
    if (k->node && *pod->node && strcmp(pod->node, k->node) != 0)
        return -EXDEV;
    KUBE_COUNT(k->stats.left_out, pod->left_out);
    k->handlers.pod(k->handlers.ctx, TAKE_PTR(pod));
    return 0;
}

static void pod_gone(void *ctx, const char *uid)
{
    struct kube *k = ctx;
    k->handlers.pod_gone(k->handlers.ctx, uid);
}

static void pods_synced(void *ctx)
{
    struct kube *k = ctx;
    if (k->handlers.synced)
        k->handlers.synced(k->handlers.ctx, false);
}

static const struct reflect_ops pod_ops = {"/api/v1/pods", pod_key, pod_apply, pod_gone, pods_synced, warn};
static const struct reflect_ops kubelet_ops = {"/pods", pod_key, pod_apply, pod_gone, pods_synced, warn};

/* ---- Namespaces -------------------------------------------------------------------------------------------------- */

static const char *namespace_key(const struct json *object)
{
    const char *name = json_text(json_at_path(object, "metadata.name"));
    return name && *name ? name : NULL;
}

static void take_keys(struct kube *k)
{
    struct kube_keys *next = __atomic_exchange_n(&k->next_keys, NULL, __ATOMIC_ACQ_REL);
    if (!next)
        return;
    kube_keys_free(&k->keys);
    k->keys = next;
}

static int namespace_apply(void *ctx, const struct json *object)
{
    struct kube *k = ctx;
    CLEANUP(kube_namespace_free) struct kube_namespace *ns = NULL;
    take_keys(k);
    int rc = kube_namespace_from_json(&ns, object, k->keys);
    if (rc)
        return rc;
    KUBE_COUNT(k->stats.left_out, ns->left_out);
    if (k->handlers.ns)
        k->handlers.ns(k->handlers.ctx, TAKE_PTR(ns));
    return 0;
}

static void namespace_gone(void *ctx, const char *name)
{
    struct kube *k = ctx;
    if (k->handlers.ns_gone)
        k->handlers.ns_gone(k->handlers.ctx, name);
}

static void namespaces_synced(void *ctx)
{
    struct kube *k = ctx;
    if (k->handlers.synced)
        k->handlers.synced(k->handlers.ctx, true);
}

static const struct reflect_ops namespace_ops = {"/api/v1/namespaces", namespace_key,     namespace_apply,
                                                 namespace_gone,       namespaces_synced, warn};

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static unsigned or_else(unsigned given, unsigned usual)
{
    return given ? given : usual;
}

static void fill_reflect(struct kube *k, struct reflect *r, const struct reflect_ops *ops, const struct kube_config *c)
{
    r->ops = ops;
    r->ctx = k;
    r->access.config = &k->access;
    r->stats = &k->stats;
    r->page = or_else(c->page, PAGE);
    r->watch_seconds = or_else(c->watch_seconds, WATCH_SECONDS);
    r->retry_ms = or_else(c->retry_ms, RETRY_MS);
    r->retry_max_ms = or_else(c->retry_max_ms, RETRY_MAX_MS);
    r->forget_ms = or_else(c->forget_ms, FORGET_MS);
    r->max_object = c->max_object ? c->max_object : MAX_OBJECT;
}

static int make_queries(struct kube *k)
{
    AUTO_BUF struct buf b = {0};
    if (k->source == KUBE_API) {
        buf_str(&b, "fieldSelector=spec.nodeName%3D");
        url_escape(&b, k->node);
    }
    if (b.failed)
        return -ENOMEM;
    k->pods.query = strdup(b.data ? b.data : "");
    k->namespaces.query = strdup("");
    return k->pods.query && k->namespaces.query ? 0 : -ENOMEM;
}

int kube_new(struct kube **out, const struct kube_config *config, const struct kube_handlers *handlers)
{
    bool kubelet = config->source == KUBE_KUBELET;
    bool named = config->node && *config->node;
    if (kubelet ? !config->url : !named)
        return -EINVAL;
    CLEANUP(kube_free) struct kube *k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    k->handlers = *handlers;
    k->source = config->source;
    int rc = access_config_from(&k->access, config);
    if (rc)
        return rc;
    k->node = named ? strdup(config->node) : NULL;
    if (named && !k->node)
        return -ENOMEM;
    fill_reflect(k, &k->pods, kubelet ? &kubelet_ops : &pod_ops, config);
    fill_reflect(k, &k->namespaces, &namespace_ops, config);
    k->pods.what = "pods";
    k->pods.poll_ms = kubelet ? or_else(config->poll_ms, POLL_MS) : 0;
    k->namespaces.what = "namespaces";
    k->namespaces.forbidden_ms = or_else(config->forbidden_ms, FORBIDDEN_MS);
    k->events.config = &k->access;
    static const struct policy usual = {.prefix = NULL};
    rc = kube_keys_new(&k->keys, &usual);
    rc = rc ? rc : make_queries(k);
    rc = rc ? rc : queue_new(&k->waiting, EVENTS_WAITING);
    if (rc)
        return rc;
    *out = TAKE_PTR(k);
    return 0;
}

void kube_set_keys(struct kube *k, struct kube_keys **keys)
{
    struct kube_keys *old = __atomic_exchange_n(&k->next_keys, TAKE_PTR(*keys), __ATOMIC_ACQ_REL);
    kube_keys_free(&old);
    stop_request(&k->namespaces.renew);
}

void kube_free(struct kube **k)
{
    if (!*k)
        return;
    kube_keys_free(&(*k)->keys);
    kube_keys_free(&(*k)->next_keys);
    reflect_free(&(*k)->pods);
    reflect_free(&(*k)->namespaces);
    access_free(&(*k)->events);
    for (struct event *e; (*k)->waiting && (e = queue_get((*k)->waiting, 0));)
        event_free(&e);
    queue_free(&(*k)->waiting);
    access_config_free(&(*k)->access);
    free((*k)->node);
    free(*k);
    *k = NULL;
}

void kube_run(struct kube *k, const volatile bool *stop)
{
    reflect_run(&k->pods, stop);
}

void kube_run_namespaces(struct kube *k, const volatile bool *stop)
{
    if (k->source == KUBE_API)
        reflect_run(&k->namespaces, stop);
}

void kube_stats(const struct kube *k, struct kube_stats *out)
{
    _Static_assert(sizeof(struct kube_stats) % sizeof(u64) == 0, "nothing but counters");
    const u64 *from = (const u64 *)&k->stats;
    u64 *to = (u64 *)out;
    for (size_t i = 0; i < sizeof(*out) / sizeof(u64); i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

int kube_post_event(struct kube *k, const struct kube_pod *pod, const char *reason, const char *message)
{
    CLEANUP(event_free) struct event *e = NULL;
    int rc = k->source == KUBE_API ? event_new(&e, k->node, pod, reason, message) : -ENOTSUP;
    return rc ? rc : event_post(e, &k->events);
}

int kube_queue_event(struct kube *k, const struct kube_pod *pod, const char *reason, const char *message)
{
    CLEANUP(event_free) struct event *e = NULL;
    int rc = k->source == KUBE_API ? event_new(&e, k->node, pod, reason, message) : -ENOTSUP;
    rc = rc ? rc : queue_put(k->waiting, e);
    if (!rc)
        e = NULL;
    else if (rc != -ENOTSUP)
        KUBE_COUNT(k->stats.events_dropped, 1);
    return rc;
}

/* One after the other: as fast as they come for the first few, then one in so long. */
void kube_run_events(struct kube *k, const volatile bool *stop)
{
    u64 paid_ns = 0; /* until when the rate is used up */
    while (!stop_requested(stop)) {
        CLEANUP(event_free) struct event *e = queue_get(k->waiting, EVENT_STOP_MS);
        if (!e)
            continue;
        u64 now = now_ns(), burst = EVENT_BURST * EVENT_EVERY_NS;
        paid_ns = (now > burst && paid_ns < now - burst ? now - burst : paid_ns) + EVENT_EVERY_NS;
        reflect_wait(paid_ns > now ? (paid_ns - now) / 1000000 : 0, stop);
        int rc = stop_requested(stop) ? 0 : event_post(e, &k->events);
        if (!stop_requested(stop))
            KUBE_COUNT(*(rc ? &k->stats.events_failed : &k->stats.events_posted), 1);
    }
}
