/* Decides which containers, pods and services are profiled. One thread combines cgroups from the kernel side,
 * containers from their runtime and pods from Kubernetes. It notifies the kernel side (which cgroups to sample, before
 * any stack is read) and the publisher (identities, for labels). Pods arrive from threads of their own, cgroups from
 * the collector; all events come through one mailbox.
 */
#pragma once
#include "base/buf.h"
#include "container/containers.h"
#include "discover/rules.h"
#include "kube/kube.h"

struct discover;

/* The kernel side: selects what is sampled. The discovery thread calls these functions. */
struct discover_sampler {
    void *ctx;
    int (*want)(void *ctx, u64 cgroup, u64 want);                       /* 0, or -errno: no room; repeated later */
    int (*set_parts)(void *ctx, u32 row, const struct xp_parts *parts); /* what wants name; the same */
    void (*unwant)(void *ctx, u64 cgroup);
    void (*set_rate)(void *ctx, unsigned hz); /* of the samples that the kernel side takes, of which pods get parts */
};

struct discover_config {
    struct discover_sampler sampler;
    struct publisher *publisher; /* borrowed, like the hierarchy */
    const struct hierarchy *hierarchy;
    struct containers_config containers;
    enum discover_kube source;
    struct kube_config kube; /* for DISCOVER_BY_KUBE */
};

/* Takes ownership of `rules`, also on failure. Returns 0, or -errno and a line in why[]. discover_start starts the
 * threads. */
int discover_new(struct discover **out, const struct discover_config *config, const struct discover_rules *rules,
                 char *why, size_t len);
int discover_start(struct discover *d, char *why, size_t len);
void discover_free(struct discover **d);

/* Replaces the rules; call it from one thread only. Takes ownership of the rules, which are on the heap, and cannot
 * fail. The rules take effect a moment later, unless another reload replaces them first. */
void discover_reload(struct discover *d, struct discover_rules **rules);
void discover_rules_free(struct discover_rules **rules);
/* Lowers the sampling rate to a percentage of the highest that any pod requests; 100: not at all. Pods that request
 * more than the rate of the rules lose that first: as long as it suffices, all others keep theirs. Any thread may call
 * it. */
void discover_set_share(struct discover *d, unsigned percent);
/* Passes on an event of the kernel side; called by the collector's thread. */
void discover_cgroup(struct discover *d, const struct xp_cgroup_event *e);

/* Reports samples of a cgroup that the publisher does not know (publisher_config.unknown); called by the worker's
 * thread. */
void discover_stranger(void *discover, u64 cgroup, u32 tgid);

/* Writes what is profiled, with reasons, as JSON. Queries the discovery thread and waits for at most timeout_ms.
 * Returns 0 or -ETIMEDOUT. */
int discover_targets(struct discover *d, struct buf *json, unsigned timeout_ms);

struct discover_stats {
    u64 pods, namespaces, wanted;       /* now */
    u64 warnings;                       /* about annotations, in total */
    u64 namespaces_refused;             /* namespaces not kept: too many, or their annotations too long, in total */
    u64 verdicts;                       /* judgements of a cgroup: whether it is profiled, with which labels */
    u64 mailbox_full;                   /* messages dropped because the mailbox was full; a re-scan makes up for them */
    u64 wants_refused;                  /* no room in the kernel's map */
    bool synced;                        /* pods were listed at least once, or the runtime that lists them responds */
    bool by_runtime;                    /* pods come from the runtime, not from the API server or kubelet */
    struct containers_stats containers; /* its texts are stored below */
    char runtime[64], runtime_why[256];
    struct kube_stats kube;
};
int discover_stats(struct discover *d, struct discover_stats *out, unsigned timeout_ms); /* the same */
