/* The interface to the kernel side: loads the eBPF object, attaches it to perf events, publishes unwind tables to it
 * and passes on the records from its ring. The only user of libbpf. Nothing here parses data that a container could
 * have crafted.
 *
 * Life cycle: probe_new (loads) -> probe_list_mappings, probe_vdso, probe_publish (tables, at any time) -> probe_start
 * (samples begin) -> probe_poll, often -> probe_stop -> probe_poll until it returns 0 -> probe_free. One thread polls;
 * publishing and listing belong to one thread, which may be another.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/disk.h"
#include "bpf/heap.h"
#include "bpf/sums.h"
#include "bpf/tracepoint.h"
#include "bpf/usdt.h"
#include "bpf/waits.h"
#include "probe/records.h"
#include "probe/shards.h"
#include <stdbool.h>

struct probe;

enum probe_how {
    PROBE_PERF,     /* a perf event on each CPU */
    PROBE_OFFCPU,   /* the scheduler's switches: time blocked */
    PROBE_RUNQUEUE, /* the scheduler's switches: time runnable, but not running */
    PROBE_LOCK,     /* the scheduler's switches: time waiting for locks */
    PROBE_WAKEUP,   /* the scheduler's wake-ups: time blocked, by who ended it */
    PROBE_KIND,     /* sums of an eBPF object of its own (bpf/kind.bpf.h) */
};

/* When the user stack of a wait is taken. */
enum probe_wait_stacks {
    PROBE_STACKS_AUTO,      /* the best of what follows that the kernel has; where it pays, more than one */
    PROBE_STACKS_SWITCH,    /* as the thread leaves its CPU, if it is believed to wait long */
    PROBE_STACKS_TASK_WORK, /* as it returns to user mode (Linux 6.18) */
    PROBE_STACKS_FINISH,    /* as it is back, by a kprobe */
};

/* Values of a kind that are not sums, but what is left of them. */
enum probe_levels {
    PROBE_NO_LEVELS,
    PROBE_LEVELS_HELD, /* the second is what the first has grown by, less what went away: blocks of memory */
    PROBE_LEVELS_LENT, /* the same, of blocks that outlive who had them allocated: memory of the kernel */
    PROBE_LEVELS_OPEN, /* the third is what came, and became neither of the others yet */
};

/* How programs are attached to places in files and in the kernel. */
enum probe_links {
    PROBE_LINKS_AUTO,  /* by the best of what follows that the kernel has */
    PROBE_LINKS_MULTI, /* by one link to many places (Linux 6.6; in the kernel, 5.18) */
    PROBE_LINKS_PERF,  /* by a perf event for each one, with a cookie (Linux 5.15) */
    PROBE_LINKS_PLAIN, /* the same, without */
};

struct probe_places { /* in a file, for the program of an event */
    int fd;
    int *files; /* in place of it: the file of each place, those of one file in a row; NULL: all are in `fd` */
    u64 *offsets;
    u64 *counters; /* of those that look at a place: their places in the file, or 0; NULL: there are none */
    struct xp_usdt_site *sites; /* of USDT probes: where the arguments of each one are; NULL */
    size_t n;
    size_t harmed;  /* that many functions were left out: return probes would crash who calls them */
    size_t stepped; /* places whose instruction the kernel does not emulate, as far as is known: it costs more */
    enum probe_when {
        PROBE_CALLS,   /* it is called when the functions there begin, */
        PROBE_RETURNS, /* or return */
        PROBE_BOTH,    /* it has a program for each: the latter is xp_after_call */
    } when;
    bool kernel;           /* the offsets are addresses in the kernel, in place of a file */
    size_t left_out;       /* of these, those that the kernel does not let anybody trace */
    char *file, *function; /* instead: these, in files of that name that wanted processes map; NULL: not by name */
    bool usdt;             /* the same: the function is PROVIDER:NAME of USDT probes */
    u32 arguments;         /* of these, bits: those that a site has to have, or it is left out */
};

struct probe_symbol { /* a place in the kernel, for the program of an event */
    char name[128];
    u64 offset;
    bool returns; /* it is called when the function returns */
};

