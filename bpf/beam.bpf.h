/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Steps over code that the JIT compiler of Erlang's virtual machine (BEAM) has made. It runs on the stack of an Erlang
 * process, which has no frame pointers, but is made for being scanned by a garbage collector: the tags of its words
 * tell return addresses (continuation pointers) from everything else. What is called of C runs on the stack of a
 * scheduler's thread, which begins with the registers of the virtual machine, whose address is in rbx
 * (erts/emulator/beam/jit/x86: beam_asm.hpp, process_main.cpp). So a stack consists of C above the registers, Erlang in
 * a process's heap, and the C that has called the scheduler (process_main), below the registers.
 *
 * All of this is memory of the process, so it is not trusted.
 */
#pragma once

#define XP_BEAM_BATCH 32  /* words that are looked at together, */
#define XP_BEAM_LOOKS 48  /* so often in a frame: 1024 Y registers, what is pushed, and what looks like an address */
#define XP_BEAM_NEAR  512 /* bytes below the registers: the end of the thread's stack in generated code */
#define XP_BEAM_AHEAD 256 /* bytes of code behind a call, up to where it goes back to the process's stack, */
#define XP_BEAM_LOOK  64  /* of which so many are looked at together: instructions of 4 bytes may lie in two of these */
#define XP_BEAM_TAGS  3   /* of a word; 0: a return address, or nothing */

/* The frame is that of generated code on the stack of its thread. */
XP_INLINE int xp_beam_is_native(const struct xp_state *s)
{
    return s->bx - s->sp <= XP_BEAM_NEAR;
}

/* Goes on below the registers, with the function that has called the scheduler. Returns 0; 1: stopped. */
XP_NOINLINE int xp_beam_leave(u64 registers)
{
    struct xp_state *s = xp_state_get();
    u64 ra;
    if (!s)
        return 1;
    const struct xp_beam *b = &s->script.beam;
    u64 at = registers + b->frame + 8; /* they are aligned, so that there may be room behind them */
    if (!b->caller)
        return xp_stop(s, XP_CAUSE_END);
    for (u32 i = 0; i < 4; i++, at += 16) {
        if (xp_load(s, at, &ra))
            return xp_stop(s, XP_CAUSE_STACK_READ);
        if (ra == b->caller)
            return xp_arrive(s, ra, at + 8, XP_RBP_UNKNOWN, XP_WORD_CFI);
    }
    return xp_stop(s, XP_CAUSE_BEAM_STACK);
}

/* Where the stack pointer of the process is restored from by some code that is on the stack of the thread: its rbp, or
 * a field of the process. Returns the offset of that; -1: rbp, -2: neither was found. */
XP_NOINLINE int xp_beam_look(u64 code)
{
    struct xp_state *s = xp_state_get();
    if (!s || xp_read_user(s->object, XP_BEAM_LOOK, code))
        return -2;
    u32 bytes = 0; /* the last four */
    for (u32 i = 0; i < XP_BEAM_LOOK; i++) {
        bytes = bytes >> 8 | (u32)s->object[i] << 24;
        if ((bytes & 0xffffff) == 0xec8948) /* mov rsp, rbp */
            return -1;
        if ((bytes & 0xffffff) == 0x658b49) /* mov rsp, [r13 + disp8] */
            return bytes >> 24;
    }
    return -2;
}

/* The same, up to XP_BEAM_AHEAD bytes ahead. */
XP_INLINE int xp_beam_restores(u64 code)
{
    int found = -2;
    for (u32 i = 0; i < XP_BEAM_AHEAD && found == -2; i += XP_BEAM_LOOK - 3)
        found = xp_beam_look(code + i);
    return found;
}

/* The process that the thread runs; 0: it is not known. */
XP_INLINE u64 xp_beam_process(struct xp_state *s, u64 registers)
{
    const struct xp_beam *b = &s->script.beam;
    u64 scheduler, own, process;
    if (s->leaf == XP_LEAF_REGS)
        return s->regs.r[13];
    if (xp_script_state(s, &scheduler) || xp_read_user(&own, 8, scheduler + b->scheduler_registers) ||
        own != registers || xp_read_user(&process, 8, scheduler + b->scheduler_process))
        return 0;
    return process;
}

