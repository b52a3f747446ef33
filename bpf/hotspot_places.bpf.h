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

/* The number of the first one of the two places that the return address may have, which are in one cache line: a stack
 * of 70 would often have two for the same place if each had one only. */
XP_INLINE u32 xp_java_places(const struct xp_state *s)
{
    return (u32)(s->ip * 0x9e3779b97f4a7c15ull >> 40) & (XP_JAVA_PLACES - 2);
}

/* Returns its place; the other one that it might have had if it has none. */
XP_INLINE struct xp_java_place *xp_java_place(struct xp_state *s)
{
    u32 i = xp_java_places(s);
    return &s->java_places[s->java_places[i].tag == xp_java_tag(s) ? i : i + 1];
}

/* The same; if it has none, the one that was seen less lately. */
XP_INLINE struct xp_java_place *xp_java_new_place(struct xp_state *s)
{
    struct xp_java_place *p = xp_java_place(s);
    u32 i = xp_java_places(s), now = XP_VMA_TICK(s);
    int older = now - s->java_places[i].seen > now - s->java_places[i + 1].seen;
    return p->tag != xp_java_tag(s) && older ? &s->java_places[i] : p;
}

/* `bytes`: of the frame; 0: it is the interpreter's. Out of line, because what calls it has little stack left. */
XP_NOINLINE int xp_keep_place(u32 position, u32 bytes)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    struct xp_java_place *p = xp_java_new_place(s);
    p->tag = xp_java_tag(s);
    p->blob = s->frame_blob;
    p->position = position;
    p->bytes = bytes;
    p->id = bytes ? xp_blob32(s, s->jvm.method_id) : 0;
    p->seen = XP_VMA_TICK(s);
    return 0;
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
