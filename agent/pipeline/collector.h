/* The collector: drains the ring, counts samples as they come, and hands to the worker whatever takes time. It never
 * blocks. One thread owns it: the one that polls; collector_set_rate and collector_figures are for any thread.
 */
#pragma once
#include "pipeline/figures.h"
#include "pipeline/jobs.h"
#include "probe/probe.h"

struct collector;

struct collector_config {
    struct probe *probe; /* borrowed, and so are the jobs */
    struct jobs *jobs;
    unsigned hz;            /* samples per second per CPU of events that are clocks, until collector_set_rate */
    size_t aggregate_bytes; /* budget of distinct stacks */
    void *ctx;
    void (*cgroup)(void *ctx, const struct xp_cgroup_event *event); /* NULL: none are asked for */
};

/* 0 or -ENOMEM. */
int collector_new(struct collector **out, const struct collector_config *config);
void collector_free(struct collector **c);

/* Before sampling: has all executable mappings listed, the busiest processes first, and calls `build` for each of their
 * files until deadline_ns; the rest is handed to the worker. `build` takes the job. 0 or -errno. */
int collector_prepare(struct collector *c, void (*build)(void *ctx, struct job *j), void *ctx, u64 deadline_ns);
/* Sampling begins now. */
void collector_begin(struct collector *c);
/* Drains the ring, waiting at most timeout_ms. */
void collector_poll(struct collector *c, int timeout_ms);
/* After probe_stop: drains what is left, and what it has announced. `wait`: the worker is there to take it. */
void collector_drain(struct collector *c, bool wait);

/* What was counted since the last span; the next one begins. NULL stacks: no memory, and nothing has changed. */
struct span collector_take_span(struct collector *c);
/* The same, handed to the worker. 0; -ENOMEM: the interval goes on. */
int collector_rotate(struct collector *c);
/* The stacks counted so far; borrowed. */
struct aggregate *collector_stacks(struct collector *c);

/* Another rate, in samples per second per CPU: in effect within a second. From any thread. */
void collector_set_rate(struct collector *c, unsigned hz);
/* The share of that rate that is taken, in percent. */
void collector_set_share(struct collector *c, unsigned percent);
/* The rate in effect. */
unsigned collector_rate(const struct collector *c);

/* From any thread. */
void collector_figures(const struct collector *c, struct collector_figures *out);
/* Median time of unwinding a user stack, ns; 0: not measured. Sorts what was noted. */
u64 collector_median_unwind(struct collector *c);
