/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The unwinder: steps from the current frame to its caller until the stack ends or a named cause stops it.
 *
 * One step finds the mapping of the pc, records the frame, finds the rule, computes the CFA, and loads the caller's
 * registers. For return addresses pc is ip - 1, because a call may be the last instruction of a function; for the leaf
 * and for frames that a signal interrupted, pc is ip itself. This file is also compiled as plain C (bpf/host/), for
 * tests and for stacks that were copied because their file had no table yet.
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

/* Steps from a leaf whose return address is in a register (vfork). */
XP_INLINE int xp_step_ra_reg(struct xp_state *s, struct xp_rule r)
{
    if (s->leaf != XP_LEAF_REGS)
        return xp_stop(s, XP_CAUSE_LEAF_RULE);
    return xp_arrive(s, s->regs.r[r.rbp_off & 15], s->sp + r.cfa_off, s->bp,
                     r.kind & XP_RULE_SYNTH ? XP_WORD_INFERRED : XP_WORD_CFI);
}

/* CFA = any register + offset (stack realignment, OpenSSL). The registers are known in the leaf. The direct caller of
 * the leaf may also have such a rule, if the leaf is a helper that does not change the register. CFI does not tell, so
 * it must be verified: the CFA is above the stack pointer and close to it, and the return address stored there follows
 * a call. */
XP_INLINE u64 xp_cfa_reg(struct xp_state *s, struct xp_rule r)
{
    u64 cfa = s->regs.r[XP_REG_NUMBER(r.cfa_off) & 15] + XP_REG_OFFSET(r.cfa_off), ra;
    if (s->leaf == XP_LEAF_REGS)
        return cfa;
    if (s->depth > 2 || (cfa & 7) || cfa <= s->sp || cfa - s->sp > XP_REG_REACH)
        return 0;
    return xp_load(s, cfa - 8, &ra) || xp_follows_call(s, ra) <= 0 ? 0 : cfa;
}

/* CFA = a word of an array on the stack whose length is in a register. */
XP_INLINE u64 xp_cfa_indexed(struct xp_state *s, struct xp_rule r)
{
    u64 index = s->regs.r[XP_REG_NUMBER(r.cfa_off) & 15], v;
    if (s->leaf != XP_LEAF_REGS || xp_load(s, s->sp + 8 * index + (s16)r.cfa_off, &v))
        return 0;
    return v + (r.cfa_off >> 16 & 0xff);
}

/* The CFA of the rarer rules; 0 = the stack could not be read. */
XP_INLINE u64 xp_rare_cfa(struct xp_state *s, struct xp_rule r)
{
    u32 kind = XP_RULE_CFA(r.kind);
    u64 v;
    if (kind == XP_CFA_REG)
        return xp_cfa_reg(s, r);
    if (kind == XP_CFA_INDEXED)
        return xp_cfa_indexed(s, r);
    if (kind == XP_CFA_PLT)
        return xp_plt_cfa(s, r.cfa_off);
    if (kind == XP_CFA_RBX)
        return s->bx + r.cfa_off;
    if (kind == XP_CFA_RSP || kind == XP_CFA_RSP_EXACT || kind == XP_CFA_RSP_LOOP)
        return s->sp + r.cfa_off;
    if (kind == XP_CFA_RBP || kind == XP_CFA_RBP_HOP || kind == XP_CFA_RBP_LOOP)
        return s->bp + r.cfa_off;
    if (kind == XP_CFA_GO_CALL)
        return xp_go_call_cfa(s, r);
    if (xp_load(s, (kind == XP_CFA_DEREF_RBP ? s->bp : s->sp) + (s16)r.cfa_off, &v))
        return 0;
    return v + (r.cfa_off >> 16) + (kind == XP_CFA_RSP_DEREF ? s->sp : 0);
}

XP_INLINE u32 xp_no_cfa(u32 kind)
{
    return kind == XP_CFA_REG || kind == XP_CFA_INDEXED ? XP_CAUSE_LEAF_RULE
           : kind == XP_CFA_GO_CALL                     ? XP_CAUSE_GO_SWITCH
                                                        : XP_CAUSE_STACK_READ;
}

