/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Ends an unwind step: with the caller as the current frame, or with a cause. Functions of steps return their result.
 */
#pragma once
#include "bpf/met.bpf.h"

/* Results of a step other than 0 and 1: */
#define XP_LOOP 2 /* it was that of an interpreter's loop */
#define XP_BARE 3 /* it was that of code that has no rows, but frame pointers */
#define XP_LOST 4 /* it is that of generated code, and could not be unwound */
#define XP_NET  5 /* it was that of code that .NET compiled */

/* Has a frame of a runtime as words `at` and `at` + 1. Returns 0; 1: there is no room. */
XP_INLINE int xp_put_frame(struct xp_state *s, u64 at, u64 word, u64 more)
{
    asm volatile("" : "+r"(at)); /* clang would test something else than what it uses, which 6.1 does not follow */
    if (at >= XP_MAX_KERNEL + XP_MAX_USER - 1)
        return 1;
    u64 *to = s->words + at;
    to[0] = word;
    to[1] = more;
    return 0;
}

/* Stacks of functions that have returned: first the function, then where it returned to. */
#ifdef XP_AFTER_CALLS
#define XP_HAS_RETURNED(s) (!(s)->sample.nuser)
#define XP_BEGIN_AT(s)     ((s)->ip = (s)->returned)
#else
#define XP_HAS_RETURNED(s) 0
#define XP_BEGIN_AT(s)     (void)(s)
#endif

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

/* Steps from a caller that does nothing more than to return: trampolines need no frame pointer (CPython's
 * Python/asm_trampoline.S). Returns 1: it is none, or the stack could not be read. */
XP_INLINE int xp_step_trampoline(struct xp_state *s)
{
    u64 ra, left = s->leaf ? ~0ull : xp_frame_left(s);
    if (left == ~0ull || xp_load(s, s->sp + left, &ra))
        return 1;
    return xp_arrive(s, ra, s->sp + left + 8, s->bp, XP_WORD_SYNTH);
}

/* Steps by frame pointer in code without unwind information. In anonymous code, the chain must stay on one stack; code
 * of a file (Go) may hop between stacks. rbp == 0 ends a stack, but proves nothing in anonymous code or in a leaf,
 * because the compiler may use rbp as a general register. */
XP_INLINE int xp_step_fp(struct xp_state *s)
{
    u32 in_file = s->cur.file.id != 0;
    u64 bp = s->bp, caller_bp, ra;
    if (!bp && in_file)
        return xp_stop(s, s->leaf ? XP_CAUSE_FP_BROKEN : XP_CAUSE_END_FP);
    if (!bp)
        return xp_stop(s, XP_CAUSE_FP_ANON_END);
    if ((bp & 7) || bp < 4096 || (!in_file && bp < s->sp))
        return xp_stop(s, in_file ? XP_CAUSE_FP_BROKEN : XP_CAUSE_FP_ANON);
    if (xp_load(s, bp, &caller_bp) || xp_load(s, bp + 8, &ra))
        return xp_stop(s, in_file ? XP_CAUSE_FP_BROKEN : XP_CAUSE_FP_ANON);
    if (!ra)
        return xp_stop(s, in_file ? XP_CAUSE_END_FP : XP_CAUSE_FP_ANON_END);
    s->fp_frames++;
    return xp_arrive(s, ra, bp + 16, caller_bp, XP_WORD_FP);
}
