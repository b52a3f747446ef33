/* Keeps the known pods and namespaces, and decides for a cgroup whether it is profiled and with which labels. Owned by
 * the discovery thread. It sends no notifications.
 */
#pragma once
#include "container/containers.h"
#include "discover/namespaces.h"
#include "discover/parts.h"
#include "discover/rules.h"
#include "kube/pod.h"

#define INVENTORY_ROOT 1 /* id of every hierarchy's root (kernfs: the first inode) */

struct inventory_pod {
    struct kube_pod *pod;
    struct wants wants;
    bool changed; /* the wants are new: its cgroups are still to be judged */
};
struct inventory {
    const struct discover_rules *rules;
    enum discover_kube source;
    VEC(struct inventory_pod) pods;
    struct namespaces namespaces;
    /* Set if namespaces cannot be read. Otherwise a pod that is profiled by default waits for its namespace, which may
     * opt out. */
    bool without_namespaces;
    bool changed;        /* some pod is marked so */
    struct parts *parts; /* borrowed; NULL: rates of single events do not count */
    unsigned hz; /* the rate of which wants are parts: that of the kernel side, but at least that of the rules */
};

struct verdict {               /* on one cgroup */
    bool own;                  /* it has a want of its own; else that of its ancestor applies */
    u64 want;                  /* XP_WANT */
    struct identity *identity; /* owned; NULL: nothing for the publisher */
    char reason[160];          /* why it is profiled or not, as one line */
};

void inventory_free(struct inventory *w);

/* Takes ownership of the pod and evaluates it. Sets *warn if its warnings are new. Returns 0 or -ENOMEM. */
int inventory_put_pod(struct inventory *w, struct kube_pod *pod, bool *warn);
/* Removes a pod by UID. True if it existed. */
bool inventory_remove_pod(struct inventory *w, const char *uid);
/* Finds a pod by the UID that cgroups and runtimes use. NULL: there is none, or several pods claim that UID. */
const struct inventory_pod *inventory_find_pod(const struct inventory *w, const char *runtime_uid);
/* Takes ownership. Evaluates the pods of this namespace and marks those whose wants are different now. Returns 0;
 * -ENOMEM, -ENOSPC: it is not known now. */
int inventory_put_namespace(struct inventory *w, struct kube_namespace *ns);
void inventory_remove_namespace(struct inventory *w, const char *name);
/* Re-evaluates all pods after the rules or a namespace changed. */
void inventory_decide_pods(struct inventory *w);
/* Returns the highest rate that any pod requests, for whatever event. */
unsigned inventory_highest_rate(const struct inventory *w);

/* Computes the verdict on a cgroup. Returns 0 or -ENOMEM. */
int inventory_decide(const struct inventory *w, const struct container *c, struct verdict *out);
void verdict_free(struct verdict *v);