struct probe_event {
    enum probe_how how;
    u32 perf_type;
    u64 perf_config, perf_more[2]; /* config, config1, config2 */
    u64 every;                     /* PROBE_PERF: one sample per so many; 0: the kernel adapts that to `hz` */
    unsigned hz;                   /* samples per second per CPU */
    bool time;                     /* a clock: the period is exactly 1e9 / hz */
    const char *object; /* PROBE_KIND: the name of its file in bpf/kinds/; of others: that of what sees more of it */
    enum probe_levels levels; /* PROBE_KIND */
    bool allocators;          /* the same: its programs are attached to the allocators of wanted processes, */
    bool tagged;              /* PROBE_KIND: what it counts is told apart by files or peers, too */
    bool strict;              /* of which it knows nothing while only some of their functions are followed */
    u64 tracepoint; /* PROBE_KIND: its program is attached to the one with this number; 0: it says itself to which */
    u64 end;        /* the same, of xp_after_call */
    const struct probe_places *places; /* the same: to these, in whatever process; NULL: to none */
    const struct xp_tp *conditions;    /* which occurrences of these two count */
    const struct probe_symbol *symbol; /* PROBE_KIND: its program is attached there; NULL: nowhere */
    u32 trap_ns;                       /* what a hit of these costs beside its program: stated */
    unsigned max_cost;                 /* in place of that of all events (struct probe_config); 0: that */
    const char *name;                  /* for messages; NULL: it has none */
    const char *since; /* the version of Linux that has what it needs, for messages; "": any that is supported */
};

struct probe_config {
    enum xp_target target;
    const u32 *pids; /* XP_TARGET_PIDS: process IDs; their children are included automatically */
    size_t npids;
    u64 cgroup;        /* XP_TARGET_CGROUP: subtree wanted from the start, as inode number of its root; or 0 */
    int cgroup_subsys; /* -1: unified hierarchy; else number of the version 1 controller (order of /proc/cgroups) */
    struct probe_event events[XP_MAX_EVENTS];
    size_t nevents;
    bool kernel, user;
    bool measure;  /* measure the time of every unwind (xp_stats.unwind_ns, xp_sample.unwind_ns) */
    bool run_time; /* measure run time of programs (probe_run_time): slows down all eBPF programs of the machine */
    bool sample_run_time; /* the same for a short while now and then (probe_run_times) */
    bool cgroup_events;   /* report cgroups that are created and removed */
    size_t table_bytes;   /* budget of the shards, rounded up to 4 MiB */
    size_t ring_bytes;    /* 0: derived from the number of CPUs */
    u32 cgroup_files;     /* limit of files from stacks of one cgroup; 0: no limit */
    bool thread_names;    /* samples have the names of threads, not of processes */
    bool thread_labels;   /* samples have the names of threads, too */
    bool thread_ids;      /* stacks of threads are told apart by their numbers */
    bool kernel_threads;  /* waits of kernel threads count, too */
    u64 wait_min_ns;      /* of shorter waits, the user stack need not be taken */
    enum probe_wait_stacks wait_stacks;
    enum probe_links links;
    u64 heap_period;   /* one sample per so many allocated bytes on average; 1: every block; 0: PROBE_HEAP_PERIOD */
    unsigned max_cost; /* of the probes of an event that count what they cost, in percent of a CPU; 0: no limit */
    bool heap_hold;    /* requested processes are stopped when they map code (probe_heap_attach), with their children */
};

/* Returns the limit of an event. */
unsigned probe_max_cost(const struct probe_config *c, size_t event);

/* Loads the programs. Returns 0, or -errno and one line in why[] with the cause and its remedy. */
int probe_new(struct probe **out, const struct probe_config *config, char *why, size_t why_len);
void probe_free(struct probe **p);

/* Attaches every event to every online CPU. Returns 0, or -errno and a line in why[]. That of 0 is "", or says what
 * this kernel does not let us see. */
int probe_start(struct probe *p, char *why, size_t why_len);
/* Attaches the events to CPUs that came online since, and follows waits if somebody has come to want that, or no longer
 * if nobody does. Cheap: call it about once per second. Returns 0; 1: waits are followed from now on, or no longer:
 * probe_take_waits should be called at once; -errno and a line in why[]: they cannot be followed. The line of others is
 * "", or says what this kernel does not let us see. */
int probe_rescan(struct probe *p, char *why, size_t why_len);
/* Changes the rate of the events that are clocks, on all CPUs; the weight of samples is adapted. Call it from the
 * polling thread. Returns 0 or -errno. */
