/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Ends an unwind step: with the caller as the current frame, or with a cause. Both functions return the result of the
 * step.
 */
#pragma once

XP_INLINE int xp_stop(struct xp_state *s, u32 cause)
{
    s->cause = cause;
    return 1;
}

/* `ip` is a return address. */
XP_INLINE int xp_arrive(struct xp_state *s, u64 ip, u64 sp, u64 bp, u32 found_by)
{
    s->ip = ip;
    s->sp = sp;
    s->bp = bp;
    s->leaf = XP_LEAF_NO;
    s->found_by = found_by;
    return 0;
}
