/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Code that .NET compiled keeps frame pointers, and has no file. Its frames are addresses; as two words, like those of
 * interpreters (bpf/script.h), they are named by what the runtime knows of them (agent/runtime/dotnet.h).
 */
#pragma once

/* The frame that was noted last is one of generated code, or of a file that is no ELF file: whether it is one of .NET.
 * If it has no file, it gets these words. */
XP_INLINE int xp_dotnet_note(struct xp_state *s)
{
    if (!xp_has_language(s, XP_LANGUAGE_DOTNET))
        return 0;
    if (!s->cur.file.id)
        xp_put_address(0);
    return 1;
}

/* A loop that runs for long gets better code in its middle (on-stack replacement). That code's frame is put below the
 * one that the method has, where its call of JIT_Patchpoint has left a return address, and saves the frame pointer that
 * the method's own frame has saved (docs/design/features/OnStackReplacement.md of .NET;
 * CodeGen::genOSRRecordTier0CalleeSavedRegistersAndFrame). */
#define XP_OSR_WORDS 128 /* of the method's own frame, at most */

/* Whether a return address is that of JIT_Patchpoint(&counter, offset): lea rdi, [rbp + disp]; mov esi, imm32; call. */
XP_INLINE int xp_is_patchpoint(u64 ra)
{
    u8 code[17];
    if (xp_read_user(code, sizeof(code), ra - sizeof(code)) || code[12] != 0xe8 || code[7] != 0xbe)
        return 0;
    u32 near = code[3] == 0x48 && code[4] == 0x8d && code[5] == 0x7d;
    return near || (code[0] == 0x48 && code[1] == 0x8d && code[2] == 0xbd);
}

/* Goes on from the method's own frame, if it is at `at`. Returns 0; 1: it is not. */
XP_NOINLINE int xp_osr_frame(u64 at)
{
    struct xp_state *s = xp_state_get();
    u64 bp, ra;
    if (!s || xp_load(s, at, &bp) || bp != s->bp || xp_load(s, at + 8, &ra) || xp_follows_call(s, ra) <= 0)
        return 1;
    return xp_arrive(s, ra, at + 16, bp, XP_WORD_FP);
}

/* A frame of .NET was unwound by frame pointer: if it is one that replaced another one, that is unwound, too. Returns
 * 0. */
XP_NOINLINE int xp_osr_step(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s || s->sp != s->js.bp + 16 || !xp_is_patchpoint(s->ip))
        return 0;
    u64 at = s->sp;
    for (u32 i = 0; i < XP_OSR_WORDS && xp_osr_frame(at); i++)
        at += 8;
    return 0;
}