int probe_set_rate(struct probe *p, unsigned hz);
/* Ends sampling. Records in the ring are kept. */
void probe_stop(struct probe *p);
/* Adds a process to be sampled (XP_TARGET_PIDS). */
int probe_add_pid(struct probe *p, u32 tgid);

/* Sets the want (XP_WANT) of a cgroup and of all cgroups below it that have none of their own. Any thread may call it;
 * it takes effect at the next sample. Returns 0; -ENOSPC: there are XP_MAX_WANTS already; or another -errno. */
int probe_want(struct probe *p, u64 cgroup, u64 want);
void probe_unwant(struct probe *p, u64 cgroup);
/* Sets a row that wants may name (XP_WANT_PARTS), from 1 to XP_MAX_PARTS - 1. Returns 0 or -errno. */
int probe_set_parts(struct probe *p, u32 row, const struct xp_parts *parts);

/* Passes on the records in the ring, waiting up to timeout_ms for a wake-up by the kernel side. Records shorter than
 * their stated length are counted and dropped. Returns the number of records or -errno. */
int probe_poll(struct probe *p, const struct probe_handlers *h, int timeout_ms);

/* Sums up the per-CPU counters. */
int probe_stats(const struct probe *p, struct xp_stats *out);
/* Returns the number of records shorter than their stated length. */
u64 probe_malformed(const struct probe *p);
/* Returns the run time of the sampling programs in ns and their number of runs; requires config.run_time. */
void probe_run_time(const struct probe *p, u64 *ns, u64 *runs);
/* Numbers by event; and one of the programs that several events of waits share. */
#define PROBE_RUN_TIMES (XP_MAX_EVENTS + 1)
#define PROBE_WAITS     XP_MAX_EVENTS
/* Returns the CPU time of the programs of each event so far, extrapolated. False: the kernel does not measure it, or
 * not for us. Requires config.sample_run_time. Any thread may call it. */
bool probe_run_times(const struct probe *p, u64 ns[PROBE_RUN_TIMES]);
/* Returns the number of a version 1 controller in this kernel (enum cgroup_subsys_id, from its BTF). -ENOENT: not in
 * this kernel. */
int probe_cgroup_subsys(const char *controller);
/* Returns the maximum number of CPUs of this machine: every xp_sample.cpu is below it. */
int probe_cpus(const struct probe *p);
/* Returns the kernel memory of all maps, in bytes. */
u64 probe_map_bytes(const struct probe *p);

/* ---- Waits (events PROBE_OFFCPU, PROBE_RUNQUEUE, PROBE_WAKEUP, PROBE_LOCK), and sums (PROBE_KIND) ---- */

struct probe_wait { /* the waits of an interval that have one cause and the same stacks */
    struct xp_wait_key key;
    struct xp_wait sum;
};
struct probe_sum { /* what one stack has of an event of PROBE_KIND */
    struct xp_sum_key key;
    struct xp_sum sum;
    u8 event;
};
struct probe_waits { /* of an interval; release with probe_waits_free */
    VEC(struct probe_wait) sums;
    VEC(struct probe_sum) kinds;
    VEC(struct xp_sleeper) sleepers; /* whose stacks are still to be taken */
    VEC(struct xp_mapping) mappings; /* of each sleeper `nmaps`, unless it has the same as the one before */
};
void probe_waits_free(struct probe_waits *w);
/* Ends the interval of the kernel side and appends what was counted in it, waits that go on included. Their stacks come
 * out of the ring, which is emptied meanwhile: they may be more than it holds. Appends nothing while no wait is
 * followed. Returns 0 or -errno. */
int probe_take_waits(struct probe *p, const struct probe_handlers *h, struct probe_waits *out);
/* Returns whether this kernel has what these means need. */
bool probe_can_take(enum probe_wait_stacks means);
/* Returns how programs are attached to places on this machine, in the kernel or in files; not PROBE_LINKS_AUTO. */
enum probe_links probe_links_here(bool kernel);
/* Returns the number of the event that is recorded by `how`; -1: none. */
int probe_event_by(const struct probe *p, enum probe_how how);

/* ---- What the probes of an event cost (cost.h) ---- */

