/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Unwinds across Go's stack switches. Goroutines run on their own small stacks; the scheduler, stack growth and C code
 * run on the stack of the thread (g0). If a runtime function switched from one to the other, no rule of the form
 * "register + offset" leads back. The position of the goroutine is saved in its `g`, which is found like the runtime
 * finds it: from the thread's TLS to g, its m (the thread), the current goroutine of m, and the registers saved there
 * by the switch. All of this is memory of the process, so it is not trusted.
 */
#pragma once

#define XP_MAX_HOPS 128 /* per stack: C and Go may call each other alternately, but not endlessly */

/* Returns the offset of the thread's g from the TLS base. */
XP_INLINE int xp_go_offset(struct xp_state *s, struct xp_rule r, s64 *out)
{
    *out = r.cfa_off;
    if (!(XP_RULE_RBP(r.kind) & XP_GO_SLOT))
        return 0;
    return xp_read_user(out, 8, s->cur.bias + (s64)r.cfa_off);
}

/* Finds the goroutine that the thread runs; 0: none, it is in the scheduler. */
XP_INLINE int xp_go_current(struct xp_state *s, struct xp_rule r, u64 *out)
{
    u64 g, m;
    s64 off;
    return xp_go_offset(s, r, &off) || xp_read_user(&g, 8, xp_tls_base(s) + off) || !g ||
           xp_read_user(&m, 8, g + XP_GO_G_M) || !m || xp_read_user(out, 8, m + (u16)r.rbp_off);
}

/* Continues where the goroutine left its stack. A separate function, because it is rare and so is verified once. */
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

/* asmcgocall of Go up to 1.20 stores on the stack that it switched to: its g at lo16(cfa_off) from rsp, and at hi16 the
 * depth of the goroutine's stack. Without a g it did not switch stacks, and stores the old rsp there. Returns 0 if it
 * cannot be read. */
XP_INLINE u64 xp_go_call_cfa(struct xp_state *s, struct xp_rule r)
{
    u64 g, depth, high = 0;
    if (s->hops++ >= XP_MAX_HOPS || xp_read_stack(&g, 8, s->sp + (s16)r.cfa_off) ||
        xp_read_stack(&depth, 8, s->sp + (r.cfa_off >> 16)))
        return 0;
    if (g && xp_read_user(&high, 8, g + 8)) /* g.stack.hi */
        return 0;
    return (g ? high - depth : depth) + 8;
}
