/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Finds the piece of code of HotSpot (CodeBlob) that an address is in, and what kind it is (hotspot.bpf.h). All of this
 * is memory of the process, so it is not trusted.
 */
#pragma once

#define XP_SEGMENT_HOPS 24 /* in the map of segments: each one leads back over up to 254 */

enum xp_blob_kind { XP_BLOB_STUB, XP_BLOB_METHOD, XP_BLOB_INTERPRETER, XP_BLOB_BARE, XP_BLOB_ADAPTER, XP_BLOB_DEOPT };

/* Fields of the blob of the current frame, in s->blob; all are aligned (hotspot_check). */
XP_INLINE u32 xp_blob32(const struct xp_state *s, u32 at)
{
    return *(const u32 *)(s->blob + (at & (XP_BLOB_BYTES - 4)));
}

XP_INLINE u64 xp_blob64(const struct xp_state *s, u32 at)
{
    return *(const u64 *)(s->blob + (at & (XP_BLOB_BYTES - 8)));
}

/* By the first letters of its name: all versions use the same. Those that are bare have no frame of their own. */
XP_INLINE u32 xp_blob_kind(u64 name)
{
    u32 letters = (u32)name;
    if (letters == 0x6974616e) /* native nmethod; native signature handlers */
        return name >> 56 == 'n' ? XP_BLOB_METHOD : XP_BLOB_BARE;
    return letters == 0x74656d6e   ? XP_BLOB_METHOD      /* nmet(hod) */
           : letters == 0x65746e49 ? XP_BLOB_INTERPRETER /* Inte(rpreter) */
           : letters == 0x2f433249 ? XP_BLOB_ADAPTER     /* I2C/(C2I adapters) */
           : letters == 0x706f6544 || letters == 0x6f636e55
               ? XP_BLOB_DEOPT                              /* Deop(timizationBlob), Unco(mmonTrapBlob) */
           : letters == 0x62617476 || letters == 0x62617469 /* vtab(le chunks), itab(le) */
                   || letters == 0x696c6e49 || letters == 0x6874654d
               ? XP_BLOB_BARE /* Inli(neCacheBuffer), Meth(odHandlesAdapterBlob) */
               : XP_BLOB_STUB;
}

XP_INLINE int xp_in_code(const struct xp_state *s, u64 at)
{
    return at - s->jvm.low < s->jvm.high - s->jvm.low;
}

/* Returns the heap's number; XP_JVM_HEAPS: it is in none. It goes through memory, of which the verifier does not know
 * the value: else it would follow what comes next for each heap. */
XP_INLINE u32 xp_java_heap(struct xp_state *s, u64 at)
{
    volatile u64 *found = &s->loaded;
    *found = XP_JVM_HEAPS;
    for (u32 i = 0; i < XP_JVM_HEAPS; i++)
        if (at - s->jvm.heap[i].low < s->jvm.heap[i].high - s->jvm.heap[i].low)
            *found = i;
    return (u32)*found;
}

/* Finds the blob of an address, and reads the start of it and of its name. Returns its address, or 0. Out of line, so
 * that it is verified once. */
XP_NOINLINE u64 xp_find_blob(u64 at)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    u32 i = xp_java_heap(s, at);
    if (i >= XP_JVM_HEAPS)
        return 0;
    asm volatile("" : "+r"(i)); /* clang would leave out the mask, which the verifier needs */
    const struct xp_jvm_heap *h = &s->jvm.heap[i & (XP_JVM_HEAPS - 1)];
    u64 segment = (at - h->low) >> (h->shift & 31), name = 0;
    u8 tag = 0;
    for (u32 hop = 0; hop < XP_SEGMENT_HOPS; hop++) {
        if (xp_read_user(&tag, 1, h->segmap + segment) || tag == 0xff || tag > segment)
            return 0;
        if (!tag)
            break;
        segment -= tag;
    }
    u64 blob = h->low + (segment << (h->shift & 31)) + s->jvm.block_header;
    if (tag || blob > at || xp_read_user(s->blob, XP_BLOB_READ, blob) ||
        xp_read_user(&name, 8, xp_blob64(s, s->jvm.blob_name)))
        return 0;
    s->blob_kind = xp_blob_kind(name);
    return blob;
}

XP_INLINE u64 xp_blob_code(const struct xp_state *s, u64 blob)
{
    return s->jvm.code_is_offset ? blob + (s32)xp_blob32(s, s->jvm.blob_code) : xp_blob64(s, s->jvm.blob_code);
}

XP_INLINE u32 xp_frame_complete(const struct xp_state *s)
{
    u32 at = s->jvm.blob_frame_complete;
    return s->jvm.frame_complete_bytes == 2 ? (u32)(s32) * (const s16 *)(s->blob + (at & (XP_BLOB_BYTES - 2)))
                                            : xp_blob32(s, at);
}
