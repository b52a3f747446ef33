/* Replaces the kernel side in unit tests: implements probe.h on memory of this process. Tests push records into the
 * ring and can inspect everything that the agent sends to the kernel side. Tables are placed by the real shards.c.
 */
#pragma once
#include "probe/probe.h"

struct fake_published { /* last published state of a file */
    struct xp_file_key key;
    struct xp_file value;
};

/* Returns the last probe created by probe_new; NULL: there is none. */
struct probe *fake_probe(void);
/* Push a record into the ring for the next probe_poll. Copied. Any thread may call it. */
void fake_push(struct probe *p, const void *record, size_t len);
/* Adds a mapping that probe_list_mappings finds. */
void fake_map(struct probe *p, const struct xp_mapping *m);
/* Adds a sum of waits that the next probe_take_waits finds. */
void fake_wait(struct probe *p, const struct probe_wait *w);
/* The same for a thread whose stack is still to be taken; it has no mappings. */
void fake_sleeper(struct probe *p, const struct xp_sleeper *z);
/* Returns what was published about a file; state PENDING: nothing, or the file was forgotten. */
struct xp_file fake_file(struct probe *p, const struct xp_file_key *key);
struct fake_region { /* generated code with a table */
    struct xp_region_key key;
    struct xp_file value;
};
const struct fake_region *fake_regions(const struct probe *p, size_t *n);
struct fake_machine { /* what was published of a process, by any probe */
    struct xp_process_key key;
    struct xp_machine value;
};
/* NULL: there is none, or it was forgotten. */
const struct fake_machine *fake_machine(const struct xp_process_key *key);
/* Returns the space that holds the tables. */
struct shard_space *fake_shards(struct probe *p);
/* Return the number of forgotten files, and the number of calls of probe_files_changed. */
unsigned fake_forgotten(struct probe *p);
unsigned fake_changes(struct probe *p);
/* Makes the probe refuse files and tables with this error; 0: accept them again. */
void fake_refuse_files(struct probe *p, int error);
void fake_refuse_tables(struct probe *p, int error);
/* Returns the last value passed to probe_count_files; 0: none. */
u32 fake_cgroup_files(struct probe *p, u64 cgroup);
/* Returns the last rate that was set; 0: none. */
unsigned fake_rate(struct probe *p);
/* Returns the number of scans for new CPUs. */
unsigned fake_rescans(const struct probe *p);
/* Set the counters of the kernel side and the run time of its programs. Not to be called during probe_poll. */
void fake_count(struct probe *p, const struct xp_stats *stats, u64 run_ns, u64 runs);
