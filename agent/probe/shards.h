/* Stores tables in shards: identical 4 MiB arrays, mapped contiguously, so that a table is written with plain stores
 * into one long array of words. Shards are created on demand, up to the budget. They are mapped in slices only while
 * they are read or written, because each mapped page also counts as memory of this process. Word 0 is unused. This
 * module does not depend on the kind of shards: eBPF maps in the agent, files in memory in tests.
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

/* The location of a table in the shards: the part of struct xp_file that is shared by files with the same content. */
struct probe_table {
    u32 uid, flags, nblocks, index;
    u32 words; /* starting at index */
    u64 lo;
    u64 owner; /* whose share it counts against; SHARES_ALL: no share */
};
struct shards_config {
    size_t bytes;          /* budget, rounded up to whole shards */
    struct xp_rule *rules; /* the dictionary, XP_MAX_RULES entries; borrowed */
    void *ctx;
    int (*add)(void *ctx, u32 number); /* creates a shard: returns an owned, mappable descriptor, or -errno */
};

struct free_words {
    u32 at, n;
    u64 since_ns; /* programs that started before may still read them briefly */
};
#define SHARD_SLICE_SHIFT 16 /* words of a shard that are mapped at once: 256 KiB */
struct shard_space {         /* {0} before shards_init */
    struct shards_config config;
    u32 *words; /* address range of `max_shards` shards; only some slices are mapped */
    u32 nshards, max_shards;
    int fds[XP_MAX_SHARDS];
    bool mapped[(u64)XP_MAX_SHARDS << XP_SHARD_SHIFT >> SHARD_SLICE_SHIFT];
    u32 nmapped;
    u64 used_ns;
    u32 next;                    /* first word that was never used */
    VEC(struct free_words) free; /* by position */
    struct rules rules;
    struct map rules_of;  /* uid -> struct table_rules * */
    struct shares shares; /* of words */
    u32 next_uid;
};

/* Returns 0 or -errno. Call shards_fini in both cases. */
int shards_init(struct shard_space *t, const struct shards_config *config);
void shards_fini(struct shard_space *t);
/* See probe_table_load, probe_table_free, probe_tables_rest, probe_over_share and probe_shard_words (probe.h). */
int shards_load(struct shard_space *t, u64 owner, const struct xp_table *image, struct probe_table *out);
void shards_free(struct shard_space *t, const struct probe_table *table);
void shards_rest(struct shard_space *t);
const u32 *shards_words(struct shard_space *t, u32 *limit);
bool shards_over_share(const struct shard_space *t, u64 owner);
/* Returns the kernel side's value for a file with this table; NULL: without a table. */
struct xp_file shards_file(u32 id, enum xp_file_state state, const struct probe_table *t);
