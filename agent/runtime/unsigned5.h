/* Numbers as HotSpot stores them in its streams of debug information and lines: one to five bytes, the lower ones first
 * (src/hotspot/share/utilities/unsigned5.hpp). Bytes below a limit end a number; the others have 64 values each. Since
 * JDK 20, no byte is 0, and all are one higher.
 */
#pragma once
#include "base/cursor.h"
#include "bpf/types.h"

#define UNSIGNED5_MAX_BYTES 5

/* `zero`: the byte that means 0. Beyond the end of the cursor, and with bytes below `zero`, it becomes bad. */
static inline u32 unsigned5(struct cursor *c, u8 zero)
{
    u32 v = 0;
    for (unsigned i = 0; i < UNSIGNED5_MAX_BYTES; i++) {
        u8 b = cursor_u8(c);
        c->bad |= b < zero;
        if (c->bad)
            return 0;
        b = (u8)(b - zero);
        v += (u32)b << (6 * i);
        if (b < 192 - zero)
            break;
    }
    return v;
}

/* Signed numbers have their sign in the lowest bit. */
static inline s32 unsigned5_signed(struct cursor *c, u8 zero)
{
    u32 v = unsigned5(c, zero);
    return (s32)(v >> 1 ^ -(v & 1));
}
