/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Unwinds the adapters of HotSpot (hotspot.bpf.h), which are between compiled methods and the interpreter. They have no
 * frame, and rbp stays the caller's. They take the return address into rax, move rsp down to have room for arguments,
 * and put it back there; r13 is where rsp was, behind the return address, so that its old place may have it still. The
 * one to the interpreter may call the virtual machine first: r13 then is rsp at its entry, all registers are pushed
 * below that, and the state of the FPU below them, and above the return address of that call.
 *
 * Sources: src/hotspot/cpu/x86/sharedRuntime_x86_64.cpp (gen_i2c_adapter, gen_c2i_adapter, patch_callers_callsite) and
 * macroAssembler_x86.cpp (push_CPU_state, pusha), of OpenJDK.
 */
#pragma once

#define XP_ADAPTER_REACH 2048 /* bytes of arguments that an adapter puts between its caller's frame and its own */
#define XP_PUSHED_R13    16   /* from the end of the state of the FPU to r13: r15, r14 */
#define XP_PUSHED_REACH  4096 /* bytes that are pushed */

/* Returns the CFA if the return address is at `at`. `in_rax`: and in rax, too. */
XP_INLINE u64 xp_adapter_try(struct xp_state *s, u64 at, int in_rax)
{
    u64 ra;
    if ((at & 7) || at + 8 - s->sp > XP_PUSHED_REACH || xp_read_stack(&ra, 8, at) || (in_rax && ra != s->regs.r[0]))
        return 0;
    return xp_is_java_return(s, ra, at) ? at + 8 : 0;
}

/* In this order: where it was, while it is in rax; where it is; just below that, also while it is in rax; and at r13,
 * if registers are pushed. */
XP_INLINE u64 xp_adapter_leaf(struct xp_state *s)
{
    u64 cfa = xp_adapter_try(s, s->regs.r[13] - 8, 1);
    cfa = cfa ? cfa : xp_adapter_try(s, s->sp, 0);
    cfa = cfa ? cfa : xp_adapter_try(s, s->sp - 8, 1);
    return cfa ? cfa : xp_adapter_try(s, s->regs.r[13], 0);
}

/* Returns the CFA of an adapter; 0: it is to be looked for. In a call of the virtual machine the pushed r13 counts; the
 * state of the FPU has 512 bytes, since JDK 12: 2,688. */
XP_NOINLINE u64 xp_adapter_cfa(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    u64 r13, cfa = 0;
    if (!s)
        return 0;
    if (s->leaf)
        return s->leaf == XP_LEAF_REGS ? xp_adapter_leaf(s) : 0;
    if (!xp_read_stack(&r13, 8, s->sp + 512 + XP_PUSHED_R13))
        cfa = xp_adapter_try(s, r13, 0);
    if (!cfa && !xp_read_stack(&r13, 8, s->sp + 2688 + XP_PUSHED_R13))
        cfa = xp_adapter_try(s, r13, 0);
    return cfa;
}

/* Whether a compiled method that has its frame at `sp` was called by Java code. */
XP_INLINE int xp_adapter_fits(struct xp_state *s, u64 sp)
{
    u64 ra, size = 8ull * xp_blob32(s, s->jvm.blob_frame_size);
    return size < XP_JAVA_REACH * 8 && !xp_read_stack(&ra, 8, sp + size - 8) && xp_in_code(s, ra);
}

/* Calls are nested as deep as verifiers take them, so these read without xp_load.
 *
 * Returns rsp of what called an adapter, or the entry of the interpreter behind it: r13, unless that is not set yet,
 * and has a value that is older. Then the caller's own return address tells. */
XP_NOINLINE u64 xp_adapter_sender(u64 cfa, u32 kind)
{
    struct xp_state *s = xp_state_get();
    u64 r13, ra;
    if (!s)
        return 0;
    r13 = s->regs.r[13];
    if (s->leaf != XP_LEAF_REGS || (r13 & 7) || r13 - cfa > XP_ADAPTER_REACH)
        return cfa;
    if (kind != XP_BLOB_ADAPTER)
        return r13;
    if (xp_read_stack(&ra, 8, cfa - 8) || !xp_find_blob(ra) || s->blob_kind != XP_BLOB_METHOD)
        return r13;
    return xp_adapter_fits(s, cfa) ? cfa : r13;
}
