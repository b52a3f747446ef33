/* Checks UTF-8 (RFC 3629). Names in binaries are arbitrary bytes, but the output must be valid text. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Returns the length (1-4) of the valid sequence at s, of which `left` bytes may be read; 0 if it is not valid. */
static inline size_t utf8_len(const char *s, size_t left)
{
    const uint8_t *p = (const uint8_t *)s;
    if (!left || p[0] < 0x80)
        return left ? 1 : 0;
    size_t n = p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : 0;
    if (!n || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) /* overlong; surrogates */
        return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) /* overlong; above U+10FFFF */
        return 0;
    return n;
}

/* The bytes of a character below 0x110000. Returns how many. */
static inline size_t utf8_put(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(0xf00 >> n | c);
    return n;
}
