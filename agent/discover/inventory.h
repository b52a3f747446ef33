/* Keeps the known pods and namespaces, and decides for a cgroup whether it is profiled and with which labels. Owned by
 * the discovery thread; it notifies nobody.
 */
#pragma once
#include "container/containers.h"
#include "discover/rules.h"
#include "kube/pod.h"

#define INVENTORY_ROOT 1 /* id of every hierarchy's root (kernfs: the first inode) */

struct inventory_pod {
    struct kube_pod *pod;
    struct wants wants;
};
struct inventory {
    const struct discover_rules *rules;
    enum discover_kube source;
    VEC(struct inventory_pod) pods;
    VEC(struct kube_namespace *) namespaces;
    /* Who is profiled without asking may have a namespace that does not want it: it is waited for, unless namespaces
     * cannot be had at all. */
    bool without_namespaces;
    unsigned hz; /* at which the kernel side samples: the highest rate that anybody wants */
};

struct verdict {               /* on one cgroup */
    bool own;                  /* it has a want of its own; else its ancestor's holds */
    u32 want;                  /* XP_WANT */
    struct identity *identity; /* owned; NULL: nothing to tell the publisher */
    char reason[160];          /* why it is profiled, or why not: one clean line */
};

void inventory_free(struct inventory *w);

/* Takes the pod and decides about it. *warn is set when its warnings are news. 0 or -ENOMEM. */
int inventory_put_pod(struct inventory *w, struct kube_pod *pod, bool *warn);
/* By uid; true when it was there. */
bool inventory_remove_pod(struct inventory *w, const char *uid);
/* By the uid that cgroups and runtimes know; NULL: none, or several say so of themselves. */
const struct inventory_pod *inventory_find_pod(const struct inventory *w, const char *runtime_uid);
int inventory_put_namespace(struct inventory *w, struct kube_namespace *ns);
void inventory_remove_namespace(struct inventory *w, const char *name);
/* Decides about all pods again: rules or a namespace changed. */
void inventory_decide_pods(struct inventory *w);
/* The highest rate that anybody wants. */
unsigned inventory_highest_rate(const struct inventory *w);

/* What follows for a cgroup. 0 or -ENOMEM. */
int inventory_decide(const struct inventory *w, const struct container *c, struct verdict *out);
void verdict_free(struct verdict *v);
