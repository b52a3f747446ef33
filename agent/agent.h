/* The pipeline from samples to profiles: wires the rooms to each other. The main thread is the collector: it drains the
 * ring, aggregates, opens files that were announced, and never blocks on them. The worker builds tables, unwinds late
 * stacks, and names what was counted.
 *
 *   agent_new -> agent_prepare (tables of what runs) -> agent_start -> agent_poll, often -> agent_stop -> agent_profile
 *
 * With a sink it goes on for ever: agent_rotate ends an interval, whose profile the worker hands to the sink.
 */
#pragma once
#include "debug_places.h"
#include "debuginfod.h"
#include "files.h"
#include "line_indexes.h"
#include "probe/probe.h"
#include "profile/profile.h"

struct agent;

/* Where the profiles of intervals go. */
struct agent_sink {
    void *ctx;
    void (*profile)(void *ctx, const struct profile *p);            /* on the worker's thread */
    void (*cgroup)(void *ctx, const struct xp_cgroup_event *event); /* on the collector's */
};

struct agent_config {
    struct agent_sink sink; /* .profile NULL: one recording, to be named by agent_profile */
    struct probe_config probe;
    const struct event_kind *events[XP_MAX_EVENTS]; /* what probe.events came from, in the same order */
    const char *cache_dir;                          /* NULL: no cache of tables on disk */
    size_t cache_bytes;
    struct debug_sources debug; /* but for cache_dir and patient */
    bool short_names;           /* without argument lists */
    size_t aggregate_bytes;     /* budget of distinct stacks */
    bool raw;                   /* frames of files stay without names */
    bool no_synth;              /* no rows for code without unwind information */
    unsigned prepare_ms;        /* how long agent_prepare may take; the rest is built while sampling */
};

/* 0, or -errno and a line in why[]. The parser process is started here, before any thread. */
int agent_new(struct agent **out, const struct agent_config *config, char *why, size_t why_len);
void agent_free(struct agent **a);
int agent_prepare(struct agent *a);
int agent_start(struct agent *a, char *why, size_t why_len);
int agent_add_pid(struct agent *a, u32 tgid);
/* Drains the ring, waiting at most timeout_ms. */
void agent_poll(struct agent *a, int timeout_ms);
/* The interval ends: what was counted goes to the worker. 0; -ENOMEM: it goes on. */
int agent_rotate(struct agent *a);
/* Cgroups to be sampled from now on, or no more; from any thread (probe_want). */
int agent_want(struct agent *a, u64 cgroup, u32 want);
void agent_unwant(struct agent *a, u64 cgroup);
/* Samples a second and CPU of every event that is a clock; from any thread, in effect within a second. */
void agent_set_rate(struct agent *a, unsigned hz);
/* Percent of that rate that is really taken. */
void agent_set_share(struct agent *a, unsigned percent);
/* In effect now. */
unsigned agent_rate(const struct agent *a);
/* No more samples; waits for the worker, so that every late stack has had its chance. */
void agent_stop(struct agent *a);
/* Names everything. After agent_stop, and without a sink. Fills an empty profile but for its comments. 0 or -ENOMEM. */
int agent_profile(struct agent *a, struct profile *out);

/* What a recording cost and lost: nothing is lost silently. */
struct agent_report {
    u64 samples; /* taken, lost ones included */
    u64 not_wanted, thinned;
    u64 lost[XP_LOSS_COUNT];
    u64 lost_aggregate; /* the budget of distinct stacks was full */
    u64 lost_malformed;
    u64 queue_full;             /* announcements of files that were put off: too many at once */
    u64 user_samples, complete; /* samples that had a user stack; those that reached its end */
    u64 cause[XP_CAUSE_COUNT];
    char blame[XP_CAUSE_COUNT][64];  /* per cause: the file where most of its stacks stopped */
    u64 late;                        /* stacks completed in user space */
    u64 bpf_ns, bpf_runs;            /* of the sampling programs */
    u64 unwind_ns, unwind_median_ns; /* of user stacks; when measured */
    double start_seconds;            /* from agent_new to the first possible sample */
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
void agent_report(struct agent *a, struct agent_report *out);
/* The same while it runs, from any thread; without what only the end can tell (blame, median). */
void agent_vitals(struct agent *a, struct agent_report *out);
/* CPU time so far: of this process, of the parser, and what user stacks cost in the kernel (when measured). */
double agent_cpu_seconds(const struct agent *a);
/* Samples so far, lost so far, complete so far: for a progress line. */
void agent_progress(struct agent *a, u64 *samples, u64 *lost, u64 *user, u64 *complete);

const char *loss_slug(enum xp_loss l);