/* Tells whether the caller's frame may be on another stack. */
XP_INLINE int xp_may_hop(struct xp_rule r)
{
    return XP_RULE_CFA(r.kind) == XP_CFA_RBP_HOP || XP_RULE_CFA(r.kind) == XP_CFA_GO_CALL;
}

/* Loads RBX, RBP and the return address of the caller, lowest address first (stack.bpf.h). */
XP_INLINE int xp_step_cfa(struct xp_state *s, struct xp_rule r, u64 cfa, u32 found_by)
{
    u64 bp = s->bp, ra;
    u32 where = XP_RULE_RBP(r.kind);
    if (cfa <= s->sp && !s->leaf && !xp_may_hop(r))
        return xp_stop(s, XP_CAUSE_STUCK);
    if (r.rbx == XP_RBX_LOST)
        s->bx = 0;
    else if (r.rbx && xp_load(s, cfa - 8ull * r.rbx, &s->bx))
        return xp_stop(s, XP_CAUSE_STACK_READ);
    if (where == XP_RBP_LOST)
        bp = XP_RBP_UNKNOWN;
    else if (where != XP_RBP_SAME && xp_load(s, (where == XP_RBP_CFA ? cfa : bp) + r.rbp_off, &bp))
        return xp_stop(s, XP_CAUSE_STACK_READ);
    if (xp_load(s, cfa - 8, &ra))
        return xp_stop(s, XP_CAUSE_STACK_READ);
    if (!ra) /* the bottom of a stack; not trusted if the row was derived from instructions */
        return xp_stop(s, found_by == XP_WORD_CFI ? XP_CAUSE_END_FP : XP_CAUSE_UNPROVEN);
    return xp_arrive(s, ra, cfa, bp, found_by);
}

/* Converts a synthesised rule with a known CFA to an ordinary one. Returns the kind of word for its caller. */
XP_INLINE u32 xp_take_synth(struct xp_state *s, struct xp_rule *r, u64 cfa)
{
    u32 rbx = r->rbx;
    r->rbx = XP_SYNTH_RBX(rbx) == XP_SYNTH_RBX_LOST ? XP_RBX_LOST : XP_SYNTH_RBX(rbx);
    if (XP_RULE_RBP(r->kind) == XP_RBP_RSP) {
        s64 off = (s64)(s->sp - cfa) + r->rbp_off;
        r->rbp_off = off == (s16)off ? off : 0;
        r->kind = XP_RULE_KIND(XP_RULE_CFA(r->kind), off == (s16)off ? XP_RBP_CFA : XP_RBP_LOST);
    }
    return rbx & XP_RBX_INFERRED ? XP_WORD_INFERRED : XP_WORD_SYNTH;
}

/* Tells whether the current mapping is of a part of the file behind all code of its table, so not of an ELF segment:
 * programs append code in formats of their own to themselves (the core of a Lisp system, bundled images). */
XP_INLINE int xp_is_appended(const struct xp_state *s)
{
    const struct xp_file *f = &s->cur.file;
    u64 end = f->lo + ((u64)f->nblocks << XP_BLOCK_SHIFT);
    return f->state == XP_FILE_READY && f->nblocks && s->cur.start - s->cur.bias >= end;
}