/* Has the stack of the process in place of that of the thread. Returns 0; 1: it is not known where that is. */
XP_NOINLINE int xp_beam_hop(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    u64 sp, process;
    int field = s ? xp_beam_restores(s->ip) : -2;
    if (!s || field < -1)
        return 1;
    sp = s->bp;
    if (field >= 0) {
        process = xp_beam_process(s, s->bx - s->script.beam.registers);
        if (!process || xp_read_user(&sp, 8, process + (u32)field))
            return 1;
    }
    s->sp = sp;
    return sp < 4096 || sp & 7;
}

/* Whether the word leads behind a call in generated code. */
XP_NOINLINE int xp_beam_is_return(u64 word)
{
    struct xp_state *s = xp_state_get();
    return s && word >= 4096 && word < XP_USER_END && xp_follows_call(s, word) > 0 && !xp_switch_mapping(s, word - 1) &&
           !s->cur.file.id;
}

/* The innermost frame may be that of code that is shared by functions, and was called by one without care for tags. */
XP_INLINE int xp_beam_shared(struct xp_state *s)
{
    u64 word, at = s->sp;
    if (xp_load(s, at, &word) || !(word & XP_BEAM_TAGS) || !xp_beam_is_return(word))
        return 1;
    return xp_arrive(s, word, at + 8, s->bp, XP_WORD_FP);
}

/* Looks for the next word that may be a return address, in a batch of them: s->seek.ra, at s->seek.at. Returns 0; 1:
 * stopped; 2: there is none. */
XP_NOINLINE int xp_beam_batch(u64 at)
{
    struct xp_state *s = xp_state_get();
    u64 word;
    if (!s)
        return 1;
    for (u32 i = 0; i < XP_BEAM_BATCH; i++, at += 8) {
        if (xp_load(s, at, &word))
            return xp_stop(s, XP_CAUSE_STACK_READ);
        /* frame pointers, if there are any, lead to the stack itself */
        if (word & XP_BEAM_TAGS || word < 4096 || word - at < XP_REG_REACH)
            continue;
        s->seek.ra = word;
        s->seek.at = at;
        return 0;
    }
    return 2;
}

/* Unwinds the frame of generated code that was noted last. Returns 0; 1: stopped. Variables of the innermost frame may
 * not have a value yet: then they have what was there before. Calls are nested as deep as verifiers take them: what
 * judges a word is not called by what finds it. */
XP_NOINLINE int xp_beam_step(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    const struct xp_beam *b = &s->script.beam;
    int native = xp_beam_is_native(s), outcome = 2;
    if (native && s->ip - b->main < b->main_bytes)
        return xp_beam_leave(s->bx - b->registers);
    if (native && xp_beam_hop(0))
        return xp_stop(s, XP_CAUSE_BEAM_STACK);
    int innermost = native || s->leaf;
    if (innermost && !xp_beam_shared(s))
        return 0;
    u64 at = s->sp;
    for (u32 i = 0; i < XP_BEAM_LOOKS && outcome == 2; i++) {
        outcome = xp_beam_batch(at);
        at = outcome ? at + 8 * XP_BEAM_BATCH : s->seek.at + 8;
        if (!outcome && innermost && s->seek.ra != b->exit && !xp_beam_is_return(s->seek.ra))
            outcome = 2;
    }
    if (outcome == 1)
        return 1;
    if (!outcome && s->seek.ra == b->exit)
        return xp_beam_leave(s->bx - b->registers);
    if (outcome || s->seek.ra >= XP_USER_END)
        return xp_stop(s, XP_CAUSE_BEAM_STACK);
    return xp_arrive(s, s->seek.ra, s->seek.at + 8, s->bp, XP_WORD_FP);
}
