/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Unwinds across Go's stack switches. Goroutines run on small stacks of their own; the scheduler, the growing of stacks
 * and C code run on the thread's (g0's). Where a function of the runtime moved from one to the other, no rule of the
 * form "register + offset" leads back: the goroutine's place is in its `g`, which is found from the thread's TLS as the
 * runtime finds it: g, its m (the thread), the m's current goroutine, and there what the switch had saved. All of this
 * is memory of the process: it may hold anything.
 */
#pragma once

#define XP_MAX_HOPS 128 /* in one stack: C and Go may call each other in turns, but not for ever */

/* The offset from the TLS base at which the thread's g is. */
XP_INLINE int xp_go_offset(struct xp_state *s, struct xp_rule r, s64 *out)
{
    *out = r.cfa_off;
    if (!(XP_RULE_RBP(r.kind) & XP_GO_SLOT))
        return 0;
    return xp_read_user(out, 8, s->cur.bias + (s64)r.cfa_off);
}

/* The goroutine for which the thread works; 0: for none, it schedules. */
XP_INLINE int xp_go_current(struct xp_state *s, struct xp_rule r, u64 *out)
{
    u64 g, m;
    s64 off;
    return xp_go_offset(s, r, &off) || xp_read_user(&g, 8, xp_tls_base(s) + off) || !g ||
           xp_read_user(&m, 8, g + XP_GO_G_M) || !m || xp_read_user(out, 8, m + (u16)r.rbp_off);
}

/* Continues where the goroutine left its stack. A function of its own: rare, and verified once. */
XP_NOINLINE int xp_go_resume(u64 word)
{
    struct xp_state *s = xp_state_get();
    struct xp_rule r = xp_as_rule(word);
    u32 pop = XP_RULE_RBP(r.kind) & XP_GO_POP;
    u64 g, at[2], bp; /* at: {sched.sp, sched.pc} */
    if (!s)
        return 1;
    if (s->hops++ >= XP_MAX_HOPS)
        return xp_stop(s, XP_CAUSE_STUCK);
    if (xp_go_current(s, r, &g))
        return xp_stop(s, XP_CAUSE_GO_SWITCH);
    if (!g)
        return xp_stop(s, XP_CAUSE_END);
    if (xp_read_user(at, 16, g + XP_GO_SCHED_SP) || xp_read_user(&bp, 8, g + r.rbx) ||
        (pop && xp_read_user(&at[1], 8, at[0])) || at[1] < 4096)
        return xp_stop(s, XP_CAUSE_GO_SWITCH);
    xp_arrive(s, at[1], at[0] + (pop ? 8 : 0), bp, XP_WORD_CFI);
    if (!pop)
        s->leaf = XP_LEAF_EXACT;
    return 0;
}

/* asmcgocall of Go up to 1.20 keeps on the stack that it switched to: its g at lo16(cfa_off) from rsp, and at hi16 how
 * deep the goroutine's stack was; without a g it stayed on the stack, and there is the old rsp. 0: cannot be read. */
XP_INLINE u64 xp_go_call_cfa(struct xp_state *s, struct xp_rule r)
{
    u64 g, depth, high = 0;
    if (s->hops++ >= XP_MAX_HOPS || xp_read_user(&g, 8, s->sp + (s16)r.cfa_off) ||
        xp_read_user(&depth, 8, s->sp + (r.cfa_off >> 16)))
        return 0;
    if (g && xp_read_user(&high, 8, g + 8)) /* g.stack.hi */
        return 0;
    return (g ? high - depth : depth) + 8;
}
