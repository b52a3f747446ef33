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

/* The kernel side, as far as the discovery tells it what to sample; each from the discovery thread. */
struct discover_sampler {
    void *ctx;
    int (*want)(void *ctx, u64 cgroup, u32 want); /* 0, or -errno: no room, it is tried again */
    void (*unwant)(void *ctx, u64 cgroup);
    void (*set_rate)(void *ctx, unsigned hz); /* the highest rate that anybody wants */
};

struct discover_config {
    struct discover_sampler sampler;
    struct publisher *publisher; /* borrowed, and so is the hierarchy */
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
    u64 mailbox_full;                   /* messages that found no place; a re-scan repairs */
    u64 wants_refused;                  /* no room in the kernel side */
    bool synced;                        /* pods were listed once; the runtime that tells of them answers */
    bool by_runtime;                    /* which that is: no API server, no kubelet */
    struct containers_stats containers; /* its texts are these: */
    char runtime[64], runtime_why[256];
    struct kube_stats kube;
};
int discover_stats(struct discover *d, struct discover_stats *out, unsigned timeout_ms); /* the same */
