/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The part of the contract (bpf/xprof.h, which includes it) about V8, the JavaScript engine of Node.js: how its frames
 * are laid out, as V8 itself says in its postmortem metadata (v8dbg_*), and what frames of JavaScript look like in
 * stacks. User space fills this in (agent/runtime/v8.h). Everything in it is the container's to choose: it leads to
 * reads of its own process only.
 */
#pragma once

/* ---- Frames --------------------------------------------------------------------------------------------------------
 * A frame has two words, like those of Java: XP_WORD_V8 and, towards the root, XP_WORD_MORE.
 *
 *   V8     exact(1) form(3) address of the SharedFunctionInfo(56)
 *   MORE   cookie(28) position(32)
 *
 * The cookie tells whether the object at that address is still the same one when the frame gets its name. Machine code
 * takes the upper bits of it, and is itself the rest of the proof: it says whose it is.
 */
enum xp_v8_form {
    XP_V8_PLAIN,    /* position: 0; it is not known */
    XP_V8_BYTECODE, /* position: of the bytecode at hand, in its array */
    XP_V8_COMPILED, /* position: bits 0-31 of the address; its bits 32-47 are those 0-15 of the cookie */
};
#define XP_V8_WORD(form, shared)         ((u64)XP_WORD_V8 << 60 | (u64)(form) << 56 | ((u64)(shared) & ((1ull << 56) - 1)))
#define XP_V8_FORM(w)                    ((u32)((w) >> 56) & 7)
#define XP_V8_MACHINE_COOKIE(cookie, pc) (((cookie)&0xfff0000) | ((u32)((pc) >> 32) & 0xffff))
#define XP_V8_PC(more)                   ((u64)(XP_MORE_COOKIE(more) & 0xffff) << 32 | XP_MORE_POSITION(more))
/* What tells functions apart that have the same address, one after the other, by words of the object from `script` on:
 * the script; the number of parameters and the place of the function's token; the number of the function in it. */
#define XP_V8_COOKIE(w) \
    ((u32)((((w)[0] ^ ((w)[1] >> 16 & 0xffffffff) << 20 ^ (w)[2] >> 32 << 40) * 0x9e3779b97f4a7c15ull) >> 36))

/* ---- A process -----------------------------------------------------------------------------------------------------
 * Pointers to objects of V8 are tagged: their lowest two bits are 1. Integers in their place have 0 in bit 0, and are
 * in the upper half of the word. All code of V8 has a frame pointer, but for some that calls nothing; in the place of
 * the context, frames of its own code have a number, and those of JavaScript have a pointer.
 */
#define XP_V8_TAG          1ull
#define XP_V8_IS_OBJECT(v) (((v)&3) == XP_V8_TAG)

/* Offsets are in bytes: in a frame from its frame pointer on, in objects from their start. */
struct xp_v8 {
    s16 frame_function, frame_context;
    s16 frame_array, frame_position; /* the array of bytecode, and the position in it; 0: not known */
    u16 function_shared;             /* JSFunction.shared */
    u16 shared_script;               /* SharedFunctionInfo.script: the first of the words that make the cookie */
    u16 map_type;                    /* Map.instance_type */
    u16 array_type;                  /* the type of arrays of bytecode */
    u16 array_data;                  /* of one: where the bytecode begins */
    u16 pad[3];
};
_Static_assert(sizeof(struct xp_v8) == 24, "no hidden padding");