/* No row for pc: a function start (makecontext, clone), a signal trampoline, the outermost frame, or a real gap. */
XP_INLINE int xp_step_gap(struct xp_state *s, u32 kind)
{
    if (!s->cur.file.id && !xp_php_generated(0))
        return 0;
    if (!s->cur.file.id && xp_has_language(s, XP_LANGUAGE_BEAM)) { /* its stack is scanned: beam.bpf.h */
        xp_put_address(0);
        return xp_stop(s, XP_CAUSE_FP_ANON);
    }
    u32 net = (!s->cur.file.id || s->cur.file.flags & XP_FILE_NO_ELF) && xp_dotnet_note(s);
    if (!s->leaf && xp_is_sigreturn(s, s->ip))
        return xp_signal_step(s, s->sp) ? xp_stop(s, XP_CAUSE_STACK_READ) : 0;
    if (s->cur.file.id && s->cur.file.state == XP_FILE_FAILED)
        return xp_stop(s, XP_CAUSE_NO_TABLE);
    if (s->cur.file.id && s->cur.file.state == XP_FILE_HUNG)
        return xp_stop(s, XP_CAUSE_FILE_HUNG);
    if (s->cur.file.id && s->cur.file.state >= XP_FILE_NO_ROOM)
        return xp_stop(s, s->cur.file.state == XP_FILE_NO_ROOM    ? XP_CAUSE_TABLES_FULL
                          : s->cur.file.state == XP_FILE_NO_SHARE ? XP_CAUSE_SHARE_FULL
                                                                  : XP_CAUSE_RULES_FULL);
    if (s->cur.file.id && s->cur.file.state == XP_FILE_PENDING)
        s->pending |= XP_WAITS_TABLE;
    /* rbp is a general register here, but if all frames so far were sound, 0 is the value from process start-up (System
     * V ABI, AMD64 supplement, 3.4.1). */
    u32 start_up = !s->bp && !s->leaf && !s->fp_frames && s->found_by == XP_WORD_CFI;
    u32 by_fp = s->pending || s->cur.file.state == XP_FILE_FP || (s->cur.file.flags & XP_TABLE_FP_OK) || start_up ||
                xp_is_appended(s);
    /* rbp may be anything there; small methods of .NET (no loop, at most one call) leave it as it is */
    u32 anonymous = !s->cur.file.id, tried = (anonymous && s->runtime & XP_PYTHON_MET) || net;
    if (tried && !xp_step_trampoline(s))
        return 0;
    /* Ruby's own compiler (YJIT) keeps no frame pointers, and its frame stands for those of Ruby, as one of the loop
     * does */
    if (anonymous && !tried && xp_has_language(s, XP_LANGUAGE_RUBY)) {
        s->sc.language = XP_LANGUAGE_RUBY;
        return xp_stop(s, XP_CAUSE_FP_ANON);
    }
    int stopped = by_fp ? xp_step_fp(s) : xp_stop(s, kind == XP_CFA_UNPROVEN ? XP_CAUSE_UNPROVEN : XP_CAUSE_NO_RULE);
    if (stopped && anonymous && !tried && !xp_step_trampoline(s))
        return 0;
    if (stopped && (s->cause == XP_CAUSE_NO_RULE || s->cause == XP_CAUSE_FP_BROKEN) &&
        (s->cur.file.flags & XP_FILE_OPEN))
        s->pending |= XP_WAITS_ROWS;
    return stopped;
}

/* The vsyscall page has neither file nor stack frame: the return address is on top of the stack. */
XP_INLINE int xp_step_vsyscall(struct xp_state *s)
{
    u64 ra;
    s->cur.start = s->cur.end = 0;
    s->cur.file.id = 0;
    xp_note_frame(s);
    if (!s->leaf || xp_load(s, s->sp, &ra))
        return xp_stop(s, XP_CAUSE_STACK_READ);
    return xp_arrive(s, ra, s->sp + 8, s->bp, XP_WORD_CFI);
}

XP_INLINE struct xp_rule xp_rule_at(struct xp_state *s, u64 pc)
{
    const u64 mask = (1ull << XP_OFFSET_BITS) - 1;
    return xp_find_rule(s, (pc - s->cur.bias) & mask);
}

/* Handles a pc that is not in code. This is not a failure if the previous frame was not called: makecontext stored its
 * start as a return address, so the stack begins there. */
XP_INLINE int xp_stop_unmapped(struct xp_state *s, int cause)
{
    if (cause == XP_CAUSE_NO_MAPPING && s->callee && s->found_by == XP_WORD_CFI && !s->fp_frames &&
        xp_follows_call(s, s->callee) == 0)
        cause = XP_CAUSE_END;
    return xp_stop(s, cause);
}

