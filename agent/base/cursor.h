/* A cursor reads untrusted bytes. It never reads past its end, and it records an attempt to do so.
 *
 * Reads past the end return 0 and set `bad`; the position then stays where the failing read began, for use in error
 * messages. Callers check `bad` once after a group of reads instead of after each. Little-endian.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *base; /* first byte that may be read */
    size_t pos;          /* next byte, <= len */
    size_t len;
    bool bad; /* a read failed; sticky */
};

static inline struct cursor cursor_of(const void *base, size_t len)
{
    return (struct cursor){.base = base, .len = len};
}

static inline size_t cursor_left(const struct cursor *c)
{
    return c->len - c->pos;
}

/* A pointer to the next n bytes, or NULL (and bad). Moves on. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t n)
{
    if (c->bad || n > c->len - c->pos) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *p = c->base + c->pos;
    c->pos += n;
    return p;
}

static inline uint64_t cursor_uint(struct cursor *c, unsigned n)
{
    uint64_t v = 0;
    const uint8_t *p = cursor_take(c, n);
    if (p)
        memcpy(&v, p, n);
    return v;
}
static inline uint8_t cursor_u8(struct cursor *c)
{
    return cursor_uint(c, 1);
}
static inline uint16_t cursor_u16(struct cursor *c)
{
    return cursor_uint(c, 2);
}
static inline uint32_t cursor_u32(struct cursor *c)
{
    return cursor_uint(c, 4);
}
static inline uint64_t cursor_u64(struct cursor *c)
{
    return cursor_uint(c, 8);
}

/* LEB128 (DWARF 5, 7.6). Bits beyond 64 are dropped; more than 10 bytes are bad. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
    uint64_t v = 0;
    size_t at = c->pos;
    for (unsigned shift = 0; !c->bad && c->pos < c->len && shift < 70; shift += 7) {
        uint8_t b = c->base[c->pos++];
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
    c->pos = at;
    c->bad = true;
    return 0;
}
static inline int64_t cursor_sleb(struct cursor *c)
{
    uint64_t v = 0;
    size_t at = c->pos;
    for (unsigned shift = 0; !c->bad && c->pos < c->len && shift < 70; shift += 7) {
        uint8_t b = c->base[c->pos++];
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (b & 0x80)
            continue;
        if (shift + 7 < 64 && (b & 0x40))
            v |= ~0ull << (shift + 7);
        return (int64_t)v;
    }
    c->pos = at;
    c->bad = true;
    return 0;
}

/* A NUL-terminated string inside the cursor, or NULL (and bad). */
static inline const char *cursor_str(struct cursor *c)
{
    const uint8_t *p = c->base + c->pos;
    const uint8_t *nul = c->bad || c->pos == c->len ? NULL : memchr(p, 0, c->len - c->pos);
    if (!nul) {
        c->bad = true;
        return NULL;
    }
    c->pos += (size_t)(nul - p) + 1;
    return (const char *)p;
}

/* Returns the next n bytes as a separate cursor; empty and bad if there are fewer. */
static inline struct cursor cursor_sub(struct cursor *c, size_t n)
{
    const uint8_t *p = cursor_take(c, n);
    return (struct cursor){.base = p ? p : (const uint8_t *)"", .len = p ? n : 0, .bad = !p};
}
