/* Keeps track of the pods of this node, from an API server or the kubelet.
 *
 * From an API server they come by list and watch: one list (in pages, filtered by spec.nodeName), then the changes from
 * its resourceVersion on, so that an annotation is known here a few milliseconds after it was written. A watch that
 * ends goes on where it was; when the server no longer knows that place (410) all is listed again. The namespaces of
 * the cluster, whose annotations are defaults, come in the same way by a second connection; without the right to read
 * them that is said once, and the pods' own annotations have to do. From the kubelet, which has no watch, /pods is read
 * every few seconds.
 *
 * While the server is away what is known stays: only a complete list can say that a pod is gone (and of a kubelet,
 * which after a restart answers before it knows its pods, only its lists of half a minute). It is tried again after 0.2
 * s, doubling up to 30 s, with jitter. The bearer token is read again when its file changes.
 *
 * A server is not trusted: objects are bounded in bytes and depth, longer ones are skipped and counted.
 */
#pragma once
#include "bpf/types.h"
#include "kube/pod.h"
#include <stdbool.h>

#define KUBE_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

enum kube_source { KUBE_API, KUBE_KUBELET };

struct kube_config { /* strings are copied; NULL and 0: as the comment says */
    enum kube_source source;
    const char *url;             /* NULL: the API server of the cluster that this process runs in, by its environment */
    const char *node;            /* name of this node: required for KUBE_API */
    const char *service_account; /* folder with token and ca.crt, used without the two below; NULL: the usual one */
    const char *ca_file, *token_file;
    const char *token;                /* as it is, when there is no file */
    const char *cert_file, *key_file; /* a client certificate */
    bool insecure_skip_verify;
    unsigned poll_ms;       /* between two looks at the kubelet; 0: 10 s */
    unsigned forget_ms;     /* a pod that the kubelet's lists lack for so long is gone; 0: 30 s */
    unsigned page;          /* objects of one page of a list; 0: 100 */
    unsigned watch_seconds; /* after which the server ends a watch; 0: 240 */
    unsigned retry_ms;      /* the first pause after a failure; 0: 200 */
    unsigned retry_max_ms;  /* the longest; 0: 30 s */
    unsigned forbidden_ms;  /* the longest while namespaces are forbidden; 0: 5 min */
    size_t max_object;      /* bytes of one object; 0: 4 MiB */
};

/* Called by the thread that runs kube_run (pods) or kube_run_namespaces (namespaces); `warn` by both. */
struct kube_handlers {
    void *ctx;
    void (*pod)(void *ctx, struct kube_pod *pod);     /* new or changed, whole; the callee owns it */
    void (*pod_gone)(void *ctx, const char *uid);     /* its uid, not its runtime_uid */
    void (*ns)(void *ctx, struct kube_namespace *ns); /* the callee owns it; may be NULL */
    void (*ns_gone)(void *ctx, const char *name);     /* may be NULL */
    void (*synced)(void *ctx, bool namespaces);       /* after every complete list; may be NULL */
    void (*warn)(void *ctx, const char *text);        /* one clean line, once for a state of affairs; may be NULL */
};

/* Why a call failed; the names are for metrics. */
#define KUBE_ERRORS(X)                                                   \
    X(CONNECT, "connect") /* refused, no route, no such host */          \
    X(TLS, "protocol")    /* TLS, HTTP */                                \
    X(TIMEOUT, "timeout")                                                \
    X(RESET, "reset")               /* cut in the middle */              \
    X(UNAUTHORIZED, "unauthorized") /* 401 */                            \
    X(FORBIDDEN, "forbidden")       /* 403 */                            \
    X(EXPIRED, "expired")           /* 410: too old a resourceVersion */ \
    X(THROTTLED, "throttled")       /* 429 */                            \
    X(SERVER, "server")             /* 5xx, or an ERROR event */         \
    X(STATUS, "status")             /* any other status */               \
    X(MALFORMED, "malformed")       /* an answer that is no list */      \
    X(LOCAL, "local")               /* the token or CA file, memory */
enum kube_error {
#define X(name, text) KUBE_ERROR_##name,
    KUBE_ERRORS(X)
#undef X
        KUBE_ERROR_MAX
};
const char *kube_error_name(enum kube_error e);

struct kube_stats {
    u64 added, modified, deleted, bookmarks; /* events of watches */
    u64 listed;                              /* objects that lists (or the kubelet) held */
    u64 lists, watches;                      /* lists that were complete, watches that began */
    u64 oversize, malformed;                 /* objects that were skipped */
    u64 left_out;                            /* labels, annotations, containers, texts beyond a bound */
    u64 refused;                             /* objects beyond the number that is kept track of, of another node */
    u64 errors[KUBE_ERROR_MAX];
    u64 events_posted, events_failed, events_dropped; /* kube_queue_event */
    u64 success_ns;                                   /* CLOCK_MONOTONIC of the last answer; 0: none yet */
};

struct kube;

/* 0; -EINVAL no node, or neither a URL nor a cluster's environment; -ENOMEM. Files are not looked at yet. */
int kube_new(struct kube **out, const struct kube_config *config, const struct kube_handlers *handlers);
void kube_free(struct kube **k); /* both runs have returned */

/* Keep the pods (the namespaces) known until *stop. Each blocks its thread; a stop is seen within 0.5 s. Namespaces
 * come from API servers only: with the kubelet that run returns at once. */
void kube_run(struct kube *k, const volatile bool *stop);
void kube_run_namespaces(struct kube *k, const volatile bool *stop);

/* A copy, from any thread. */
void kube_stats(const struct kube *k, struct kube_stats *out);

/* Writes a Warning event about the pod, where `kubectl describe pod` shows it (needs the right to create events). Waits
 * for the answer; not while kube_run_events does. 0 or -errno; -EPERM the server refused. */
int kube_post_event(struct kube *k, const struct kube_pod *pod, const char *reason, const char *message);
/* The same by the thread that runs kube_run_events, ten at once and then one every two seconds: does not wait. 0;
 * -ENOSPC: 64 wait already, it is dropped and counted; -ENOTSUP (a kubelet), -ENOMEM. */
int kube_queue_event(struct kube *k, const struct kube_pod *pod, const char *reason, const char *message);
void kube_run_events(struct kube *k, const volatile bool *stop);
