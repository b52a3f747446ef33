#include "base/siphash.h"
#include <string.h>

static inline u64 rotl(u64 x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static inline void sip_round(u64 v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

static inline void compress(u64 v[4], u64 m)
{
    v[3] ^= m;
    sip_round(v);
    sip_round(v);
    v[0] ^= m;
}

static inline u64 load64(const u8 *p)
{
    u64 v;
    memcpy(&v, p, sizeof(v));
    return v;
}

void siphash_init(struct siphash *h, const u8 key[16])
{
    u64 k0 = load64(key), k1 = load64(key + 8);
    *h = (struct siphash){.v = {k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull ^ 0xee,
                                k0 ^ 0x6c7967656e657261ull, k1 ^ 0x7465646279746573ull}};
}

void siphash_add(struct siphash *h, const void *data, size_t len)
{
    const u8 *p = data, *end = p + len;
    size_t have = h->total & 7;
    h->total += len;
    if (have) {
        size_t n = len < 8 - have ? len : 8 - have;
        memcpy(h->tail + have, p, n);
        p += n;
        if (have + n < 8)
            return;
        compress(h->v, load64(h->tail));
    }
    u64 v[4];
    memcpy(v, h->v, sizeof(v)); /* in registers */
    for (; end - p >= 8; p += 8)
        compress(v, load64(p));
    memcpy(h->v, v, sizeof(v));
    if (p < end)
        memcpy(h->tail, p, (size_t)(end - p));
}

void siphash_end(struct siphash *h, u8 out[16])
{
    u64 last = h->total << 56, halves[2];
    memcpy(&last, h->tail, h->total & 7);
    compress(h->v, last);
    for (unsigned i = 0; i < 2; i++) {
        h->v[i ? 1 : 2] ^= i ? 0xdd : 0xee;
        for (unsigned k = 0; k < 4; k++)
            sip_round(h->v);
        halves[i] = h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
    }
    memcpy(out, halves, sizeof(halves));
}
