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

#define XP_ADAPTER_REACH  2048 /* bytes of arguments that an adapter puts between its caller's frame and its own */
#define XP_PUSHED_R13     16   /* from the end of the state of the FPU to r13: r15, r14 */
#define XP_PUSHED_REACH   4096 /* bytes that are pushed */
#define XP_ADAPTER_PLACES 4

/* A place where the return address may be; 0: there are no more. In this order: where it was, while it is in rax;
 * where it is; just below that, also while it is in rax; and at r13, if registers are pushed. In a call of the virtual
 * machine the pushed r13 counts; the state of the FPU has 512 bytes, since JDK 12: 2,688. */
XP_INLINE u64 xp_adapter_place(const struct xp_state *s, u32 i)
{
    u64 r13 = s->regs.r[13];
    if (s->leaf)
        return i == 0 ? r13 - 8 : i == 1 ? s->sp : i == 2 ? s->sp - 8 : r13;
    return i > 1 || xp_read_stack(&r13, 8, s->sp + (i ? 2688 : 512) + XP_PUSHED_R13) ? 0 : r13;
}

/* Returns the CFA of an adapter; 0: it is to be looked for. */
XP_NOINLINE u64 xp_adapter_cfa(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    u64 ra;
    if (!s || (s->leaf && s->leaf != XP_LEAF_REGS))
        return 0;
    for (u32 i = 0; i < XP_ADAPTER_PLACES; i++) {
        u64 at = xp_adapter_place(s, i);
        if ((at & 7) || at + 8 - s->sp > XP_PUSHED_REACH || xp_read_stack(&ra, 8, at))
            continue;
        if ((!s->leaf || (i & 1) || ra == s->regs.r[0]) && xp_is_java_return(s, ra, at))
            return at + 8;
    }
    return 0;
}

/* Whether a compiled method that has its frame at `sp` was called by Java code. */
XP_INLINE int xp_adapter_fits(struct xp_state *s, u64 sp)
{
    u64 ra, size = 8ull * xp_blob32(s, s->jvm.blob_frame_size);
    return size < XP_JAVA_REACH * 8 && !xp_load(s, sp + size - 8, &ra) && xp_in_code(s, ra);
}

/* Returns rsp of what called an adapter, or the entry of the interpreter behind it: r13, unless that is not set yet,
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
    if (xp_load(s, cfa - 8, &ra) || !xp_find_blob(ra) || s->blob_kind != XP_BLOB_METHOD)
        return r13;
    return xp_adapter_fits(s, cfa) ? cfa : r13;
}
