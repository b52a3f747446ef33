/* What line indexes (dwarf.h) and name indexes (name_index.h) have in common: a header, and blocks that are found by
 * their first offset.
 */
#pragma once
#include "base/hash.h"
#include "bpf/types.h"
#include <stdbool.h>

/* Returns 1 + the last of n blocks that starts at or in front of rel; 0: none. */
static inline size_t blocks_find(const u32 *start, size_t n, u32 rel)
{
    size_t lo = 0;
    while (n) {
        size_t half = n / 2;
        bool right = start[lo + half] <= rel;
        lo = right ? lo + half + 1 : lo;
        n = right ? n - half - 1 : half;
    }
    return lo;
}

/* Returns the checksum of an index of `len` bytes. `header`: a copy of its first `size` bytes, with a checksum of 0. */
static inline u64 blocks_checksum(const void *header, size_t size, const void *index, size_t len)
{
    return hash_block((const u8 *)index + size, len - size, hash_bytes(header, size, 0));
}