/* Steps by all rules except the two that 99 % of all frames have. Out of line, so that it is verified once. */
XP_NOINLINE int xp_step_rare(u64 word)
{
    struct xp_state *s = xp_state_get();
    struct xp_rule r = xp_as_rule(word);
    u32 found_by = XP_WORD_CFI;
    u64 cfa;
    if (!s)
        return 1;
    /* If no row covers ip - 1, look up ip: it may be the start of a function (makecontext, clone). */
    u32 kind = XP_RULE_CFA(r.kind);
    if ((kind == XP_CFA_NONE || kind == XP_CFA_UNPROVEN) && !s->leaf && s->cur.file.state == XP_FILE_READY)
        r = xp_rule_at(s, s->ip);
    kind = XP_RULE_CFA(r.kind);
    if (kind == XP_CFA_NONE || kind == XP_CFA_UNPROVEN)
        return xp_step_gap(s, kind);
    if (kind == XP_CFA_END)
        return xp_stop(s, XP_CAUSE_END);
    if (kind == XP_CFA_SIGNAL)
        return xp_signal_step(s, s->sp + r.cfa_off) ? xp_stop(s, XP_CAUSE_STACK_READ) : 0;
    if (kind == XP_CFA_RA_REG)
        return xp_step_ra_reg(s, r);
    if (kind >= XP_CFA_UNSUPPORTED)
        return xp_stop(s, XP_CAUSE_BAD_RULE);
    if (kind == XP_CFA_GO_G)
        return xp_go_resume(xp_rule_word(r));
    if (kind == XP_CFA_GO_LOST)
        return xp_stop(s, XP_CAUSE_GO_LAYOUT);
    cfa = xp_rare_cfa(s, r);
    if (!cfa)
        return xp_stop(s, xp_no_cfa(kind));
    if (r.kind & XP_RULE_SYNTH)
        found_by = xp_take_synth(s, &r, cfa);
    u32 generated = s->cur.file.flags & XP_FILE_GENERATED;
    int stopped = xp_step_cfa(s, r, cfa, found_by);
    /* Other code may have taken the place of what had rows. Nobody calls generated code without a return address. */
    if (generated && (stopped ? s->cause == XP_CAUSE_END_FP : xp_follows_call(s, s->ip) == 0))
        return xp_stop(s, XP_CAUSE_FP_ANON);
    if (kind == XP_CFA_RSP_EXACT)
        s->leaf = XP_LEAF_EXACT;
    return stopped;
}

/* Whether the current mapping may be that of instructions with probes on them. */
XP_INLINE int xp_is_one_page(const struct xp_state *s)
{
    return !s->cur.file.id && s->cur.end - s->cur.start == 4096;
}

/* Enters another mapping; out of line for the same reason. Returns 0; 1: stopped; 2: there is none, but the frame was
 * unwound, or is elsewhere now. */
XP_NOINLINE int xp_enter(u64 pc)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    if (pc >= XP_VSYSCALL && pc < XP_VSYSCALL_END)
        return xp_step_vsyscall(s) ? 1 : 2;
    int cause = xp_switch_mapping(s, pc);
    if ((cause == XP_CAUSE_NO_MAPPING || (!cause && xp_is_one_page(s))) && !xp_see_through_probe())
        return 2;
    xp_v8_missed(s);
    return cause ? xp_stop_unmapped(s, cause) : 0;
}

/* Whether all stacks of an object are those of functions that begin, or return. */
#if defined(XP_SLOTTED) && !defined(XP_IN_BODIES)
#define XP_AT_ENTRY 1
#else
#define XP_AT_ENTRY 0
#endif

XP_INLINE int xp_is_lost(const struct xp_state *s)
{
    return !s->cur.file.id &&
           (s->cause == XP_CAUSE_FP_ANON || s->cause == XP_CAUSE_FP_ANON_END || s->cause == XP_CAUSE_BAD_RULE);
}

