/* Turns samples into profiles. Two threads share the work and communicate through a queue of jobs only:
 *
 *   collector  drains the ring, counts stacks, opens announced files, never blocks    the caller's thread
 *   worker     builds tables, unwinds deferred stacks, symbolizes intervals           its own thread
 *
 *   pipeline_new -> pipeline_prepare (tables of running programs) -> pipeline_start -> pipeline_poll, often
 *   -> pipeline_stop -> pipeline_profile
 *
 * With a sink, it runs continuously: pipeline_rotate ends an interval, and the worker passes its profile to the sink.
 * Functions belong to the polling thread unless their comment says otherwise.
 */
#pragma once
#include "debug/search_paths.h"
#include "pipeline/figures.h"
#include "probe/probe.h"
#include "profile/profile.h"

struct pipeline;

/* Receives the profiles of intervals. */
struct pipeline_sink {
    void *ctx;
    void (*profile)(void *ctx, const struct profile *p);            /* called by the worker's thread */
    void (*cgroup)(void *ctx, const struct xp_cgroup_event *event); /* called by the collector's thread */
};

struct pipeline_config {
    struct pipeline_sink sink; /* .profile NULL: a single recording, symbolized by pipeline_profile */
    struct probe_config probe;
    const struct event_kind *events[XP_MAX_EVENTS]; /* the kinds of probe.events, in the same order */
    const char *cache_dir;                          /* NULL: no cache of tables on disk */
    size_t cache_bytes;                             /* of all below cache_dir, downloads of debug files included */
    struct debug_sources debug;                     /* except cache_dir, max_bytes and patient */
    bool short_names;                               /* functions without argument lists */
    size_t aggregate_bytes;                         /* memory budget of distinct stacks */
    bool times;                                     /* keep each sample of clocks for itself, with its time */
    bool raw;                                       /* do not symbolize frames of files */
    bool hide_idle;                                 /* leave out blocked time of idle threads */
    bool no_synth;                                  /* do not derive rows for code without unwind information */
    bool neighbours;     /* cgroups must not harm each other: each gets a share of limited resources */
    unsigned heap_cost;  /* limit of what following a process's allocations costs it, in percent of its CPU; 0: none */
    u64 heap_old_ns;     /* memory: only what leaks is shown, of blocks that are older than that; 0: everything */
    unsigned prepare_ms; /* time limit of pipeline_prepare; further tables are built while sampling */
};

/* Returns 0, or -errno and a line in why[]. Starts the parser process, before any thread. */
int pipeline_new(struct pipeline **out, const struct pipeline_config *config, char *why, size_t why_len);
void pipeline_free(struct pipeline **p);
int pipeline_prepare(struct pipeline *p);
int pipeline_start(struct pipeline *p, char *why, size_t why_len);
int pipeline_add_pid(struct pipeline *p, u32 tgid);
/* Drains the ring, waiting at most timeout_ms. */
void pipeline_poll(struct pipeline *p, int timeout_ms);
/* Ends the interval and passes its samples to the worker. Returns 0; -ENOMEM: the interval continues. */
int pipeline_rotate(struct pipeline *p);
/* Start or stop sampling a cgroup (probe_want). Any thread may call them. */
int pipeline_want(struct pipeline *p, u64 cgroup, u64 want);
void pipeline_unwant(struct pipeline *p, u64 cgroup);
int pipeline_set_parts(struct pipeline *p, u32 row, const struct xp_parts *parts); /* probe_set_parts */
/* Sets the rate of all events that are clocks, in samples per second per CPU. Takes effect within a second. Any thread
 * may call it. */
void pipeline_set_rate(struct pipeline *p, unsigned hz);
/* Returns the rate in effect. Any thread may call it. */
unsigned pipeline_rate(const struct pipeline *p);
/* Ends sampling and waits for the worker, so that every deferred stack is processed. */
void pipeline_stop(struct pipeline *p);
/* Symbolizes everything into a profile that is empty except for comments. Call it after pipeline_stop, without a sink.
 * Returns 0 or -ENOMEM.
 */
int pipeline_profile(struct pipeline *p, struct profile *out);

