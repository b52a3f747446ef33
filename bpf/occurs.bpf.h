/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Something happens that a probe is about: counts it for the running thread, if it is to count. Include
 * bpf/conditions.bpf.h first.
 */
#pragma once

/* `ctx`: that of the program, if kernel frames are part of the stack. */
XP_INLINE void xp_count_record(void *ctx, void *record)
{
    struct xp_state *s = xp_begin_level();
    if (!s)
        return;
    xp_tp_amounts(record, s);
    xp_count_here(ctx, s, 0);
    xp_end_level();
}

#if defined(XP_SLOTTED) || defined(XP_PLAIN)
#define XP_KERNEL_CONTEXT(ctx) ((void *)0) /* at a place in a file, there are none */
#else
#define XP_KERNEL_CONTEXT(ctx) (ctx)
#endif

/* The context is the record, too. */
XP_INLINE void xp_occurs(u64 *ctx)
{
    if (xp_is_wanted() && xp_tp_counts(ctx))
        xp_count_record(XP_KERNEL_CONTEXT(ctx), ctx);
}
