/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `kprobe`: a place in the kernel's code, or the returns of one of its functions. User space attaches the program
 * to it (agent/probe/kind_perf.c); its context are the registers there, where the stack begins, too.
 */
#define XP_OWN_FRAMES 0
#include "bpf/kind.bpf.h"
#include "bpf/tracepoint.h"

const volatile struct xp_tp xp_tp = {};
#include "bpf/conditions.bpf.h"
#include "bpf/cost.bpf.h"

XP_INLINE void xp_kprobe(u64 *ctx)
{
    struct xp_state *s = xp_is_wanted() && xp_tp_counts(ctx) ? xp_begin_level() : 0;
    if (!s)
        return;
    xp_tp_amounts(ctx, s);
    xp_count_here(ctx, s, 0);
    xp_end_level();
}

XP_COSTED_PROGRAM("kprobe", xp_on_kprobe, xp_kprobe)
