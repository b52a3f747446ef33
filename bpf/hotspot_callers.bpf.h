/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Finds where a frame of HotSpot has its return address (hotspot.bpf.h). Functions that find it return the frame's CFA,
 * or 0.
 */
#pragma once

#define XP_JAVA_REACH  65536 /* bytes of a frame of the interpreter: its locals and its stack of operands */
#define XP_JAVA_SLOTS  16    /* words above the stack pointer where a return address is looked for */
#define XP_JAVA_PUSHED 8     /* words that a method may push onto its frame: C2 when it looks for a string in another */
#define XP_STUB_SLOTS  80 /* words above the stack pointer of a stub that has its own use for rbp: as SHA-256 needs */
#define XP_STUB_REACH  65536 /* bytes from the start of a stub to any of its code, and of one that it jumps to */

/* Whether rbp may be that of a frame of the interpreter that a return address at `at` leads to: it still is, or the
 * frame has saved it. It is read into the state: in some programs the calls to here have 512 bytes of stack in all. */
XP_INLINE int xp_has_rbp_above(struct xp_state *s, u64 at)
{
    return s->bp - at < XP_JAVA_REACH ||
           (!xp_read_stack(s->object, 8, at - 8) && *(u64 *)s->object - at < XP_JAVA_REACH);
}

/* Whether this is a return address into Java code: behind a call, or where the interpreter goes on, which it pushes
 * itself. */
XP_INLINE int xp_is_java_return(struct xp_state *s, u64 ra, u64 at)
{
    return xp_in_code(s, ra) && (xp_follows_call(s, ra) > 0 ||
                                 (xp_has_rbp_above(s, at) && xp_find_blob(ra) && s->blob_kind == XP_BLOB_INTERPRETER));
}

/* Looks for the return address of a frame that does not look like what its blob says: at its entry or end, or with
 * words on it. Not through the window, because calls are nested deep already. */
XP_INLINE u64 xp_java_look(u64 sp, u32 slots)
{
    struct xp_state *s = xp_state_get();
    u64 ra;
    if (!s)
        return 0;
    for (u32 i = 0; i < slots; i++, sp += 8)
        if (!xp_read_stack(&ra, 8, sp) && xp_is_java_return(s, ra, sp))
            return sp + 8;
    return 0;
}

/* Out of line, because it is rare. */
XP_NOINLINE u64 xp_java_search(u64 sp)
{
    return xp_java_look(sp, XP_JAVA_SLOTS);
}

/* The same where it would be if there were no words that a method has pushed onto its frame. */
XP_NOINLINE u64 xp_java_search_pushed(u64 sp)
{
    return xp_java_look(sp, XP_JAVA_PUSHED);
}

/* Whether the return address that was read is behind a call of the stub that runs: call N, or mov r10, N; call r10. Out
 * of line, so that it is verified once. */
XP_NOINLINE int xp_calls_stub(u64 ra)
{
    struct xp_state *s = xp_state_get();
    if (!s || xp_read_user(s->object, 16, ra - 16))
        return 0;
    const u8 *code = s->object;
    u64 distance; /* from its start */
    if (code[11] == 0xe8)
        distance = s->ip - ra - (u64)(s64) * (const s32 *)(code + 12);
    else if (code[3] == 0x49 && code[4] == 0xba && code[13] == 0x41 && code[14] == 0xff && code[15] == 0xd2)
        distance = s->ip - (*(const u64 *)(code + 8) << 24 | code[7] << 16 | code[6] << 8 | code[5]);
    else
        return 0;
    return distance + XP_STUB_REACH < 2ull * XP_STUB_REACH;
}

/* Looks for the return address of a leaf in a stub. Some stubs align their frame, and have their own use for rbp
 * (sha512_AVX2); others have no frame, and rbp leads past their callers (C1's slow_subtype_check, what looks for
 * supertypes since JDK 23). What else is there may be old: only a call of the stub counts. `fp`: the CFA by frame
 * pointer, beyond which it is not; 0: there is none. */
XP_NOINLINE u64 xp_java_search_stub(u64 fp)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    u64 *ra = (u64 *)s->object, sp = s->sp;
    if (fp && !xp_read_stack(ra, 8, fp - 8) && xp_in_code(s, *ra) && xp_calls_stub(*ra))
        return fp;
    for (u32 i = 0; i < XP_STUB_SLOTS; i++, sp += 8) {
        if (!xp_read_stack(ra, 8, sp) && xp_in_code(s, *ra) && xp_calls_stub(*ra))
            return fp && fp < sp ? fp : sp + 8;
    }
    return fp;
}

/* A frame whose size is known, if that leads to Java code. What calls a method is always there; a frame that is to be
 * deoptimised, or whose callers are frozen, returns to what is not behind a call. */
XP_INLINE u64 xp_java_sized(struct xp_state *s, u64 size)
{
    u64 ra;
    return size && size < XP_JAVA_REACH * 8 && !xp_load(s, s->sp + size - 8, &ra) && xp_in_code(s, ra) ? s->sp + size
                                                                                                       : 0;
}

/* By frame pointer, as stubs and what calls Java have it. The stub between a method's entry and the collector has a
 * word of its own above the saved rbp, which is -1. */
XP_INLINE u64 xp_java_by_fp(struct xp_state *s)
{
    u64 ra, bp = s->bp, cfa = bp + 16;
    if ((bp & 7) || bp < s->sp || bp - s->sp >= XP_JAVA_REACH || xp_load(s, bp + 8, &ra))
        return 0;
    if (ra == ~0ull && !xp_load(s, bp + 16, &ra))
        cfa += 8;
    return xp_follows_call(s, ra) > 0 ? cfa : 0;
}
