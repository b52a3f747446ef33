/* Declarations shared by the files of the discovery thread. */
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "base/queue.h"
#include "discover/discover.h"
#include "discover/inventory.h"
#include <pthread.h>

/* A question to the thread. Two hold it: who asks and who answers; the last one frees it. */
enum query_kind { QUERY_TARGETS, QUERY_STATS };
struct query {
    enum query_kind kind;
    struct queue *reply; /* gets the ask itself, once it is answered */
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
    MESSAGE_NAMESPACES,    /* all namespaces were */
    MESSAGE_NO_NAMESPACES, /* they cannot be had */
    MESSAGE_RULES,         /* look at next_rules */
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
/* What pods and namespaces have to say becomes messages. */
struct kube_handlers mailbox_handlers(struct discover *d);
void mailbox_no_namespaces(struct discover *d);

struct notified {         /* what kernel side and publisher know of a cgroup */
    u64 cgroup, identity; /* hash of the identity; 0: none */
    u64 of;               /* a group that a container made below its own: the container's cgroup; else 0 */
    u32 want;
    bool own;    /* it has that want */
    bool named;  /* the publisher knows all that can be known of it */
    bool nobody; /* neither container nor service: the host's */
    bool fence;  /* pods are below: nothing there is wanted until its pod says so */
    bool gone;   /* what is left to be told is that it is gone */
    bool unsaid; /* something found no room, and is told again */
    bool used;
};
struct stranger { /* a cgroup of samples that nobody told the publisher of */
    u64 cgroup;
    u32 tgid;
};

struct discover {
    struct discover_config config;
    struct discover_rules rules;
    struct discover_rules *next_rules; /* owned; not taken over yet (atomic) */
    struct queue *mailbox;             /* struct message * */
    struct containers *containers;
    struct kube *kube;
    struct inventory inventory;
    VEC(struct notified) notified;
    struct map notified_by_cgroup;     /* -> row + 1 */
    size_t notified_unused, followers; /* rows of `told` that are `of` another */
    bool unsaid;                       /* there are such rows */
    u64 next_say_ns, next_sweep_ns;
    u64 warnings, mailbox_full, wants_refused;
    bool synced, namespaces;
    u64 started_ns;
    volatile bool stop;
    pthread_t threads[4];
    size_t nthreads;
};

/* ---- pods.c ---- */

/* Everybody's share changed, perhaps: the highest rate that somebody wants is the kernel side's. */
void pods_adjust_rate(struct discover *d);
/* Says what is wrong with a pod's annotations: in the log, and as an event. */
void pods_warn_of(struct discover *d, const struct inventory_pod *p);
void pods_put(struct discover *d, struct kube_pod *pod); /* takes it */
void pods_put_sandbox(struct discover *d, const struct container *c);
void pods_remove(struct discover *d, const char *uid);
/* A namespace has changed what its pods want. */
void pods_decide_again(struct discover *d);
void pods_give_up_namespaces(struct discover *d);
void pods_take_namespaces(struct discover *d);
void pods_look_for_namespaces(struct discover *d);

/* ---- notify.c ---- */

/* What was told of a cgroup; NULL when nothing was (without `make`), or without memory. */
struct notified *notify_row(struct discover *d, u64 cgroup, bool make);
/* The verdict on `c`, told of a cgroup: its own, or one below it, which has no want of its own. */
void notify_verdict(struct discover *d, const struct container *c, struct notified *t);
/* The same of its own cgroup, and of those that follow it. */
void notify_of(struct discover *d, const struct container *c);
/* Of a cgroup that is the host's: not in the registry. */
void notify_host(struct discover *d, struct notified *t);
void notify_pod(struct discover *d, const char *runtime_uid);
void notify_all(struct discover *d);
/* The kubelet's own groups stand between the host's want and the pods: a new pod must not inherit it. */
void notify_fence(struct discover *d, struct notified *t);
/* The cgroup is gone: its want is taken back, its name kept for samples on their way. */
void notify_gone(struct discover *d, u64 cgroup);
/* What is due: telling again what found no room, once a second; and, once a minute, forgetting groups that are not in
 * the registry and whose end nobody reported. */
void notify_due(struct discover *d, u64 now);
