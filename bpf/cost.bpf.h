/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Programs that count what they cost (bpf/cost.h). Include bpf/kind.bpf.h first.
 */
#pragma once
#include "bpf/cost.h"

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_cost);
} probe_cost SEC(".maps");

/* Counts a hit. Returns when it began, if it is to be timed; otherwise 0. */
XP_INLINE u64 xp_cost_begin(void)
{
    u32 zero = 0;
    struct xp_cost *c = bpf_map_lookup_elem(&probe_cost, &zero);
    if (!c)
        return 0;
    u64 hits = c->hits;
    c->hits = hits + 1; /* whoever is preempted here loses a few */
    return hits % XP_COST_TIMED ? 0 : bpf_ktime_get_ns();
}

XP_INLINE void xp_cost_end(u64 began)
{
    u32 zero = 0;
    struct xp_cost *c = began ? bpf_map_lookup_elem(&probe_cost, &zero) : 0;
    if (!c)
        return;
    u64 took = bpf_ktime_get_ns() - began;
    c->ns += took < XP_COST_LIMIT ? took : XP_COST_LIMIT;
    c->timed++;
}

/* A program NAME at SECTION that runs BODY(u64 *ctx). */
#define XP_COSTED(section, name, body, result) \
    SEC(section)                               \
    int name(u64 *ctx)                         \
    {                                          \
        u64 began = xp_cost_begin();           \
        body(ctx);                             \
        xp_cost_end(began);                    \
        return result;                         \
    }
#define XP_COSTED_PROGRAM(section, name, body) XP_COSTED(section, name, body, 0)
/* At a tracepoint that perf has: with 0, all other events of perf there would not see the occurrence (trace_call_bpf).
 */
#define XP_COSTED_TRACEPOINT(name, body) XP_COSTED("tracepoint", name, body, 1)
