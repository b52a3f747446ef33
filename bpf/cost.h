/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * What the programs of a probe cost, as they count it themselves: the kernel's own statistics would double what a small
 * program costs, and those of all others with it. Include bpf/types.h first.
 */
#pragma once

#define XP_COST_TIMED 15              /* one hit of so many is timed: odd, because beginnings and ends alternate */
#define XP_COST_LIMIT (250ull * 1000) /* ns: who takes longer was preempted */

struct xp_cost { /* of a CPU */
    u64 hits;
    u64 timed, ns; /* hits that were, and what they took */
};

/* When the programs of a kind were attached that rest now and then: map `attached_turns`, if it has one. */
struct xp_turns {
    u64 number;   /* how often; 0: never */
    u64 began_ns; /* the first time: CLOCK_MONOTONIC */
};
