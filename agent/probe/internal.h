/* What the files of this room share. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "probe/probe.h"
#include <bpf/libbpf.h>

struct xprof_bpf;

#define PROBE_MAX_CPUS 4096

struct free_words {
    u32 at, n;
    u64 since_ns; /* programs that began before may still read them for a moment */
};
#define SHARD_SLICE_SHIFT 16 /* words of a shard that are mapped at once: 256 KiB */
struct shard_space {         /* the shards' words, mapped one after the other; see tables.c */
    u32 *words;              /* addresses for `max_shards` shards, of which slices are mapped */
    u32 nshards, max_shards;
    int fds[XP_MAX_SHARDS];
    bool mapped[(u64)XP_MAX_SHARDS << XP_SHARD_SHIFT >> SHARD_SLICE_SHIFT];
    u32 nmapped;
    u64 used_ns;
    u32 next;                    /* first word that was never used */
    VEC(struct free_words) free; /* by place */
    struct xp_rule *rules;
    u32 nrules;
    struct map rule_ids; /* rule as u64 -> number + 1 */
    u32 next_uid;
};

struct probe {
    struct xprof_bpf *skel;
    struct probe_config config;
    struct ring_buffer *ring;
    const struct probe_handlers *handlers; /* during probe_poll */
    u64 malformed;
    struct shard_space tables;
    struct bpf_link *links[4]; /* fork, free; cgroups made, removed */
    int *event_fds;            /* [cpu * XP_MAX_EVENTS + event], -1 = none */
    int ncpus;
    int progs[XP_MAX_EVENTS];
    bool running;
    int stats_fd; /* keeps the kernel's run time statistics on; -1 */
};

int tables_init(struct probe *p);
void tables_fini(struct probe *p);
int attach_init(struct probe *p);
void attach_fini(struct probe *p);
/* Formats a line into why[] and returns err. */
int probe_why(int err, char *why, size_t len, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