struct probe_cost { /* so far */
    u64 hits, ns;   /* CPU time: that of their programs is measured, that of a trap per hit is stated */
    u64 on_ns;      /* how long they were attached, */
    u64 off_ns;     /* and how long taken off, because they cost too much: */
    u64 rests;      /* so often */
};
/* Takes probes off that cost too much, and puts those back that have rested. To be called often, from the polling
 * thread. Returns the events, as bits, that rest for the first time. */
u32 probe_see_costs(struct probe *p);
/* Whether there are probes that may have to be taken off soon. From the polling thread. */
bool probe_may_rest(const struct probe *p);
/* Whether the probes of an event are to be off now: those in files of processes are attached, and taken off, by who
 * calls probe_heap_attach. Any thread may call it. */
bool probe_rests(const struct probe *p, size_t event);
/* Returns 0; -ENOENT: nothing is known of the event. Any thread may call it. */
int probe_cost(const struct probe *p, size_t event, struct probe_cost *out);

/* ---- Latency of disks ---- */

struct probe_disk { /* all requests of a device that did one thing, while the event `disk` was wanted */
    struct xp_disk_key key;
    struct xp_disk_latency sum;
};
typedef VEC(struct probe_disk) probe_disk_list;
/* Appends what was counted so far, as of a few seconds ago: XP_DISK_SERIES at most. left_out: requests for which there
 * was no room. Any thread may call it. Returns 0 or -ENOMEM. */
int probe_disks(struct probe *p, probe_disk_list *out, u64 *left_out);

/* ---- Places in files that programs of an event are attached to (uprobes.c): allocators, where goroutines wait for
 * locks, and functions of probes. Any thread may call these once probe_start has returned. ---- */

#define PROBE_HEAP_PERIOD (512u << 10)
#define PROBE_HEAP_LINKS  11
typedef VEC(int) probe_fds;
struct probe_heap_links {            /* {0}: none */
    probe_fds fds[PROBE_HEAP_LINKS]; /* owned */
};
enum probe_heap_parts { /* bits */
                        PROBE_HEAP_FREES =
                            1, /* functions that free, those that may allocate as well (realloc) included */
                        PROBE_HEAP_ALLOCATIONS = 2,
};
struct probe_heap_file { /* in a process */
    int fd;              /* O_PATH */
    u32 tgid;
    u32 place; /* of the process: what it does is counted there */
    const struct xp_heap_site *sites;
    const u64 *counters; /* as in struct probe_places */
    size_t n;
    u32 first; /* the number of the first site, if they have numbers: USDT probes */
};
struct probe_heap_hits { /* of probes, since probe_heap_begin */
    u64 calls, returns;  /* at the beginning of functions, and at their end */
    u64 stacks;          /* that were taken */
};
/* Returns a number that changes whenever other processes may be wanted. */
u32 probe_heap_wants(const struct probe *p);
typedef VEC(struct xp_wanted) probe_processes;
/* Appends the processes of which the event is wanted. Returns 0 or -errno. */
int probe_heap_wanted(struct probe *p, size_t event, probe_processes *out);
/* Gives a process a place, from 1 to XP_HEAP_PROCESSES - 1. */
void probe_heap_begin(struct probe *p, size_t event, u32 place);
/* Follows those parts of the allocators of a file that are not followed yet. Returns 0; -ESRCH: the process is gone; or
 * another -errno, and then none of these parts is followed. */
int probe_heap_attach(struct probe *p, size_t event, const struct probe_heap_file *f, unsigned parts,
                      struct probe_heap_links *l);
void probe_heap_detach(struct probe_heap_links *l, unsigned parts);
/* Says where the arguments of USDT probes are at sites, before they are attached to. Returns 0 or -errno. */
int probe_usdt_sites(struct probe *p, size_t event, u32 first, const struct xp_usdt_site *sites, size_t n);
/* Returns 0 or -ENODATA. */
int probe_heap_hits(struct probe *p, size_t event, u32 place, struct probe_heap_hits *out);
/* Measures what a hit costs the thread that has it, in ns, at a function of this process. Returns 0 or -errno. */
int probe_heap_prices(struct probe *p, size_t event, struct probe_heap_hits *out);
/* Whether new blocks of a process count. To be called while allocations are not followed. */
void probe_heap_rest(struct probe *p, size_t event, u32 place, bool resting);
/* Says that nothing more is seen of the blocks of a process's address space, and what becomes of them; unless it is
 * `since` (0: none) or a later one: address spaces are numbered as they are made, and a process that executes several
 * programs may have done so before the first of them is dealt with. Returns 0, or -errno: none that is known is gone.
 */
