/* lookup: hash -> rows of a table that the caller keeps and compares. Open addressing over one u64 a slot (32 bits of
 * the hash, row + 1), so that a probe rarely touches the table itself and growing never does. Rows are not removed.
 *
 *     for (struct probe p = lookup_start(&l, hash); lookup_next(&l, &p, &row);)
 *         if (equal(table[row], key))
 *             return row;
 *     lookup_put(&l, hash, new_row);
 */
#pragma once
#include "base/hash.h"
#include "bpf/types.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct lookup {
    u64 *slots;
    size_t n, cap; /* cap is 0 or a power of two, at least twice n */
};
struct probe {
    size_t at;
    u32 tag;
};

static inline struct probe lookup_start(const struct lookup *l, u64 hash)
{
    u32 tag = (u32)(hash >> 32);
    return (struct probe){.at = l->cap ? tag & (l->cap - 1) : 0, .tag = tag};
}

/* The next row whose hash is (most likely) the same; false when there is none left. */
static inline bool lookup_next(const struct lookup *l, struct probe *p, u32 *row)
{
    while (l->cap) {
        u64 slot = l->slots[p->at];
        if (!slot)
            return false;
        p->at = (p->at + 1) & (l->cap - 1);
        if (slot >> 32 == p->tag) {
            *row = (u32)slot - 1;
            return true;
        }
    }
    return false;
}

/* Bytes by which the next lookup_put grows; 0 most of the time. For callers with a budget. */
static inline size_t lookup_growth(const struct lookup *l)
{
    if (2 * (l->n + 1) <= l->cap)
        return 0;
    return (l->cap ? l->cap : 64) * sizeof(u64);
}

/* 0 or -ENOMEM. The row must not be there yet. */
int lookup_put(struct lookup *l, u64 hash, u32 row);
void lookup_free(struct lookup *l);

/* 64 x 64 -> 128 bits, folded: the step of the hashes below (wyhash's). */
static inline u64 lookup_mix(u64 a, u64 b)
{
    unsigned __int128 r = (unsigned __int128)a * b;
    return (u64)r ^ (u64)(r >> 64);
}
/* Hash of u64 words, two at a time; a secret seed keeps those who choose the words from choosing the collisions. */
static inline u64 lookup_hash(const u64 *w, size_t n, u64 seed)
{
    u64 h = seed ^ n * 0x9e3779b97f4a7c15ull;
    size_t i = 0;
    for (; i + 2 <= n; i += 2)
        h = lookup_mix(w[i] ^ 0xa0761d6478bd642full ^ h, w[i + 1] ^ 0xe7037ed1a0b428dbull ^ seed) + h;
    if (i < n)
        h = lookup_mix(w[i] ^ 0x8ebc6af09c88c6e3ull, h ^ 0x589965cc75374cc3ull);
    return hash_u64(h);
}
