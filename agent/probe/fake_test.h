/* Replaces the kernel side in unit tests: implements probe.h on memory of this process. What tests push comes out of
 * the ring; what the agent tells the kernel side can be looked at. Tables are placed by the real shards.c.
 */
#pragma once
#include "probe/probe.h"

struct fake_published { /* the last word on a file */
    struct xp_file_key key;
    struct xp_file value;
};

/* The probe made last by probe_new; NULL: none is there. */
struct probe *fake_probe(void);
/* Records of the ring, for the next probe_poll; copied. Any thread. */
void fake_push(struct probe *p, const void *record, size_t len);
/* A mapping that probe_list_mappings finds. */
void fake_map(struct probe *p, const struct xp_mapping *m);
/* What was published of a file; state PENDING: nothing, or it was forgotten. */
struct xp_file fake_file(struct probe *p, const struct xp_file_key *key);
/* Where the tables are. */
struct shard_space *fake_shards(struct probe *p);
/* How often files were forgotten, and how often the kernel side was told that files changed. */
unsigned fake_forgotten(struct probe *p);
unsigned fake_changes(struct probe *p);
/* From now on files and tables are refused with this error; 0: no longer. */
void fake_refuse_files(struct probe *p, int error);
void fake_refuse_tables(struct probe *p, int error);
/* What probe_count_files said last; 0: nothing. */
u32 fake_cgroup_files(struct probe *p, u64 cgroup);
/* The rate that was set last, 0: none. */
unsigned fake_rate(struct probe *p);
/* How often it looked for new CPUs. */
unsigned fake_rescans(const struct probe *p);
/* What the kernel side has counted, and what its programs cost. While nobody polls. */
void fake_count(struct probe *p, const struct xp_stats *stats, u64 run_ns, u64 runs);
