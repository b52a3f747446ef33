/* Hash functions for internal tables. They do not resist adversaries who choose keys and measure time; use bounded
 * tables for such keys.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Finaliser of MurmurHash3: every input bit moves half of the output bits. */
static inline uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

/* Any bytes, eight at a time. */
static inline uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const uint8_t *b = p;
    uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull);
    for (; n >= 8; b += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, b, 8);
        h = hash_u64(h ^ w);
    }
    uint64_t w = 0;
    memcpy(&w, b, n);
    return hash_u64(h ^ w);
}

/* Of a process: its PID, and its start, which tells it from others that had the number. */
static inline uint64_t hash_process(uint32_t tgid, uint64_t start)
{
    return hash_u64(start ^ hash_u64(tgid));
}

/* The hash of a symbol's name in DT_GNU_HASH. */
static inline uint32_t hash_gnu(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (uint8_t)*name;
    return h;
}

/* Megabytes, 32 bytes at a time, in four chains that do not wait for each other. Another hash than hash_bytes. */
static inline uint64_t hash_block(const void *p, size_t n, uint64_t seed)
{
    const uint8_t *b = p;
    uint64_t h[4] = {seed ^ (n * 0x9e3779b97f4a7c15ull), 1, 2, 3};
    for (; n >= 32; b += 32, n -= 32)
        for (int i = 0; i < 4; i++) {
            uint64_t w;
            memcpy(&w, b + 8 * i, 8);
            h[i] = (h[i] ^ w) * 0xff51afd7ed558ccdull;
            h[i] ^= h[i] >> 32;
        }
    return hash_bytes(b, n, hash_bytes(h, sizeof(h), 0));
}
