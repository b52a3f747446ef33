/* Decides how much of what a process allocates is watched, so that probes cost it no more than a share of its own CPU
 * time. That share is a credit, which it earns by running, and which hits of probes use up: below nothing, probes are
 * detached; they come back once the credit covers what the last time cost. Pure: the caller counts hits and reads CPU
 * time.
 */
#pragma once
#include "probe/probe.h"
#include <stdbool.h>

enum heap_watch {
    HEAP_ALL,   /* each call */
    HEAP_FREES, /* what is freed only: what is in use stays known */
    HEAP_NOTHING,
};

#define HEAP_PRICES_STATED                           \
    {                                                \
        .calls = 800, .returns = 900, .stacks = 2500 \
    }

struct heap_cost {
    unsigned percent; /* limit; 0: none */
    enum heap_watch watch;
    s64 credit;     /* ns */
    s64 spent;      /* when all was watched last, until probes were detached: ns */
    u64 own, calls; /* since the last decision, if all was watched: CPU time of the process itself in ns, and hits */
    bool turning;   /* probes are being detached */
    u64 cost;       /* since the last decision: ns */
    struct probe_heap_hits seen; /* at the last look */
    u64 cpu_ns, looked_ns;
    u64 rests;
    u64 watched_ns, rested_ns; /* how long allocations were watched, and were not */
};

void heap_cost_init(struct heap_cost *c, unsigned percent, u64 cpu_ns, u64 now_ns);
/* Takes the numbers of hits so far, and what each one costs, in ns. Returns whether heap_cost_decide has something to
 * decide: reading CPU time is expensive. */
bool heap_cost_spend(struct heap_cost *c, const struct probe_heap_hits *prices, const struct probe_heap_hits *hits,
                     u64 now_ns);
/* Takes the CPU time so far, what probes cost included. Returns what is to be watched from now on. */
enum heap_watch heap_cost_decide(struct heap_cost *c, const struct probe_heap_hits *prices, u64 cpu_ns, u64 now_ns);
