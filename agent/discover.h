/* Who runs here, and who of them wants to be profiled: cgroups from the kernel side, containers from their runtime,
 * pods from Kubernetes meet in one thread, which decides and tells the two that have to know: the kernel side (wants,
 * before any stack is read) and the publisher (identities, for labels). Pods arrive from threads of their own, cgroups
 * from the collector; all of it comes through one inbox.
 */
#pragma once
#include "agent.h"
#include "base/buf.h"
#include "container/containers.h"
#include "kube/kube.h"
#include "kube/labels.h"
#include "kube/policy.h"
#include "publish.h"

struct discover;

/* A target of the configuration: what matches gets the labels. Patterns with '*'; NULL: any. */
struct target_rule {
    const char *container_id, *name, *image, *pod, *namespace, *unit;
    const struct label_set *labels;
};

/* What the operator decided; replaced as a whole on reload. Everything is borrowed from `owner`. */
struct discover_rules {
    struct policy policy;
    struct kube_label_options labels;
    unsigned rate;       /* samples a second where nobody asks for another one */
    u32 events;          /* bits of those that are sampled without being asked for */
    bool everything;     /* containers that belong to no pod are profiled */
    bool host_processes; /* and so is what runs in no container */
    bool pod_events;     /* warnings about annotations are posted as Events */
    bool targets_only;   /* only what a rule matches */
    const struct target_rule *rules;
    size_t nrules;
    const struct process_rule *processes; /* the same by program or pid */
    size_t nprocesses;
    const struct label_set *default_labels; /* of what no rule matches; NULL: none */
    void *owner;
    void (*release)(void *owner); /* called when nothing refers to it any more */
};

enum discover_kube { DISCOVER_NO_KUBE, DISCOVER_BY_CRI, DISCOVER_BY_KUBE }; /* by API server or kubelet */

struct discover_config {
    struct agent *agent; /* borrowed, all three */
    struct publisher *publisher;
    const struct hierarchy *hierarchy;
    struct containers_config containers;
    enum discover_kube source;
    struct kube_config kube; /* for DISCOVER_BY_KUBE */
};

/* `rules` are taken over, also on failure. 0 or -errno and a line in why[]. Threads start with discover_start. */
int discover_new(struct discover **out, const struct discover_config *config, const struct discover_rules *rules,
                 char *why, size_t len);
int discover_start(struct discover *d, char *why, size_t len);
void discover_free(struct discover **d);

/* From one thread; takes the rules, which are on the heap, and cannot fail: they are in force a moment later, unless
 * others come before. */
void discover_reload(struct discover *d, struct discover_rules **rules);
void discover_rules_free(struct discover_rules **rules);
/* From the collector's thread: what the kernel side tells. */
void discover_cgroup(struct discover *d, const struct xp_cgroup_event *e);

/* From the worker's: samples came from a cgroup that nobody has told the publisher of (publisher_config.unknown). */
void discover_stranger(void *discover, u64 cgroup, u32 tgid);

/* What is profiled and why, or why not, as JSON: asked of the thread, waiting at most timeout_ms. 0 or -ETIMEDOUT. */
int discover_targets(struct discover *d, struct buf *json, unsigned timeout_ms);

struct discover_stats {
    u64 pods, namespaces, wanted;       /* now */
    u64 warnings;                       /* about annotations, in all */
    u64 inbox_full;                     /* messages that found no place; a re-scan repairs */
    u64 wants_refused;                  /* no room in the kernel side */
    bool synced;                        /* pods were listed once; the runtime that tells of them answers */
    bool by_runtime;                    /* which that is: no API server, no kubelet */
    struct containers_stats containers; /* its texts are these: */
    char runtime[64], runtime_why[256];
    struct kube_stats kube;
};
int discover_stats(struct discover *d, struct discover_stats *out, unsigned timeout_ms); /* the same */
