#include "cfi/rows.h"
#include "base/test.h"
#include <errno.h>

TEST(rows_can_be_taken_back)
{
    u32 index[5], out[16];
    struct rows w;
    CHECK_EQ(rows_init(&w, 0x1000, 4, index, out, 16, 100), 0);
    rows_emit(&w, 0x1000, 1);
    struct rows_mark m = rows_mark(&w);
    rows_emit(&w, 0x1400, 2);
    rows_emit(&w, 0x1c00, 3);
    rows_rewind(&w, m);
    rows_emit(&w, 0x1801, 4);
    rows_emit(&w, 0x1802, 4); /* says nothing new */
    rows_finish(&w);
    CHECK_EQ(w.n, 3);
    CHECK_EQ(index[0], 1);
    CHECK_EQ(index[1], 2);
    CHECK_EQ(index[2], 2);
    CHECK_EQ(index[3], 3);
    CHECK_EQ(index[4], 3);
    CHECK_EQ(out[2] & 0xffff, 1);
    rows_free(&w);
}

TEST(rows_number_many_rules)
{
    u32 index[66], out[65536];
    struct rows w;
    CHECK_EQ(rows_init(&w, 0, 65, index, out, 65536, 65535), 0);
    for (u64 i = 1; i < 65535; i++)
        rows_emit(&w, i, i * 0x100000001ull);
    CHECK_EQ(w.nrules, 65535);
    rows_emit(&w, 65534, 0x100000001ull); /* which is known since long */
    w.n--;
    CHECK_EQ(w.nrules, 65535);
    CHECK_EQ(w.err, 0);
    for (u32 i = 1; i < 65535; i++)
        CHECK_EQ(w.rules[out[i] >> 16], i * 0x100000001ull);
    rows_emit(&w, 65535, 7ull << 60);
    CHECK_EQ(w.err, -ENOSPC);
    rows_free(&w);
}
