/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Notes a frame, and ends an unwind step: with the caller as the current frame, or with a cause. The functions that end
 * a step return its result.
 */
#pragma once

/* Appends the current frame as the next word. */
XP_INLINE void xp_note_frame(struct xp_state *s)
{
    u32 at = s->sample.nkernel + s->sample.nuser;
    u64 word = XP_WORD_ADDR(s->ip);
    if (s->cur.file.id)
        word = XP_FILE_WORD(s->found_by, s->cur.file.id, (s->ip - s->cur.bias) & ((1ull << XP_OFFSET_BITS) - 1));
    if (s->leaf)
        word |= XP_WORD_EXACT;
    if (at < XP_MAX_KERNEL + XP_MAX_USER) {
        s->words[at] = word;
        s->sample.nuser++;
    }
    s->callee = s->leaf ? 0 : s->ip;
    s->depth = s->leaf ? 1 : s->depth + 1;
}

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
