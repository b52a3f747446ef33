/* A variant of base/cursor.h for loops over hundreds of megabytes: the same checks, with the common case inline. */
#pragma once
#include "base/cursor.h"
#include "bpf/types.h"

static inline u64 read_uleb(struct cursor *c)
{
    if (!c->bad && c->pos < c->len && c->base[c->pos] < 0x80)
        return c->base[c->pos++];
    return cursor_uleb(c);
}

static inline s64 read_sleb(struct cursor *c)
{
    if (!c->bad && c->pos < c->len && c->base[c->pos] < 0x80)
        return (s64)((u64)c->base[c->pos++] << 57) >> 57;
    return cursor_sleb(c);
}

/* n is one of 1, 2, 3, 4, 8; anything else is bad. */
static inline u64 read_uint(struct cursor *c, unsigned n)
{
    switch (n) {
    case 1:
        return cursor_u8(c);
    case 2:
        return cursor_u16(c);
    case 3:
        return cursor_uint(c, 3);
    case 4:
        return cursor_u32(c);
    case 8:
        return cursor_u64(c);
    }
    c->bad = true;
    return 0;
}

/* Moves to a position; bad if it is outside. */
static inline void read_seek(struct cursor *c, u64 pos)
{
    if (pos > c->len)
        c->bad = true;
    else
        c->pos = (size_t)pos;
}

static inline void read_skip(struct cursor *c, u64 n)
{
    if (c->bad || n > c->len - c->pos)
        c->bad = true;
    else
        c->pos += (size_t)n;
}
