/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Puts functions of JavaScript in place of the code of V8 that runs them: its interpreter, its builtins, and what it
 * compiled. None of that has unwind information, but all of it keeps frame pointers, and each frame of JavaScript has
 * its function and its context in it. So the frame is unwound by frame pointer as any other; after that it is known to
 * be one that has them, as its caller's stack pointer is just above it.
 *
 * Sources: V8's src/execution/frame-constants.h (StandardFrameConstants, InterpreterFrameConstants),
 * src/objects/js-function.tq, src/objects/shared-function-info.tq. All of this is memory of the process, so it is not
 * trusted.
 */
#pragma once

enum { XP_DWARF_R9 = 9, XP_DWARF_R12 = 12 };

/* The frame of code without unwind information is the current one, and is about to be unwound: its word is the last
 * one. */
XP_INLINE void xp_bare_note(struct xp_state *s)
{
    s->js.sp = s->sp;
    s->js.bp = s->bp;
    s->js.ip = s->ip;
    s->js.leaf = s->leaf;
    s->js.file = s->cur.file.id;
    s->js.last = s->sample.nkernel + s->sample.nuser - 1u;
}

/* Some generated code may be that of the V8 of this file. */
XP_INLINE void xp_v8_missed(struct xp_state *s)
{
    if (s->cur.file.flags & XP_TABLE_V8 && s->runtime & XP_V8_MISSED)
        s->sample.flags |= XP_SAMPLE_RUNTIME;
}

/* Whether JavaScript is to be found in the process at all. */
XP_INLINE int xp_v8_begin(struct xp_state *s)
{
    int found = xp_v8_take(s);
    if (found > 0) {
        s->runtime |= XP_V8_KNOWN;
        s->js.map = 0;
        return 1;
    }
    s->runtime |= found ? XP_V8_OVER : XP_V8_OVER | XP_V8_MISSED;
    xp_v8_missed(s);
    return 0;
}

/* Whether the frame has this field already: what is below the stack pointer is what was there before. Only the
 * innermost one may still be set up. */
XP_INLINE int xp_v8_has(const struct xp_state *s, s64 field)
{
    return !s->js.leaf || s->js.bp + field >= s->js.sp;
}

/* Whether an object has a type. That is in its map, which all of the same kind share. */
XP_INLINE int xp_v8_is_array(struct xp_state *s, u64 object)
{
    u64 map;
    u16 type = 0;
    if (!XP_V8_IS_OBJECT(object) || xp_read_user(&map, 8, object - XP_V8_TAG))
        return 0;
    if (map == s->js.map)
        return 1;
    if (xp_read_user(&type, 2, map - XP_V8_TAG + s->v8.map_type) || type != s->v8.array_type)
        return 0;
    s->js.map = map;
    return 1;
}

/* The position in the bytecode that the frame runs; -1: there is none. What is in its place in frames of other code is
 * anything. While a bytecode is executed its position is in a register, beside the array's. */
XP_INLINE s64 xp_v8_position(struct xp_state *s)
{
    u64 array, at, bp = s->js.bp;
    if (!s->v8.array_type || !xp_v8_has(s, s->v8.frame_position) || !xp_v8_has(s, s->v8.frame_array) ||
        xp_load(s, bp + s->v8.frame_position, &at) || xp_load(s, bp + s->v8.frame_array, &array))
        return -1;
    if ((u32)at || !xp_v8_is_array(s, array))
        return -1;
    at >>= 32;
    if (s->js.leaf == XP_LEAF_REGS && s->regs.r[XP_DWARF_R12] == array)
        at = s->regs.r[XP_DWARF_R9];
    at -= s->v8.array_data - XP_V8_TAG;
    return at >> 31 ? -1 : (s64)at;
}

XP_INLINE int xp_put_v8(struct xp_state *s, u64 word, u64 more)
{
    if (s->sample.nuser >= XP_MAX_USER - 1 ||
        xp_put_frame(s, s->js.last, word | (s->js.leaf ? XP_WORD_EXACT : 0), more))
        return 0;
    s->sample.nuser++;
    xp_meet_frame(s, word, more);
    return 0;
}

/* It was unwound: has its function in its place if it is one of JavaScript. Not called from where it was unwound, as
 * for xp_loop_splice. Returns 0. */
XP_NOINLINE int xp_v8_splice(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    u64 context, function, shared, w[3] = {};
    if (!s || (s->runtime & XP_V8_OVER) || s->sp != s->js.bp + 16)
        return 0;
    if (!(s->runtime & XP_V8_KNOWN) && !xp_v8_begin(s))
        return 0;
    if (!xp_v8_has(s, s->v8.frame_function) || xp_load(s, s->js.bp + s->v8.frame_function, &function) ||
        xp_load(s, s->js.bp + s->v8.frame_context, &context))
        return 0;
    if (!XP_V8_IS_OBJECT(context) || !XP_V8_IS_OBJECT(function) ||
        xp_read_user(&shared, 8, function - XP_V8_TAG + s->v8.function_shared) || !XP_V8_IS_OBJECT(shared))
        return 0;
    shared -= XP_V8_TAG;
    u32 cookie = xp_read_user(w, sizeof(w), shared + s->v8.shared_script) ? 0 : XP_V8_COOKIE(w);
    if (!s->js.file) /* frames that code compiled in the middle of a loop took over still have a position */
        return xp_put_v8(s, XP_V8_WORD(XP_V8_COMPILED, shared),
                         XP_MORE_WORD(XP_V8_MACHINE_COOKIE(cookie, s->js.ip), s->js.ip));
    s64 at = xp_v8_position(s);
    return xp_put_v8(s, XP_V8_WORD(at < 0 ? XP_V8_PLAIN : XP_V8_BYTECODE, shared),
                     XP_MORE_WORD(cookie, at < 0 ? 0 : at));
}
