/* A hash index of the rows of a table. The caller keeps the table and compares keys. Open addressing with one u64 per
 * slot (32 bits of the hash, row + 1), so that a look-up rarely reads the table itself, and growing never does. Rows
 * are not removed.
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

/* Finds the next row with (most likely) the same hash; false: there are no more. */
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

/* Returns the number of bytes by which the next lookup_put grows the index, mostly 0. For callers with a memory
 * budget. */
static inline size_t lookup_growth(const struct lookup *l)
{
    if (2 * (l->n + 1) <= l->cap)
        return 0;
    return (l->cap ? l->cap : 64) * sizeof(u64);
}

/* Adds a row, which must be new. Returns 0 or -ENOMEM. */
int lookup_put(struct lookup *l, u64 hash, u32 row);
void lookup_free(struct lookup *l);

/* Folds the 128-bit product of two 64-bit numbers: the step of the hashes below (from wyhash). */
static inline u64 lookup_mix(u64 a, u64 b)
{
    unsigned __int128 r = (unsigned __int128)a * b;
    return (u64)r ^ (u64)(r >> 64);
}
/* Hashes u64 words, two at a time. With a secret seed, collisions cannot be chosen by those who choose the words. */
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
