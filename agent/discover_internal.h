/* What the files of the discovery thread share. */
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "base/queue.h"
#include "world.h"
#include <pthread.h>

/* A question to the thread. Two hold it: who asks and who answers; the last one frees it. */
enum ask_kind { ASK_TARGETS, ASK_STATS };
struct ask {
    enum ask_kind kind;
    struct queue *reply; /* gets the ask itself, once it is answered */
    int holders;
    struct buf text;
    struct discover_stats stats;
};
void ask_drop(struct ask *a);
void ask_answer(struct discover *d, struct ask *a);

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
    MESSAGE_ASK,
};
struct message {
    enum message_kind kind;
    union { /* owned */
        struct kube_pod *pod;
        struct kube_namespace *ns;
        struct ask *ask;
        void *data; /* xp_cgroup_event, stranger, or text */
    };
};
void message_free(struct message *m);
/* What pods and namespaces have to say becomes messages. */
struct kube_handlers inbox_handlers(struct discover *d);
void inbox_no_namespaces(struct discover *d);

struct told {             /* what kernel side and publisher know of a cgroup */
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
    struct queue *inbox;               /* struct message * */
    struct containers *containers;
    struct kube *kube;
    struct world world;
    VEC(struct told) told;
    struct map told_by_cgroup;     /* -> row + 1 */
    size_t told_unused, followers; /* rows of `told` that are `of` another */
    bool unsaid;                   /* there are such rows */
    u64 next_say_ns, next_sweep_ns;
    u64 warnings, inbox_full, wants_refused;
    bool synced, namespaces;
    u64 started_ns;
    volatile bool stop;
    pthread_t threads[4];
    size_t nthreads;
};

/* ---- discover_tell.c ---- */

/* What was told of a cgroup; NULL when nothing was (without `make`), or without memory. */
struct told *tell_row(struct discover *d, u64 cgroup, bool make);
/* The verdict on `c`, told of a cgroup: its own, or one below it, which has no want of its own. */
void tell_verdict(struct discover *d, const struct container *c, struct told *t);
/* The same of its own cgroup, and of those that follow it. */
void tell_of(struct discover *d, const struct container *c);
/* Of a cgroup that is the host's: not in the registry. */
void tell_host(struct discover *d, struct told *t);
void tell_pod(struct discover *d, const char *runtime_uid);
void tell_all(struct discover *d);
/* The kubelet's own groups stand between the host's want and the pods: a new pod must not inherit it. */
void tell_fence(struct discover *d, struct told *t);
/* The cgroup is gone: its want is taken back, its name kept for samples on their way. */
void tell_gone(struct discover *d, u64 cgroup);
/* What is due: telling again what found no room, once a second; and, once a minute, forgetting groups that are not in
 * the registry and whose end nobody reported. */
void tell_due(struct discover *d, u64 now);
