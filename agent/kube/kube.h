/* Keeps track of the pods of this node, from an API server or the kubelet.
 *
 * An API server is read by list and watch: one list (in pages, filtered by spec.nodeName), then a watch for the changes
 * since its resourceVersion, so that a new annotation is known a few milliseconds after it was written. When a watch
 * ends, the next one continues at the same resourceVersion; when the server no longer has that version (410),
 * everything is listed again. The namespaces of the cluster, whose annotations are defaults, are read in the same way
 * over a second connection; of the thousands that there may be, only the annotations and labels that matter are kept.
 * Without permission to read them, one warning is logged and only the annotations of pods count. The kubelet has no
 * watch, so its /pods is read every few seconds.
 *
 * Known pods are kept while the server is unreachable: only a complete list can show that a pod no longer exists. A
 * restarted kubelet responds before it knows its pods, so a pod is removed only after the kubelet's lists lacked it for
 * half a minute. Failed calls are repeated after 0.2 s, doubling up to 30 s, with jitter. The bearer token is read
 * again when its file changes.
 *
 * The server is not trusted: the size and depth of objects are limited; objects beyond the limits are skipped and
 * counted.
 */
#pragma once
#include "bpf/types.h"
#include "kube/pod.h"
#include <stdbool.h>

#define KUBE_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

enum kube_source { KUBE_API, KUBE_KUBELET };

struct kube_config { /* strings are copied; the comments give the meaning of NULL and 0 */
    enum kube_source source;
    const char *url;             /* NULL: API server of the cluster this process runs in, from the environment */
    const char *node;            /* name of this node: required for KUBE_API */
    const char *service_account; /* directory with token and ca.crt, unless set below; NULL: the default one */
    const char *ca_file, *token_file;
    const char *token;                /* the token itself, without token_file */
    const char *cert_file, *key_file; /* a client certificate */
    bool insecure_skip_verify;
    unsigned poll_ms;       /* time between two requests to the kubelet; 0: 10 s */
    unsigned forget_ms;     /* time after which a pod missing in the kubelet's lists is removed; 0: 30 s */
    unsigned page;          /* objects of one page of a list; 0: 100 */
    unsigned watch_seconds; /* time after which the server ends a watch; 0: 240 */
    unsigned retry_ms;      /* first delay after a failure; 0: 200 */
    unsigned retry_max_ms;  /* longest delay; 0: 30 s */
    unsigned forbidden_ms;  /* longest delay while reading namespaces is forbidden; 0: 5 min */
    size_t max_object;      /* maximum size of one object, in bytes; 0: 4 MiB */
};

/* Called by the thread that runs kube_run (pods) or kube_run_namespaces (namespaces); `warn` by both. */
struct kube_handlers {
    void *ctx;
    void (*pod)(void *ctx, struct kube_pod *pod);     /* new or changed, complete; the callee owns it */
    void (*pod_gone)(void *ctx, const char *uid);     /* its uid, not its runtime_uid */
    void (*ns)(void *ctx, struct kube_namespace *ns); /* the callee owns it; may be NULL */
    void (*ns_gone)(void *ctx, const char *name);     /* may be NULL */
    void (*synced)(void *ctx, bool namespaces);       /* after every complete list; may be NULL */
    void (*warn)(void *ctx, const char *text);        /* one line of text, once per problem; may be NULL */
};

/* Reasons why a call failed. The names are used in metrics. */
#define KUBE_ERRORS(X)                                                 \
    X(CONNECT, "connect") /* refused, no route, no such host */        \
    X(TLS, "protocol")    /* TLS, HTTP */                              \
    X(TIMEOUT, "timeout")                                              \
    X(RESET, "reset")               /* cut off halfway */              \
    X(UNAUTHORIZED, "unauthorized") /* 401 */                          \
    X(FORBIDDEN, "forbidden")       /* 403 */                          \
    X(EXPIRED, "expired")           /* 410: resourceVersion too old */ \
    X(THROTTLED, "throttled")       /* 429 */                          \
    X(SERVER, "server")             /* 5xx, or an ERROR event */       \
    X(STATUS, "status")             /* any other status */             \
    X(MALFORMED, "malformed")       /* response is not a list */       \
    X(LOCAL, "local")               /* token or CA file, or out of memory */
enum kube_error {
#define X(name, text) KUBE_ERROR_##name,
    KUBE_ERRORS(X)
#undef X
        KUBE_ERROR_MAX
};
const char *kube_error_name(enum kube_error e);

struct kube_stats {
    u64 added, modified, deleted, bookmarks; /* events of watches */
    u64 listed;                              /* objects in lists (also of the kubelet) */
    u64 lists, watches;                      /* complete lists, started watches */
    u64 oversize, malformed;                 /* skipped objects */
    u64 left_out;                            /* labels, annotations, containers and texts beyond a limit */
    u64 refused;                             /* objects beyond the maximum number, or of another node */
    u64 errors[KUBE_ERROR_MAX];
    u64 events_posted, events_failed, events_dropped; /* kube_queue_event */
    u64 success_ns;                                   /* CLOCK_MONOTONIC of the last response; 0: none yet */
};

struct kube;

/* Returns 0; -EINVAL: there is no node name, or neither a URL nor the environment of a cluster; -ENOMEM. No file is
 * read yet. */
int kube_new(struct kube **out, const struct kube_config *config, const struct kube_handlers *handlers);
void kube_free(struct kube **k); /* call it after both runs have returned */

/* Replaces the keys of which namespaces keep the values; those of the default prefix before the first call. Takes
 * ownership. All namespaces are read again. Any thread may call it. */
void kube_set_keys(struct kube *k, struct kube_keys **keys);

/* Keep the pods (or the namespaces) up to date until *stop. Each call blocks its thread and notices *stop within 0.5 s.
 * Only API servers have namespaces: with KUBE_KUBELET, kube_run_namespaces returns at once. */
void kube_run(struct kube *k, const volatile bool *stop);
void kube_run_namespaces(struct kube *k, const volatile bool *stop);

/* Copies the counters. Any thread may call it. */
void kube_stats(const struct kube *k, struct kube_stats *out);

/* Posts a Warning event on the pod, as shown by `kubectl describe pod` (needs permission to create events). Waits for
 * the response. Not to be called while kube_run_events runs. Returns 0 or -errno; -EPERM: the server refused. */
int kube_post_event(struct kube *k, const struct kube_pod *pod, const char *reason, const char *message);
/* Leaves the event to the thread that runs kube_run_events, which posts bursts of ten and then one every two seconds.
 * Does not wait. Returns 0; -ENOSPC: 64 events are queued already, so this one is dropped and counted; -ENOTSUP (with
 * the kubelet); -ENOMEM. */
int kube_queue_event(struct kube *k, const struct kube_pod *pod, const char *reason, const char *message);
void kube_run_events(struct kube *k, const volatile bool *stop);
