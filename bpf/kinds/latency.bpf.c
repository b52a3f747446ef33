/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `latency`: how long system calls take, from the tracepoint at their beginning to that at their end. Stacks are
 * taken when a call ends: user stacks are the same then, and only of calls that count. A call that does not return is
 * none: its thread ends, and what is known of it goes. After execve, the stack is that of the new program.
 */
#include "bpf/kind.bpf.h"
#include "bpf/tracepoint.h"

const volatile struct xp_tp xp_tp = {};
#include "bpf/conditions.bpf.h"
#include "bpf/timed.bpf.h"
#include "bpf/cost.bpf.h"

/* A thread is in one system call at a time, and execve may change its number. */
XP_TIMED_BY_THREAD(16384, struct xp_timed)

XP_INLINE void xp_call_ends(u64 *ctx)
{
    u64 now = bpf_ktime_get_ns(), task = bpf_get_current_task();
    struct xp_timed *found = bpf_map_lookup_elem(&timed_calls, &task);
    if (!found)
        return;
    struct xp_timed c = *found;
    u64 elapsed = now - c.began;
    bpf_map_delete_elem(&timed_calls, &task);
    struct xp_state *s = xp_timed_counts(ctx, &c, elapsed) ? xp_begin_level() : 0;
    if (!s)
        return;
    xp_timed_amounts(s, elapsed);
    xp_count_here(0, s, 0);
    xp_end_level();
}

XP_COSTED_TRACEPOINT(xp_after_call, xp_call_ends)

XP_INLINE void xp_call_begins(u64 *ctx)
{
    struct xp_timed c = {};
    u64 task = bpf_get_current_task();
    if (xp_is_wanted() && xp_timed_begins(ctx, &c) && bpf_map_update_elem(&timed_calls, &task, &c, BPF_ANY))
        xp_lose(XP_LOSS_CALL);
}

XP_COSTED_TRACEPOINT(xp_on_call, xp_call_begins)
