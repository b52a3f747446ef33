/* Turns samples into profiles. Two threads share the work and communicate through a queue of jobs only:
 *
 *   collector  drains the ring, counts stacks, opens files that were announced, never blocks    the caller's thread
 *   worker     builds tables, unwinds deferred stacks, names what was counted in an interval    a thread of its own
 *
 *   pipeline_new -> pipeline_prepare (tables of what runs) -> pipeline_start -> pipeline_poll, often -> pipeline_stop
 *   -> pipeline_profile
 *
 * With a sink it goes on for ever: pipeline_rotate ends an interval, whose profile the worker hands to the sink.
 * Functions belong to the thread that polls, unless they say otherwise.
 */
#pragma once
#include "debug/search_paths.h"
#include "pipeline/figures.h"
#include "probe/probe.h"
#include "profile/profile.h"

struct pipeline;

/* Where the profiles of intervals go. */
struct pipeline_sink {
    void *ctx;
    void (*profile)(void *ctx, const struct profile *p);            /* on the worker's thread */
    void (*cgroup)(void *ctx, const struct xp_cgroup_event *event); /* on the collector's */
};

struct pipeline_config {
    struct pipeline_sink sink; /* .profile NULL: one recording, to be named by pipeline_profile */
    struct probe_config probe;
    const struct event_kind *events[XP_MAX_EVENTS]; /* what probe.events came from, in the same order */
    const char *cache_dir;                          /* NULL: no cache of tables on disk */
    size_t cache_bytes;
    struct debug_sources debug; /* but for cache_dir and patient */
    bool short_names;           /* without argument lists */
    size_t aggregate_bytes;     /* budget of distinct stacks */
    bool raw;                   /* frames of files stay without names */
    bool no_synth;              /* no rows for code without unwind information */
    bool neighbours;            /* cgroups that must not harm each other: each gets its share of what is bounded */
    unsigned prepare_ms;        /* how long pipeline_prepare may take; the rest is built while sampling */
};

/* 0, or -errno and a line in why[]. The parser process is started here, before any thread. */
int pipeline_new(struct pipeline **out, const struct pipeline_config *config, char *why, size_t why_len);
void pipeline_free(struct pipeline **p);
int pipeline_prepare(struct pipeline *p);
int pipeline_start(struct pipeline *p, char *why, size_t why_len);
int pipeline_add_pid(struct pipeline *p, u32 tgid);
/* Drains the ring, waiting at most timeout_ms. */
void pipeline_poll(struct pipeline *p, int timeout_ms);
/* The interval ends: what was counted goes to the worker. 0; -ENOMEM: it goes on. */
int pipeline_rotate(struct pipeline *p);
/* Cgroups to be sampled from now on, or no more; from any thread (probe_want). */
int pipeline_want(struct pipeline *p, u64 cgroup, u32 want);
void pipeline_unwant(struct pipeline *p, u64 cgroup);
/* Samples a second and CPU of every event that is a clock; from any thread, in effect within a second. */
void pipeline_set_rate(struct pipeline *p, unsigned hz);
/* Percent of that rate that is really taken. */
void pipeline_set_share(struct pipeline *p, unsigned percent);
/* In effect now. */
unsigned pipeline_rate(const struct pipeline *p);
/* No more samples; waits for the worker, so that every deferred stack has had its chance. */
void pipeline_stop(struct pipeline *p);
/* Names everything. After pipeline_stop, and without a sink. Fills an empty profile but for its comments. 0 or -ENOMEM.
 */
int pipeline_profile(struct pipeline *p, struct profile *out);

/* What a recording cost and lost: nothing is lost silently. */
struct pipeline_report {
    u64 samples; /* taken, lost ones included */
    u64 not_wanted, thinned;
    u64 lost[XP_LOSS_COUNT];
    u64 lost_aggregate; /* the budget of distinct stacks was full */
    u64 lost_malformed;
    u64 queue_full;             /* announcements of files that were put off: too many at once */
    u64 user_samples, complete; /* samples that had a user stack; those that reached its end */
    u64 cause[XP_CAUSE_COUNT];
    char blame[XP_CAUSE_COUNT][64];  /* per cause: the file where most of its stacks stopped */
    u64 deferred;                    /* stacks completed in user space */
    u64 bpf_ns, bpf_runs;            /* of the sampling programs */
    u64 unwind_ns, unwind_median_ns; /* of user stacks; when measured */
    double start_seconds;            /* from pipeline_new to the first possible sample */
    double cpu_seconds;              /* own, the parser process included */
    double parser_cpu_seconds;
    u64 rss_bytes, map_bytes; /* when sampling ended */
    size_t files, failed_files, evicted_files;
    u64 rows, synth_rows;
    u64 synth[FILES_SYNTH_COUNT]; /* files in whose code stacks stopped, by what became of them */
    unsigned parser_restarts;
    struct line_indexes_stats lines;
    struct debuginfod_stats server;
    u64 cut_names; /* times that names lacked something because a limit was hit */
};
void pipeline_report(struct pipeline *p, struct pipeline_report *out);
/* The same while it runs, from any thread; without what only the end can tell (blame, median). */
void pipeline_figures(struct pipeline *p, struct pipeline_report *out);
/* CPU time so far: of this process, of the parser, and what user stacks cost in the kernel (when measured). */
double pipeline_cpu_seconds(const struct pipeline *p);
/* Samples so far, lost so far, complete so far: for a progress line. */
void pipeline_progress(struct pipeline *p, u64 *samples, u64 *lost, u64 *user, u64 *complete);

const char *loss_slug(enum xp_loss l);
