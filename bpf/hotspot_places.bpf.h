/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Puts frames of HotSpot into a stack, and remembers return addresses into compiled code: most frames of a stack of
 * Java were met before, and need no look at their blob (hotspot.bpf.h).
 */
#pragma once

#define XP_JAVA_TICKS 4u /* 67 ms: a method that was seen at its place is believed to be there for so long */

/* Turns the word of the frame, which was taken for anonymous code, into the two words of Java. */
XP_INLINE void xp_put_java(struct xp_state *s, u64 word, u64 more)
{
    if (!xp_put_frame(s, s->sample.nkernel + s->sample.nuser - 1u, word, more))
        s->sample.nuser++;
}

/* The same for one that may be new. */
XP_INLINE void xp_note_java(struct xp_state *s, u64 word, u64 more)
{
    if (s->leaf)
        word |= XP_WORD_EXACT;
    xp_meet_frame(s, word, more);
    xp_put_java(s, word, more);
}

XP_INLINE u64 xp_java_tag(const struct xp_state *s)
{
    return s->ip + (s->who.mm ^ s->who.start) * 0x9e3779b97f4a7c15ull;
}

XP_INLINE struct xp_java_place *xp_java_place(struct xp_state *s)
{
    return &s->java_places[(s->ip * 0x9e3779b97f4a7c15ull >> 40) & (XP_JAVA_PLACES - 1)];
}

/* `bytes`: of the frame; 0: it is the interpreter's. */
XP_INLINE void xp_keep_place(struct xp_state *s, u64 blob, u32 position, u32 bytes)
{
    struct xp_java_place *p = xp_java_place(s);
    p->tag = xp_java_tag(s);
    p->blob = blob;
    p->position = position;
    p->bytes = bytes;
    p->id = bytes ? xp_blob32(s, s->jvm.method_id) : 0;
    p->seen = XP_VMA_TICK(s);
}

/* Whether the method is still there. Reading that costs as much as all else of a frame. To take the place of one that
 * is on a stack, another one needs it to return, a cycle of the collector that finds it gone, and a compiler. */
XP_INLINE int xp_is_same_method(struct xp_state *s, struct xp_java_place *p)
{
    u32 id = 0;
    if (XP_VMA_TICK(s) - p->seen < XP_JAVA_TICKS)
        return 1;
    if (xp_read_user(&id, 4, p->blob + s->jvm.method_id) || id != p->id)
        return 0;
    p->seen = XP_VMA_TICK(s);
    return 1;
}
