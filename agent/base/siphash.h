/* SipHash-2-4 with 128 bits of output (Aumasson and Bernstein): a keyed hash; without the key, nobody can construct
 * collisions.
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

struct siphash {
    u64 v[4];
    u64 total;
    u8 tail[8];
};

void siphash_init(struct siphash *h, const u8 key[16]);
void siphash_add(struct siphash *h, const void *data, size_t len);
void siphash_end(struct siphash *h, u8 out[16]);
