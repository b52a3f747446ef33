/* Keeps the agent's CPU time below its limit. Above the limit it lowers the sampling rate; after some time below the
 * limit it raises the rate again. Pure: the caller measures CPU time and applies the rate.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>

struct governor {
    unsigned max_percent; /* limit, in percent of one CPU */
    unsigned share;       /* percentage of the wanted rate */
    unsigned told;        /* share in effect */
    unsigned throttled;   /* how often the rate was lowered */
    u64 looked_ns;
    double cpu_seconds; /* at the last measurement */
    unsigned calm;      /* consecutive measurements far below the limit */
};

#define GOVERNOR_CPUS 8
/* Returns the limit for a node, in percent of one CPU: `percent` up to GOVERNOR_CPUS CPUs, beyond that as much for each
 * GOVERNOR_CPUS of them, because more CPUs take more samples. */
unsigned governor_limit(unsigned percent, long cpus);
void governor_init(struct governor *g, unsigned max_percent);
/* Tells whether governor_look would evaluate CPU time now, for callers to whom measuring is expensive. */
bool governor_due(const struct governor *g, u64 now_ns);
/* Evaluates the total CPU time used so far; call it regularly. Returns the share of the rate to use from now on. It
 * changes at most every ten seconds, and each change is logged. */
unsigned governor_look(struct governor *g, double cpu_seconds, u64 now_ns);