int probe_heap_gone(struct probe *p, size_t event, u32 place, enum xp_heap_gone how, u64 since);
/* Forgets the blocks of all address spaces that are gone, those that executed another program included. Takes as long
 * as there are blocks of any process. Returns the number of those that may have been freed unseen. */
u64 probe_heap_forget(struct probe *p, size_t event);
/* Passes what is held of blocks that were born by then (monotonic), by the keys of the stacks that allocated them.
 * Returns 0; -ENOSPC: there are more stacks than there is room for; or another -errno. */
typedef void probe_heap_held(void *ctx, u64 stack, struct xp_amount held);
int probe_heap_look(struct probe *p, size_t event, u64 by_ns, probe_heap_held *held, void *ctx);
/* Nothing that happens from now on counts. */
void probe_heap_end(struct probe *p, size_t event);

typedef VEC(struct xp_listed) probe_mappings;
/* Appends the executable mappings of process tgid (0: of all processes) to the list. Files new to the kernel side are
 * announced in the ring. Returns 0 or -errno; -ENOTSUP before Linux 5.12. */
int probe_list_mappings(struct probe *p, u32 tgid, probe_mappings *out);

/* ---- Tables (shards.h) ---- */

/* Copies a checked image into the shards. It counts against the share of `owner` (a cgroup; SHARES_ALL: no share).
 * Returns 0; -ENOSPC: the memory budget or the rule dictionary is used up; -EUSERS: the owner's share of one of them is
 * used up; -EOVERFLOW: more rules than a file may have; -ENOMEM. */
int probe_table_load(struct probe *p, u64 owner, const struct xp_table *image, struct probe_table *out);
/* Releases the words and rules of a table once no file is published with it. They are reused after probe_files_changed
 * and PROBE_GRACE_NS. */
void probe_table_free(struct probe *p, const struct probe_table *t);
/* Makes the kernel side drop what it caches about files between samples. */
void probe_files_changed(struct probe *p);
/* Sets the state of a file in the kernel side. `table` is used with XP_FILE_READY only. */
int probe_publish(struct probe *p, const struct xp_file_key *key, u32 id, enum xp_file_state state,
                  const struct probe_table *table, struct xp_file *out);
/* Tells whether a file has a state by now: it is no longer waited for. Only with config.heap_hold. Any thread may call
 * it. */
bool probe_published(const struct probe *p, u32 id);
/* Publishes a changed value of a file. Does nothing if the file was forgotten in the meantime. */
int probe_republish(struct probe *p, const struct xp_file_key *key, const struct xp_file *value);
int probe_publish_vdso(struct probe *p, const struct probe_table *table, struct xp_file *out);
/* Forgets a file. When the kernel side sees it again, it announces it under another ID. */
void probe_forget(struct probe *p, const struct xp_file_key *key);
/* Set and forget the table of a mapping of generated code. Take effect after probe_files_changed. */
int probe_publish_region(struct probe *p, const struct xp_region_key *key, const struct probe_table *table,
                         struct xp_file *out);
void probe_forget_region(struct probe *p, const struct xp_region_key *key);
/* Set and forget what is known of a process with a runtime. Set takes effect after probe_files_changed. */
int probe_publish_machine(struct probe *p, const struct xp_process_key *key, const struct xp_machine *machine);
void probe_forget_machine(struct probe *p, const struct xp_process_key *key);
/* Tells whether an owner holds more than its share of the tables. The tables of such owners are evicted first. */
bool probe_over_share(const struct probe *p, u64 owner);
/* Sets the number of files that remain of those that the stacks of a cgroup brought (config.cgroup_files). */
void probe_count_files(struct probe *p, u64 cgroup, u32 n);
/* Unmaps the shards if they were not needed for a second; they are mapped again on demand. To be called by the thread
 * that loads tables.
 */
void probe_tables_rest(struct probe *p);
/* Return the words and rules that the kernel side reads, for unwinding in user space. */
const u32 *probe_shard_words(struct probe *p, u32 *limit);
const struct xp_rule *probe_rule_array(const struct probe *p);
