/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Unwinds code of HotSpot. Its code heaps consist of blobs: compiled methods, the interpreter, stubs, adapters. A map
 * of segments leads from a pc to its blob, and the blob says how large its frames are. rbp is a general register in
 * compiled code, but each frame saves it below its return address, and the interpreter's frames, which need it, are
 * found by it. All of this is memory of the process, so it is not trusted.
 *
 * Sources: src/hotspot/share/memory/heap.cpp (CodeHeap::find_start), src/hotspot/share/code/codeBlob.hpp,
 * src/hotspot/cpu/x86/frame_x86.inline.hpp (sender) and frame_x86.hpp (the interpreter's frame), of OpenJDK.
 */
#pragma once

#include "bpf/hotspot_blobs.bpf.h"
#include "bpf/hotspot_callers.bpf.h"
#include "bpf/hotspot_adapters.bpf.h"
#include "bpf/hotspot_places.bpf.h"

/* ---- The caller ----------------------------------------------------------------------------------------------------
 */
/* Goes to the caller whose return address is below `cfa`. `saved`: where rbp is saved; 0: nowhere. `sp`: the caller's.
 * Returns 0; 1: stopped.
 */
XP_INLINE int xp_java_return_to(struct xp_state *s, u64 cfa, u64 saved, u64 sp)
{
    u64 bp = s->bp, ra;
    s->runtime &= (u16)~XP_JVM_UNREADY;
    if (cfa <= s->sp && !s->leaf)
        return xp_stop(s, XP_CAUSE_STUCK);
    if ((saved && xp_load(s, saved, &bp)) || xp_load(s, cfa - 8, &ra))
        return xp_stop(s, XP_CAUSE_STACK_READ);
    return xp_arrive(s, ra, sp, bp, XP_WORD_CFI);
}

XP_INLINE int xp_java_return(struct xp_state *s, u64 cfa, u64 saved)
{
    return xp_java_return_to(s, cfa, saved, cfa);
}

/* ---- Compiled methods ---------------------------------------------------------------------------------------------
 */
#define XP_JAVA_UNSAVED 1 /* the whole frame, but rbp is not saved in it yet */

/* mov [rsp + N], rbp */
XP_INLINE int xp_saves_rbp(const u8 *code)
{
    return code[0] == 0x48 && code[1] == 0x89 && (code[2] == 0x6c || code[2] == 0xac) && code[3] == 0x24;
}

/* sub rsp, N, or mov rbp, rsp */
XP_INLINE int xp_moves_sp(const u8 *code)
{
    return code[0] == 0x48 && (((code[1] == 0x83 || code[1] == 0x81 || code[1] == 0x8b) && code[2] == 0xec) ||
                               (code[1] == 0x89 && code[2] == 0xe5));
}

/* The same as xp_java_partial where loops are entered that the interpreter began (OSR): C1 makes the frame there once
 * more, in the midst of the code (LIR_Assembler::osr_entry). No other code there begins with a stack bang, which is
 * mov [rsp - N], eax, or pushes rbp before it moves rsp. */
XP_INLINE u32 xp_java_reentry(const u8 *code)
{
    if (code[8] == 0x89 && code[9] == 0x84 && code[10] == 0x24 && code[14] == 0xff)
        return 8;
    if (code[8] == 0x55)
        return xp_moves_sp(code + 9) ? 8 : 0;
    return xp_moves_sp(code + 8) && (code[7] == 0x55 || (code[4] == 0x55 && xp_moves_sp(code + 5))) ? 16 : 0;
}

/* A poll for safepoints, as it is behind the pop of rbp: cmp rsp, [r15 + N]; test eax, [rip + N]; test [r10], eax, and
 * mov r10, [r15 + N] for that. */
XP_INLINE int xp_is_poll(const u8 *code)
{
    return (code[0] == 0x49 && code[1] == 0x3b && (code[2] & 0x3f) == 0x27) || (code[0] == 0x85 && code[1] == 0x05) ||
           (code[0] == 0x41 && code[1] == 0x85 && code[2] == 0x02) ||
           (code[0] == 0x4d && code[1] == 0x8b && (code[2] & 0x3f) == 0x17);
}

/* Behind the frame of a native method: leave; cmp qword ptr [r15 + N], 0 (is there an exception?); jne; ret. */
XP_INLINE int xp_has_left(const u8 *code)
{
    if (code[7] == 0xc9)
        return code[8] == 0x49 && (code[9] & 0xfd) == 0x81 && code[10] == 0x7f;
    return code[8] == 0x0f && code[9] == 0x85 && code[14] == 0xc3 &&
           ((code[0] == 0x49 && code[1] == 0x81 && code[2] == 0x7f) ||
            (code[3] == 0x49 && code[4] == 0x83 && code[5] == 0x7f));
}

/* The comparison that tells whether a method may be entered, or ip is behind it: cmp dword ptr [r15 + N], M. It is
 * where the frame is whole, but not complete for the virtual machine yet (BarrierSetAssembler::nmethod_entry_barrier).
 */
XP_INLINE int xp_is_entry_barrier(const u8 *code)
{
    return (code[8] == 0x41 && (code[9] & 0xfd) == 0x81 && (code[10] & 0x3f) == 0x3f) ||
           (code[0] == 0x41 && code[1] == 0x81 && code[2] == 0x7f) ||
           (code[3] == 0x41 && code[4] == 0x83 && code[5] == 0x7f);
}

/* Returns how many bytes the leaf has on the stack at its entry or end, its return address included; 0: its whole
 * frame; XP_JAVA_UNSAVED. The entry is over when the frame is complete: (stack bang;) push rbp; (mov rbp, rsp;)
 * sub rsp, N, or sub and mov in place of push. The end: add rsp, N; pop rbp; a poll for safepoints; ret. */
XP_INLINE u32 xp_java_partial(struct xp_state *s, u32 entry)
{
    u8 *code = s->object; /* 8 bytes in front of ip, and 16 from there on */
    if (xp_read_user(code, 24, s->ip - 8))
        return 0;
    if (entry) {
        if (xp_is_entry_barrier(code))
            return 0;
        if (code[7] == 0x55 ||
            (code[5] == 0x48 && (code[6] == 0x8b || code[6] == 0x89) && (code[7] == 0xec || code[7] == 0xe5)))
            return 16;
        if ((code[4] == 0x48 && code[5] == 0x83 && code[6] == 0xec) ||
            (code[1] == 0x48 && code[2] == 0x81 && code[3] == 0xec))
            return xp_saves_rbp(code + 8) ? XP_JAVA_UNSAVED : 0;
        return 8;
    }
    if (code[8] == 0x5d) /* pop rbp, as the end of a frame has it */
        return code[5] == 0x83 || code[2] == 0x81 || code[9] == 0xc3 ? 16 : 0;
    if (code[8] == 0xc3)
        return 8;
    if (xp_has_left(code))
        return 8;
    if (code[7] == 0x5d && xp_is_poll(code + 8)) /* any other instruction may end with this byte, too */
        return 8;
    if ((code[8] == 0x0f && code[9] == 0x87 && code[14] == 0xc3) ||
        (code[8] == 0x41 && code[9] == 0x85 && code[11] == 0xc3))
        return 8;
    return xp_java_reentry(code);
}

/* The same for a stub that is `at` bytes from its start: push rbp; mov rbp, rsp; and the rest of its frame. */
XP_INLINE u32 xp_stub_partial(struct xp_state *s, u64 at)
{
    u32 partial = at > 4 ? 0 : at ? xp_java_partial(s, 1) : 8;
    return partial == XP_JAVA_UNSAVED ? 0 : partial;
}

/* Returns the bytes of a push (`kind`: 0x50) or a pop (0x58) at `code`; 0: it is none. */
XP_INLINE u32 xp_push_bytes(const u8 *code, u8 kind)
{
    return (code[0] & 0xf8) == kind ? 1 : code[0] == 0x41 && (code[1] & 0xf8) == kind ? 2 : 0;
}

/* Returns the bytes of two pops; 0: there are not two. */
XP_INLINE u32 xp_pops_bytes(const u8 *code)
{
    u32 first = xp_push_bytes(code, 0x58), second = first ? xp_push_bytes(code + first, 0x58) : 0;
    return second ? first + second : 0;
}

/* Returns the bytes on top of a frame where a call returns to `code`: C1 pushes two arguments for the stub that looks
 * for a supertype, and pops them behind the call (LIR_Assembler::emit_typecheck_helper). Where it copies an array, it
 * has pushed two of its own before, which it pops unless a comparison (of one of these, with 0) says that it need not
 * (emit_arraycopy). No other call is followed by two pops. */
XP_INLINE u32 xp_pushed_behind(const u8 *code)
{
    u32 pops = xp_pops_bytes(code), at = pops;
    if (!pops)
        return 0;
    at += (code[at] & 0xfa) == 0x40; /* a prefix */
    at += code[at] == 0x83 ? 3 : 2;
    return code[at] == 0x0f && code[at + 1] == 0x85 && xp_pops_bytes(code + at + 6) ? 32 : 16;
}

/* The same at ip. The leaf may be at that call, or between the two pushes or the two pops. */
XP_NOINLINE u32 xp_java_pushed(u32 leaf)
{
    struct xp_state *s = xp_state_get();
    if (!s || xp_read_user(s->object, 40, s->ip - 8))
        return 0;
    const u8 *code = s->object;
    u32 push = xp_push_bytes(code + 8, 0x50), behind = 8, less = 0;
    if (leaf && code[8] == 0xe8) {
        behind = 13;
    } else if (leaf && push && code[8 + push] == 0xe8) {
        behind = 13 + push;
        less = 8;
    } else if (leaf && code[1] == 0xe8 && xp_push_bytes(code + 6, 0x58) == 2) {
        behind = 6;
        less = 8;
    } else if (leaf && code[2] == 0xe8 && xp_push_bytes(code + 7, 0x58) == 1) {
        behind = 7;
        less = 8;
    } else if (leaf && code[3] != 0xe8) {
        return 0;
    }
    u32 pushed = xp_pushed_behind(code + behind);
    return pushed ? pushed - less : 0;
}

/* A frame that is to be deoptimised returns to a handler; its own pc is in the frame. */
XP_INLINE u64 xp_java_pc(struct xp_state *s, u64 blob)
{
    u64 handler[2] = {}, pc;
    if (s->jvm.method_deopt)
        handler[0] =
            s->jvm.deopt_is_offset ? blob + (s32)xp_blob32(s, s->jvm.method_deopt) : xp_blob64(s, s->jvm.method_deopt);
    if (s->jvm.method_deopt_mh)
        handler[1] = s->jvm.deopt_is_offset ? blob + (s32)xp_blob32(s, s->jvm.method_deopt_mh)
                                            : xp_blob64(s, s->jvm.method_deopt_mh);
    if (s->leaf || (s->ip != handler[0] && s->ip != handler[1]))
        return s->ip;
    return xp_load(s, s->sp + (s32)xp_blob32(s, s->jvm.method_orig_pc), &pc) ? s->ip : pc;
}

/* *saved: as in xp_java_return. A leaf may have pushed rax, to look for a supertype
 * (MacroAssembler::check_klass_subtype_slow_path), or what xp_java_pushed knows, or more
 * (C2_MacroAssembler::string_indexof). */
XP_INLINE u64 xp_java_compiled(struct xp_state *s, u64 blob, u64 *saved)
{
    u64 code = xp_blob_code(s, blob), pc = xp_java_pc(s, blob), size = 8ull * xp_blob32(s, s->jvm.blob_frame_size);
    u32 partial = 0;
    xp_note_java(s, XP_JAVA_WORD(XP_JAVA_COMPILED, blob), XP_MORE_WORD(xp_blob32(s, s->jvm.method_id), pc - code));
    if (!s->leaf && pc == s->ip) {
        size += xp_java_pushed(0);
        xp_keep_place((u32)(pc - code), (u32)size);
    }
    if (s->leaf)
        partial = xp_java_partial(s, s->ip - code < xp_frame_complete(s));
    if (partial > XP_JAVA_UNSAVED)
        size = partial;
    else if (s->leaf && !partial)
        size += xp_java_pushed(s->leaf);
    u64 cfa = xp_java_sized(s, size);
    if (!cfa && s->leaf)
        cfa = xp_java_search_pushed(s->sp + size);
    *saved = partial != XP_JAVA_UNSAVED && cfa - s->sp > 8 ? cfa - 16 : 0;
    return cfa;
}

/* Stubs save registers, or have a frame pointer. *saved: as in xp_java_return. */
XP_INLINE u64 xp_java_stub(struct xp_state *s, u64 blob, u64 *saved)
{
    xp_note_java(s, XP_JAVA_WORD(XP_JAVA_STUB, blob), XP_MORE_WORD(0, s->ip - blob));
    if (s->blob_kind == XP_BLOB_ADAPTER)
        return xp_adapter_cfa(0);
    if (s->blob_kind != XP_BLOB_STUB && s->blob_kind != XP_BLOB_DEOPT)
        return 0;
    u32 partial = s->leaf ? xp_stub_partial(s, s->ip - xp_blob_code(s, blob)) : 0;
    u64 size = 8ull * xp_blob32(s, s->jvm.blob_frame_size), cfa = xp_java_sized(s, partial ? partial : size);
    if (!cfa && s->blob_kind == XP_BLOB_DEOPT) /* rsp was aligned for a call (generate_deopt_blob: unpack_frames) */
        cfa = xp_java_sized(s, size + 8);
    *saved = cfa - 16;
    if (cfa)
        return cfa;
    *saved = s->bp;
    u64 fp = xp_java_by_fp(s);
    cfa = s->leaf && s->blob_kind == XP_BLOB_STUB ? xp_java_search_stub(fp) : fp;
    if (cfa != fp)
        *saved = cfa - s->sp > 8 ? cfa - 16 : 0;
    return cfa;
}

/* ---- The interpreter ----------------------------------------------------------------------------------------------
 * Its frame (in words from rbp): 1 return address, 0 rbp of the caller, -1 rsp of the caller, -3 Method, and the
 * pointer to the bytecode at hand, which is in r13 while that runs.
 */
XP_INLINE u32 xp_java_bci(struct xp_state *s, u64 bytecodes)
{
    u64 at = s->regs.r[13] - bytecodes;
    if (s->leaf == XP_LEAF_REGS && at < 65536)
        return (u32)at;
    if (xp_load(s, s->bp - 8ull * s->jvm.bcp_slot, &at))
        return XP_JAVA_NO_BCI;
    at -= bytecodes;
    return at < 65536 ? (u32)at : XP_JAVA_NO_BCI;
}

XP_INLINE u32 xp_java_cookie(const struct xp_state *s, u64 constmethod)
{
    u64 pool, klass, name;
    u16 hash;
    if (xp_read_user(&pool, 8, constmethod + s->jvm.const_pool) || xp_read_user(&klass, 8, pool + s->jvm.pool_holder) ||
        xp_read_user(&name, 8, klass + s->jvm.klass_name) || xp_read_user(&hash, 2, name + s->jvm.symbol_hash))
        return XP_JAVA_COOKIE(constmethod, 0, 0);
    return XP_JAVA_COOKIE(constmethod, name, hash);
}

/* `sp`: the caller's, if it is not in the frame yet; 0: it is. */
XP_INLINE int xp_java_from_rbp(struct xp_state *s, u64 sp)
{
    u64 bp = s->bp, ra, caller_bp;
    if ((!sp && xp_load(s, bp - 8, &sp)) || xp_load(s, bp, &caller_bp) || xp_load(s, bp + 8, &ra))
        return xp_stop(s, XP_CAUSE_STACK_READ);
    if (sp < bp + 16 || sp - bp > XP_JAVA_REACH * 8)
        sp = bp + 16;
    return xp_arrive(s, ra, sp, caller_bp, XP_WORD_CFI);
}

/* When a compiled frame is deoptimised, frames of the interpreter take its place, and are filled in after all of them
 * are there: what is at the place of a method may be anybody's. */
XP_INLINE int xp_java_unready(struct xp_state *s, u64 blob)
{
    if ((s->bp & 7) || s->bp < s->sp || s->bp - s->sp >= XP_JAVA_REACH)
        return 2;
    xp_note_java(s, XP_JAVA_WORD(XP_JAVA_STUB, blob), XP_MORE_WORD(0, s->ip - blob));
    return xp_java_from_rbp(s, 0);
}

/* Returns 0; 1: stopped; 2: this is no frame of a method. At its entry the leaf has not pushed all words of its frame:
 * its method is in rbx and, before that, rsp of the caller in r13 (generate_fixed_frame). Until it has pushed rbp, that
 * is the caller's; the stub by which native code calls Java also has a method at rbp - 24, but returns to native code.
 */
XP_INLINE int xp_java_interpreted(struct xp_state *s, u64 blob)
{
    if (s->runtime & XP_JVM_UNREADY)
        return xp_java_unready(s, blob);
    u64 bp = s->bp, method, constant = 0, ra;
    u64 pushed = s->leaf == XP_LEAF_REGS ? bp - s->sp : 24;
    int sound = !(bp & 7) && bp >= s->sp && bp - s->sp < XP_JAVA_REACH && !xp_load(s, bp + 8, &ra);
    if (sound && pushed < 24)
        method = s->regs.r[3];
    else
        sound = sound && xp_in_code(s, ra) && !xp_load(s, bp - 24, &method);
    if (!sound || xp_read_user(&constant, 8, method + s->jvm.constmethod) || !constant)
        return 2;
    u32 bci = pushed < 24 ? 0 : xp_java_bci(s, constant + s->jvm.bytecodes);
    xp_note_java(s, XP_JAVA_WORD(XP_JAVA_INTERPRETED, method), XP_MORE_WORD(xp_java_cookie(s, constant), bci));
    return xp_java_from_rbp(s, pushed < 8 ? s->regs.r[13] : 0);
}

/* ---- All of them ---------------------------------------------------------------------------------------------------
 */
/* The callers of this frame of a virtual thread are not on the stack; the frame that mounted it is the next one. */
XP_INLINE int xp_java_frozen(struct xp_state *s)
{
    xp_note_java(s, XP_JAVA_WORD(XP_JAVA_FROZEN, s->ip), XP_MORE_WORD(0, 0));
    return xp_arrive(s, s->jvm.entry_return, s->sp, s->bp, XP_WORD_CFI);
}

/* The same for a return address that was met before. Returns 0; 1: stopped; 2: it was not, or the code is another one
 * by now. */
XP_INLINE int xp_java_known(struct xp_state *s)
{
    struct xp_java_place *p = xp_java_place(s);
    if (s->leaf || p->tag != xp_java_tag(s))
        return 2;
    if (!p->bytes)
        return xp_java_interpreted(s, p->blob);
    u64 cfa = xp_java_sized(s, p->bytes);
    if (!cfa || !xp_is_same_method(s, p))
        return 2;
    xp_put_java(s, XP_JAVA_WORD(XP_JAVA_COMPILED, p->blob), XP_MORE_WORD(p->id, p->position));
    return xp_java_return(s, cfa, cfa - 16);
}

/* Unwinds a frame in a mapping of a virtual machine. Its word is there already, as one of anonymous code. */
XP_NOINLINE int xp_java_step(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    if (!xp_jvm_take(s) || !xp_in_code(s, s->ip))
        return xp_step_fp(s);
    if (s->jvm.return_barrier && s->ip == s->jvm.return_barrier)
        return xp_java_frozen(s);
    int stopped = xp_java_known(s);
    if (stopped != 2)
        return stopped;
    u64 blob = xp_find_blob(s->ip);
    if (!blob)
        return xp_step_fp(s);
    s->frame_blob = blob;
    if (s->blob_kind == XP_BLOB_INTERPRETER) {
        if (!s->leaf)
            xp_keep_place(0, 0);
        stopped = xp_java_interpreted(s, blob);
        if (stopped != 2)
            return stopped;
    }
    u64 saved = 0, cfa;
    u32 kind = s->blob_kind; /* what is called here finds other blobs */
    if (kind == XP_BLOB_METHOD)
        cfa = xp_java_compiled(s, blob, &saved);
    else
        cfa = xp_java_stub(s, blob, &saved);
    if (!cfa) {
        cfa = xp_java_search(s->sp);
        saved = cfa - s->sp > 8 ? cfa - 16 : 0;
    }
    if (!cfa)
        return xp_stop(s, XP_CAUSE_JAVA_FRAME);
    int moves = kind == XP_BLOB_ADAPTER || kind == XP_BLOB_INTERPRETER;
    stopped = xp_java_return_to(s, cfa, saved, moves ? xp_adapter_sender(cfa, kind) : cfa);
    if (kind == XP_BLOB_DEOPT)
        s->runtime |= XP_JVM_UNREADY;
    return stopped;
}
