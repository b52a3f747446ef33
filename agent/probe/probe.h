/* The interface to the kernel side: loads the eBPF object, attaches it to perf events, publishes unwind tables to it
 * and hands on what comes out of its ring. The sole user of libbpf. Nothing here parses what a container could have
 * made.
 *
 * Life: probe_new (loads) -> probe_list_mappings, probe_vdso, probe_publish (tables, at any time) -> probe_start
 * (samples begin) -> probe_poll, often -> probe_stop -> probe_poll until it returns 0 -> probe_free. One thread polls;
 * publishing and listing belong to one thread, which may be another.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "probe/records.h"
#include "probe/shards.h"
#include <stdbool.h>

struct probe;

struct probe_event {
    u32 perf_type;
    u64 perf_config;
    unsigned hz; /* samples per second per CPU */
    bool time;   /* a clock: the period is 1e9 / hz exactly */
};

struct probe_config {
    enum xp_target target;
    const u32 *pids; /* XP_TARGET_PIDS: thread group ids; their children come along by themselves */
    size_t npids;
    u64 cgroup;        /* XP_TARGET_CGROUP: a subtree wanted from the start, by the inode number of its root; or 0 */
    int cgroup_subsys; /* -1: the unified hierarchy; else the version 1 controller's number (order of /proc/cgroups) */
    struct probe_event events[XP_MAX_EVENTS];
    size_t nevents;
    bool kernel, user;
    bool measure;  /* take the time of every unwind (xp_stats.unwind_ns, xp_sample.unwind_ns) */
    bool run_time; /* count the programs' run time (probe_run_time): it slows down all eBPF programs of the machine */
    bool cgroup_events; /* tell of cgroups that are made and removed */
    size_t table_bytes; /* budget of the shards, rounded up to 4 MiB */
    size_t ring_bytes;  /* 0: by the number of CPUs */
    u32 cgroup_files;   /* files that the stacks of one cgroup may bring; 0: as many as there is room for */
};

/* Loads. 0, or -errno and one line in why[] that says what is missing and what to do. */
int probe_new(struct probe **out, const struct probe_config *config, char *why, size_t why_len);
void probe_free(struct probe **p);

/* Attaches every event to every online CPU. 0, or -errno and a line in why[]. */
int probe_start(struct probe *p, char *why, size_t why_len);
/* CPUs that came online since get their events, too. Cheap: call it about once a second. */
void probe_rescan_cpus(struct probe *p);
/* Another rate for the events that are clocks, on all CPUs; the weight of samples follows. The thread that polls.
 * 0 or -errno. */
int probe_set_rate(struct probe *p, unsigned hz);
/* No samples after this; what is in the ring stays. */
void probe_stop(struct probe *p);
/* A process to be sampled from now on (XP_TARGET_PIDS). */
int probe_add_pid(struct probe *p, u32 tgid);

/* The want of a cgroup and of all below it that have none of their own (XP_WANT); from any thread, and in effect at the
 * next sample. 0; -ENOSPC: there are XP_MAX_WANTS; -errno. */
int probe_want(struct probe *p, u64 cgroup, u32 want);
void probe_unwant(struct probe *p, u64 cgroup);

/* Hands on what is in the ring, waiting up to timeout_ms for the kernel side to ask for attention. Records that are too
 * short for what they claim are counted and dropped. Returns the number of records or -errno. */
int probe_poll(struct probe *p, const struct probe_handlers *h, int timeout_ms);

/* Sums of the per-CPU counters. */
int probe_stats(const struct probe *p, struct xp_stats *out);
/* Records that were shorter than they claimed. */
u64 probe_malformed(const struct probe *p);
/* Run time of the sampling programs, when config.run_time asked for it: ns in all, and how often they ran. */
void probe_run_time(const struct probe *p, u64 *ns, u64 *runs);
/* The number of a version 1 controller in this kernel (enum cgroup_subsys_id, from its BTF). -ENOENT: it has none. */
int probe_cgroup_subsys(const char *controller);
/* How many CPUs this machine may have: every xp_sample.cpu is below. */
int probe_cpus(const struct probe *p);
/* Kernel memory of all maps, bytes. */
u64 probe_map_bytes(const struct probe *p);

typedef VEC(struct xp_mapping) probe_mappings;
/* Executable mappings of process tgid (0: of all processes); files new to the kernel side are announced in the ring.
 * -ENOTSUP before Linux 5.12. The list is appended to. */
int probe_list_mappings(struct probe *p, u32 tgid, probe_mappings *out);

/* ---- Tables (shards.h) ---- */

/* Copies a checked image into the shards, as a part of `owner`'s share of them (a cgroup; SHARES_ALL: no share counts).
 * 0; -ENOSPC: the budget or the dictionary of rules is used up; -EUSERS: the owner's share of one of them is;
 * -EOVERFLOW: more rules than a file may have; -ENOMEM. */
int probe_table_load(struct probe *p, u64 owner, const struct xp_table *image, struct probe_table *out);
/* Gives the words and rules of a table back, once no file is published with it; they are used again after
 * probe_files_changed and PROBE_GRACE_NS. */
void probe_table_free(struct probe *p, const struct probe_table *t);
/* The kernel side forgets what it remembers of files between samples. */
void probe_files_changed(struct probe *p);
/* Tells the kernel side what became of a file. `table` only with XP_FILE_READY. */
int probe_publish(struct probe *p, const struct xp_file_key *key, u32 id, enum xp_file_state state,
                  const struct probe_table *table, struct xp_file *out);
/* The same once more, with a value that has changed. Nothing happens to a file that was forgotten meanwhile. */
int probe_republish(struct probe *p, const struct xp_file_key *key, const struct xp_file *value);
int probe_publish_vdso(struct probe *p, const struct probe_table *table, struct xp_file *out);
/* Forgets a file: at its next sight it is announced again, under another id. */
void probe_forget(struct probe *p, const struct xp_file_key *key);
/* Does an owner hold more than its share of the tables, now that others need theirs? Then its tables go first. */
bool probe_over_share(const struct probe *p, u64 owner);
/* How many files of a cgroup are left, of those that its stacks brought (config.cgroup_files). */
void probe_count_files(struct probe *p, u64 cgroup, u32 n);
/* Unmaps the shards, when nobody has needed them for a second, until somebody does. To be called by who loads tables.
 */
void probe_tables_rest(struct probe *p);
/* The same words and rules that the kernel side reads, for unwinding in user space. */
const u32 *probe_shard_words(struct probe *p, u32 *limit);
const struct xp_rule *probe_rule_array(const struct probe *p);
