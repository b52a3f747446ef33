/* Declarations shared by the files of the discovery thread. */
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "base/queue.h"
#include "discover/discover.h"
#include "discover/inventory.h"
#include <pthread.h>

/* A query to the thread. Both the sender and the thread hold it; the last one to drop it frees it. */
enum query_kind { QUERY_TARGETS, QUERY_STATS };
struct query {
    enum query_kind kind;
    struct queue *reply; /* receives the query itself once it is answered */
    int holders;
    struct buf text;
    struct discover_stats stats;
};
void query_drop(struct query *a);
void query_answer(struct discover *d, struct query *a);

enum message_kind {
    MESSAGE_CGROUP,
    MESSAGE_STRANGER,
    MESSAGE_POD,
    MESSAGE_POD_GONE,
    MESSAGE_NAMESPACE,
    MESSAGE_NAMESPACE_GONE,
    MESSAGE_SYNCED,        /* all pods were listed */
    MESSAGE_NAMESPACES,    /* all namespaces were listed */
    MESSAGE_NO_NAMESPACES, /* namespaces cannot be read */
    MESSAGE_RULES,         /* next_rules was set */
    MESSAGE_SHARE,         /* next_share was set */
    MESSAGE_QUERY,
};
struct message {
    enum message_kind kind;
    union { /* owned */
        struct kube_pod *pod;
        struct kube_namespace *ns;
        struct query *ask;
        void *data; /* xp_cgroup_event, stranger, or text */
    };
};
void message_free(struct message *m);
/* Handlers that turn changes of pods and namespaces into messages. */
struct kube_handlers mailbox_handlers(struct discover *d);
void mailbox_no_namespaces(struct discover *d);

struct notified {         /* what the kernel side and the publisher know about a cgroup */
    u64 cgroup, identity; /* hash of the identity; 0: none */
    u64 of;               /* for a cgroup that a container created below its own: the container's cgroup; else 0 */
    u64 want;
    bool own;    /* it has a want of its own */
    bool named;  /* the publisher knows all that is known about it */
    bool nobody; /* neither container nor service: belongs to the host */
    bool fence;  /* it contains pods: nothing below it is wanted until the pod is known */
    bool gone;   /* it was removed; only that is still to be notified */
    bool unsaid; /* a notification found no room and is repeated */
    bool used;
};
struct stranger { /* a sampled cgroup that the publisher does not know */
    u64 cgroup;
    u32 tgid;
};

struct discover {
    struct discover_config config;
    struct discover_rules rules;
    struct discover_rules *next_rules; /* owned; not in effect yet (atomic) */
    unsigned next_share;               /* as set by discover_set_share; not in effect yet (atomic) */
    unsigned share, hz;                /* in effect; the rate that follows */
    struct queue *mailbox;             /* struct message * */
    struct containers *containers;
    struct kube *kube;
    struct inventory inventory;
    struct parts parts; /* of the inventory */
    VEC(struct notified) notified;
    struct map notified_by_cgroup;     /* -> row + 1 */
    size_t notified_unused, followers; /* rows of `told` that are `of` another */
    bool unsaid;                       /* some rows have `unsaid` */
    u64 next_say_ns, next_sweep_ns;
    u64 warnings, mailbox_full, wants_refused, verdicts;
    bool synced, namespaces;
    bool unsettled, judge_all; /* a pod went, or the rules changed, since the last pods_settle */
    struct kube_keys *keys;    /* of namespaces; owned */
    unsigned keys_number;      /* what was read with others is out of date */
    u64 started_ns;
    volatile bool stop;
    pthread_t threads[4];
    size_t nthreads;
};

/* ---- pods.c ---- */

/* Judges the cgroups of all pods that changed since the last call, once however often they did, and sets the rate of
 * the kernel side: the highest that any pod requests, or as much of it as discover_set_share allows. */
void pods_settle(struct discover *d);
/* Tells the API server's client which annotations and labels of namespaces the rules look at. If these are others than
 * before, no namespace is known until it was read again. */
void pods_choose_keys(struct discover *d);
/* Reports invalid annotations of a pod, in the log and as an event. */
void pods_warn_of(struct discover *d, const struct inventory_pod *p);
void pods_put(struct discover *d, struct kube_pod *pod); /* takes ownership */
void pods_put_sandbox(struct discover *d, const struct container *c);
void pods_remove(struct discover *d, const char *uid);
void pods_put_namespace(struct discover *d, struct kube_namespace *ns); /* takes ownership */
void pods_remove_namespace(struct discover *d, const char *name);
void pods_give_up_namespaces(struct discover *d);
void pods_take_namespaces(struct discover *d);
void pods_look_for_namespaces(struct discover *d);

/* ---- notify.c ---- */

/* Returns the row of a cgroup. NULL: there is none (without `make`), or out of memory. */
struct notified *notify_row(struct discover *d, u64 cgroup, bool make);
/* Notifies the verdict on `c` for a cgroup: the container's own, or one below it, which has no want of its own. */
void notify_verdict(struct discover *d, const struct container *c, struct notified *t);
/* Notifies the verdict on `c` for its own cgroup and for those below it. */
void notify_of(struct discover *d, const struct container *c);
/* Notifies the verdict for a cgroup of the host, which is not in the registry. */
void notify_host(struct discover *d, struct notified *t);
void notify_pod(struct discover *d, const char *runtime_uid);
void notify_all(struct discover *d);
/* Fences the kubelet's own cgroups, so that new pods do not inherit the want of the host. */
void notify_fence(struct discover *d, struct notified *t);
/* Withdraws the want of a removed cgroup. Its name is kept for samples still in flight. */
void notify_gone(struct discover *d, u64 cgroup);
/* Does the work that is due: once per second, repeat notifications that found no room; once per minute, remove cgroups
 * that are not in the registry and whose removal was not reported. */
void notify_due(struct discover *d, u64 now);