/* Unwinds one frame. Returns 0 or one of these: continue with the caller; 1: the unwind has ended with s->cause. */
XP_INLINE int xp_step(struct xp_state *s)
{
    u64 pc = s->leaf ? s->ip : s->ip - 1;
    struct xp_rule r = {};
    if (s->sample.nuser >= XP_MAX_USER)
        return xp_stop(s, XP_CAUSE_DEPTH);
    if (pc < s->cur.start || pc >= s->cur.end) {
        int outcome = xp_enter(pc);
        if (outcome)
            return outcome == 1;
    }
    u32 entered = XP_AT_ENTRY && !s->sample.nuser, returned = XP_HAS_RETURNED(s);
    xp_note_frame(s);
    if (returned) {
        s->sample.flags |= XP_SAMPLE_RETURNED;
        return xp_arrive(s, s->first.r[XP_RIP], s->sp, s->bp, XP_WORD_CFI);
    }
    if (entered) /* no table is needed to know where the return address is */
        return xp_step_cfa(s, r, s->sp + 8, XP_WORD_CFI);
    if (s->cur.file.state == XP_FILE_READY)
        r = xp_rule_at(s, pc);
    u32 kind = (r.kind & (31u | XP_RULE_SYNTH)) | (s->cur.file.flags & XP_FILE_GENERATED);
    if (kind == XP_CFA_RSP || kind == XP_CFA_RBP) /* one copy of the code for both: it is long */
        return xp_step_cfa(s, r, (kind == XP_CFA_RSP ? s->sp : s->bp) + r.cfa_off, XP_WORD_CFI);
    if (s->cur.file.state == XP_FILE_JVM)
        return xp_java_step(0);
    u32 loop = kind == XP_CFA_RSP_LOOP || kind == XP_CFA_RBP_LOOP;
    u32 bare = kind == XP_CFA_NONE && (!s->cur.file.id || s->cur.file.flags & XP_TABLE_V8);
    if (loop || !s->cur.file.id) /* generated code may stand for frames of a script, too (scan.bpf.h) */
        xp_loop_note(s);
    if (bare)
        xp_bare_note(s);
    int stopped = xp_step_rare(xp_rule_word(r));
    if (stopped)
        return xp_is_lost(s) ? XP_LOST : 1;
    return loop ? XP_LOOP : bare ? (XP_HAS_FRAMES_OF(s, XP_LANGUAGE_DOTNET) ? XP_NET : XP_BARE) : 0;
}

/* Unwinds a batch of frames. As a global function (Linux 5.6) it is verified once, however often it is called. The
 * argument is unused; the asm keeps it, because the arguments of a global function must be initialized scalars. */
XP_NOINLINE int xp_step_batch(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    int outcome = 0;
    for (int i = 0; i < XP_STEP_BATCH && !outcome; i++)
        outcome = xp_step(s);
    return outcome;
}

/* Forgets the last sample. */
XP_INLINE void xp_unwind_reset(struct xp_state *s)
{
    s->cur.start = s->cur.end = 0;
    s->cur.file.id = 0;
    s->walks = s->refills = s->hits = s->misses = s->fp_frames = 0;
    s->window_words = 0;
    s->pending = 0;
    s->codes.n = s->hops = s->runtime = 0;
    s->callee = 0;
    s->found_by = XP_WORD_CFI;
    s->sample.nuser = 0;
    s->cause = XP_CAUSE_DEPTH;
}

#include "bpf/scan.bpf.h"

#define XP_STEP_CALLS 8 /* batches per call of xp_step_on */

/* Unwinds some batches. The verifier follows each round of a loop, and one here, with the loop of xp_scan in it, is as
 * long as fifty calls of this function: so there are few here, and many calls. */
XP_NOINLINE int xp_step_on(u32 unused)
{
    asm volatile("" ::"r"(unused));
    for (u32 i = 0; i < XP_STEP_CALLS; i++) {
        int outcome = xp_step_batch(i);
        if (outcome == XP_LOST)
            outcome = xp_find(i);
        if (outcome == XP_LOOP)
            outcome = xp_loop_splice(i);
        else if (outcome == XP_BARE)
            outcome = xp_v8_splice(i);
        else if (outcome == XP_NET)
            outcome = xp_osr_step(i);
        if (outcome)
            return 1;
    }
    return 0;
}

/* Unwinds the whole user stack, starting at s->regs. */
XP_INLINE void xp_unwind(struct xp_state *s)
{
    xp_start_at_regs(s);
    XP_BEGIN_AT(s);
    for (u32 i = 0; i <= XP_MAX_USER / XP_STEP_BATCH / XP_STEP_CALLS; i++)
        if (xp_step_on(i))
            break;
    if (xp_script_is_on(s) || xp_python_is_on(s))
        xp_script_rest(0);
    /* Frames after a file without table are guesses, wherever they end. */
    if (s->pending & XP_WAITS_TABLE)
        s->cause = XP_CAUSE_PENDING;
}
