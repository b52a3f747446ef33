/* What is known of pods and namespaces, and what follows from it for a cgroup. Owned by the discovery thread; decides,
 * and tells nobody.
 */
#pragma once
#include "discover.h"

#define WORLD_ROOT 1 /* id of every hierarchy's root (kernfs: the first inode) */

struct world_pod {
    struct kube_pod *pod;
    struct wants wants;
};
struct world {
    const struct discover_rules *rules;
    enum discover_kube source;
    VEC(struct world_pod) pods;
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

void world_free(struct world *w);

/* Takes the pod and decides about it. *warn is set when its warnings are news. 0 or -ENOMEM. */
int world_put_pod(struct world *w, struct kube_pod *pod, bool *warn);
/* By uid; true when it was there. */
bool world_remove_pod(struct world *w, const char *uid);
/* By the uid that cgroups and runtimes know; NULL: none, or several say so of themselves. */
const struct world_pod *world_find_pod(const struct world *w, const char *runtime_uid);
int world_put_namespace(struct world *w, struct kube_namespace *ns);
void world_remove_namespace(struct world *w, const char *name);
/* Decides about all pods again: rules or a namespace changed. */
void world_decide_pods(struct world *w);
/* The highest rate that anybody wants. */
unsigned world_highest_rate(const struct world *w);

/* What follows for a cgroup. 0 or -ENOMEM. */
int world_judge(const struct world *w, const struct container *c, struct verdict *out);
void verdict_free(struct verdict *v);
