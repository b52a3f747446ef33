/* What crafted processes have in common, for tests: to be included behind struct crafted, which has `bytes`, whose
 * offsets are its addresses, and `top`, of those that were given out.
 */
#pragma once
#include "bpf/types.h"
#include <string.h>

static inline void crafted_put(struct crafted *c, u64 at, u64 v, unsigned n)
{
    memcpy(c->bytes + at, &v, n);
}

static inline u64 crafted_get(const struct crafted *c, u64 at)
{
    u64 v;
    memcpy(&v, c->bytes + at, sizeof(v));
    return v;
}

static inline u32 crafted_alloc(struct crafted *c, u32 n)
{
    u32 at = c->top;
    c->top += (n + 15) & ~15u;
    return at;
}

/* Changes so many of n bytes from `at` on, which the seed chooses. */
static inline void crafted_spoil(struct crafted *c, u32 at, u32 n, unsigned changes, u64 *seed)
{
    for (unsigned k = 0; k < changes; k++) {
        *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
        c->bytes[at + (*seed >> 40) % n] = (u8)(*seed >> 32);
    }
}
