/* Reads LEB128 (DWARF 5, 7.6) in loops for which a cursor is too slow. *p advances, but never past end. Bits beyond 64
 * are dropped. More than 10 bytes are malformed: false.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>

static inline bool leb_long(const u8 **p, const u8 *end, bool is_signed, u64 *out)
{
    u64 v = 0;
    for (unsigned shift = 0; *p < end && shift < 70; shift += 7) {
        u8 b = *(*p)++;
        if (shift < 64)
            v |= (u64)(b & 0x7f) << shift;
        if (b & 0x80)
            continue;
        if (is_signed && shift + 7 < 64 && (b & 0x40))
            v |= ~0ull << (shift + 7);
        *out = v;
        return true;
    }
    return false;
}

static inline bool leb_unsigned(const u8 **p, const u8 *end, u64 *out)
{
    if (*p < end && **p < 0x80) { /* nearly all */
        *out = *(*p)++;
        return true;
    }
    return leb_long(p, end, false, out);
}

static inline bool leb_signed(const u8 **p, const u8 *end, s64 *out)
{
    return leb_long(p, end, true, (u64 *)out);
}
