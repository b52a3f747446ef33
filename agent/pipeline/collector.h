/* The collector drains the ring, counts samples, and passes all lengthy work to the worker. It never blocks. The
 * polling thread owns it, except for functions whose comments say otherwise.
 */
#pragma once
#include "pipeline/figures.h"
#include "pipeline/jobs.h"
#include "pipeline/openings.h"
#include "probe/probe.h"

struct collector;
struct heaps;
struct leak;

struct collector_config {
    struct probe *probe; /* borrowed, like the jobs and openings */
    struct jobs *jobs;
    struct openings *openings;
    unsigned hz;                /* samples per second per CPU of events that are clocks, until collector_set_rate */
    size_t nevents;             /* of the probe */
    u8 widths[XP_MAX_EVENTS];   /* the number of values of each */
    u32 levels, open_levels;    /* bits of those with PROBE_LEVELS_HELD or _LENT, and with PROBE_LEVELS_OPEN */
    u32 lent_levels;            /* bits of those with PROBE_LEVELS_LENT */
    u32 timed;                  /* of those of which each sample is kept for itself */
    struct heaps *const *heaps; /* by event; NULL: nothing in files is followed for it */
    size_t aggregate_bytes;     /* budget of distinct stacks */
    bool neighbours;            /* aggregate_share */
    bool generators;            /* collector_prepare has processes read that run generated code: all are wanted */
    void *ctx;
    void (*cgroup)(void *ctx, const struct xp_cgroup_event *event); /* NULL: no cgroup events */
};

/* 0 or -ENOMEM. */
int collector_new(struct collector **out, const struct collector_config *config);
void collector_free(struct collector **c);

/* Before sampling: lists all executable mappings, those of the busiest processes first, and calls `build` for each of
 * their files until deadline_ns; the rest is passed to the worker. `build` takes ownership of the job. Returns 0 or
 * -errno. */
int collector_prepare(struct collector *c, void (*build)(void *ctx, struct job *j), void *ctx, u64 deadline_ns);
/* Marks the start of sampling. */
void collector_begin(struct collector *c);
/* Drains the ring, waiting at most timeout_ms. */
void collector_poll(struct collector *c, int timeout_ms);
/* After probe_stop: drains the remaining records and announcements. `wait`: the worker runs and takes the jobs. */
void collector_drain(struct collector *c, bool wait);

/* Takes the stacks that the worker has unwound; once more when it has ended. */
void collector_take_returned(struct collector *c);
/* Adds what stacks of an event leak, as their third value. */
void collector_add_leaks(struct collector *c, size_t event, const struct leak *leaks, size_t n);

/* Returns what was counted since the last span and starts the next one. If `stacks` is NULL, memory ran out and nothing
 * has changed. */
struct span collector_take_span(struct collector *c);
/* Passes the span to the worker and starts the next one. Returns 0; -ENOMEM: the interval continues. */
int collector_rotate(struct collector *c);
/* Returns the stacks counted so far; borrowed. */
struct aggregate *collector_stacks(struct collector *c);

/* Sets the rate, in samples per second per CPU. It takes effect within a second. Any thread may call it. */
void collector_set_rate(struct collector *c, unsigned hz);
/* Returns the rate in effect. Any thread may call it. */
unsigned collector_rate(const struct collector *c);

/* From any thread. */
void collector_figures(const struct collector *c, struct collector_figures *out);
/* Returns the median time of unwinding a user stack, in ns; 0: not measured. Sorts the recorded times. */
u64 collector_median_unwind(struct collector *c);