/* The costs and losses of a recording. Every lost or truncated sample is counted, with its cause. */
struct pipeline_report {
    u64 samples; /* including lost ones */
    u64 not_wanted, thinned;
    u64 lost[XP_LOSS_COUNT];
    u64 lost_aggregate; /* the memory budget of distinct stacks was used up */
    u64 lost_malformed;
    u64 hung_places;            /* file systems that did not answer, and are left alone now */
    u64 hung_children;          /* processes left behind that wait for one */
    u64 queue_full;             /* announcements of files that were postponed: too many at once */
    u64 user_samples, complete; /* samples with a user stack; those whose user stack is complete */
    u64 cause[XP_CAUSE_COUNT];
    char blame[XP_CAUSE_COUNT][64];  /* per cause: the file where most of its stacks stopped */
    u64 deferred;                    /* stacks completed in user space */
    u64 bpf_ns, bpf_runs;            /* run time and runs of the sampling programs */
    u64 unwind_ns, unwind_median_ns; /* of user stacks, if measured */
    double start_seconds;            /* from pipeline_new to the first possible sample */
    double cpu_seconds;              /* of this process and the parser process */
    double parser_cpu_seconds;
    u64 rss_bytes, map_bytes; /* at the end of sampling */
    size_t files, failed_files, evicted_files;
    struct files_held held;
    struct code_tables_stats code;
    struct runtime_figures runtime;
    u64 rows, synth_rows;
    u64 synth[FILES_SYNTH_COUNT]; /* files where stacks stopped in their code, by result */
    unsigned parser_restarts;
    unsigned parser_layers; /* of its sandbox (parser/sandbox.h) */
    struct line_indexes_stats lines;
    struct name_indexes_stats names;
    struct debuginfod_stats server;
    u64 cut_names;              /* look-ups with incomplete names because a limit was reached */
    u64 late_names, late_lines; /* look-ups that were put off because a container had used up its time for names */
    u64 holders_refused;        /* event lock: holders that were not looked for, because there were too many */
    u64 left_out, left_out_ns;  /* event lock: waits that were not for a lock, which are in no profile */
    u64 idle, idle_ns;          /* waits of idle threads that were to be hidden */
    size_t nevents;
    const char *events[XP_MAX_EVENTS]; /* their names */
    u64 event_stacks[XP_MAX_EVENTS][EVENT_STACKS];
    struct probe_cost costs[XP_MAX_EVENTS]; /* of their probes, if they count it */
    bool run_time_known;
    u64 run_ns[PROBE_RUN_TIMES]; /* of the programs of each event (probe_run_times) */
    struct heaps_figures heaps;  /* event memory */
    struct probed_figures {      /* of each event, if it is followed in files of a name */
        bool known;
        u64 processes;        /* in which it is followed, now */
        u64 attached, failed; /* pairs of process and file, with success or without */
        u64 without;          /* files of the name without the function */
    } probed[XP_MAX_EVENTS];
    struct followed_figures { /* all events whose programs are attached to places in files */
        u64 refused;          /* pairs of process and file where the kernel refused that */
        u64 remote;           /* files that are left alone, because their file systems may not answer */
        u64 left_out;         /* places that are not followed, because a file has too many */
    } followed;
};
const char *event_stack_slug(enum event_stack s);
void pipeline_report(struct pipeline *p, struct pipeline_report *out);
/* The same while it runs, from any thread, without the values that are only known at the end (blame, median). */
void pipeline_figures(struct pipeline *p, struct pipeline_report *out);
/* Appends the latency of disks (probe_disks). Any thread may call it. Returns 0 or -ENOMEM. */
int pipeline_disks(struct pipeline *p, probe_disk_list *out, u64 *left_out);
/* Tells whether the worker keeps up. Any thread may call it. */
void pipeline_lag(const struct pipeline *p, struct worker_lag *out);
/* Returns the CPU time so far: of this process, of the parser, and (if measured) of unwinding user stacks in the
 * kernel. */
double pipeline_cpu_seconds(const struct pipeline *p);
/* Returns the numbers of samples, lost samples, user stacks and complete user stacks so far, for a progress line. */
void pipeline_progress(struct pipeline *p, u64 *samples, u64 *lost, u64 *user, u64 *complete);

const char *loss_slug(enum xp_loss l);
