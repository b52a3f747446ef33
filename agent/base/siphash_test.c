#include "base/siphash.h"
#include "base/test.h"
#include <string.h>

TEST(siphash_vectors)
{
    u8 key[16], out[16];
    for (u8 i = 0; i < 16; i++)
        key[i] = i;
    static const u8 empty[16] = {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                                 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};
    static const u8 zero[16] = {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44,
                                0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45};
    struct siphash h;
    siphash_init(&h, key);
    siphash_end(&h, out);
    CHECK(!memcmp(out, empty, 16));
    siphash_init(&h, key);
    siphash_add(&h, "", 1);
    siphash_end(&h, out);
    CHECK(!memcmp(out, zero, 16));
}

TEST(siphash_does_not_care_about_pieces)
{
    u8 data[100], whole[16], pieces[16];
    for (u8 i = 0; i < sizeof(data); i++)
        data[i] = i;
    struct siphash h;
    siphash_init(&h, data);
    siphash_add(&h, data, sizeof(data));
    siphash_end(&h, whole);
    for (size_t step = 1; step < 20; step++) {
        siphash_init(&h, data);
        for (size_t at = 0; at < sizeof(data); at += step)
            siphash_add(&h, data + at, at + step < sizeof(data) ? step : sizeof(data) - at);
        siphash_end(&h, pieces);
        CHECK(!memcmp(whole, pieces, 16));
    }
}
