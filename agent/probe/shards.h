/* Tables in the shards: identical 4 MiB arrays, mapped here one after the other, so that placing a table is plain
 * stores into one long array of words. Shards are made as they are needed, up to the budget, and mapped in slices while
 * they are written or read: every page that is mapped counts as memory of ours, too. Word 0 stays unused. Nothing here
 * knows what makes a shard: eBPF maps in the agent, files in memory in tests.
 */
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "probe/rules.h"
#include <stdbool.h>
#include <stddef.h>

/* Where a table lies in the shards: the part of struct xp_file that files of the same content share. */
struct probe_table {
    u32 uid, flags, nblocks, index;
    u32 words; /* from index on */
    u64 lo;
    u64 owner; /* who holds it; SHARES_ALL: nobody's share */
};
struct shards_config {
    size_t bytes;          /* budget, rounded up to whole shards */
    struct xp_rule *rules; /* the dictionary: XP_MAX_RULES of them; borrowed */
    void *ctx;
    int (*add)(void *ctx, u32 number); /* a shard: an owned fd that can be mapped, or -errno */
};

struct free_words {
    u32 at, n;
    u64 since_ns; /* programs that began before may still read them for a moment */
};
#define SHARD_SLICE_SHIFT 16 /* words of a shard that are mapped at once: 256 KiB */
struct shard_space {         /* {0} before shards_init */
    struct shards_config config;
    u32 *words; /* addresses for `max_shards` shards, of which slices are mapped */
    u32 nshards, max_shards;
    int fds[XP_MAX_SHARDS];
    bool mapped[(u64)XP_MAX_SHARDS << XP_SHARD_SHIFT >> SHARD_SLICE_SHIFT];
    u32 nmapped;
    u64 used_ns;
    u32 next;                    /* first word that was never used */
    VEC(struct free_words) free; /* by place */
    struct rules rules;
    struct map rules_of;  /* uid -> struct table_rules * */
    struct shares shares; /* of words */
    u32 next_uid;
};

/* 0 or -errno; shards_fini in any case. */
int shards_init(struct shard_space *t, const struct shards_config *config);
void shards_fini(struct shard_space *t);
/* As probe_table_load, probe_table_free, probe_tables_rest, probe_over_share and probe_shard_words (probe.h). */
int shards_load(struct shard_space *t, u64 owner, const struct xp_table *image, struct probe_table *out);
void shards_free(struct shard_space *t, const struct probe_table *table);
void shards_rest(struct shard_space *t);
const u32 *shards_words(struct shard_space *t, u32 *limit);
bool shards_over_share(const struct shard_space *t, u64 owner);
/* What the kernel side knows of a file with this table; NULL: without one. */
struct xp_file shards_file(u32 id, enum xp_file_state state, const struct probe_table *t);
