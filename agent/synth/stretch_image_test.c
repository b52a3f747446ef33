#include "synth/stretch_image.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/test.h"
#include <errno.h>
#include <string.h>

static const u32 wanted[] = {4, 9};

/* Two ranges: three rows, one row. */
static int make(struct synth *s)
{
    static const u64 starts[] = {4ull * SYNTH_STRETCH, 9ull * SYNTH_STRETCH + 5}, at[] = {0, 3, 77};
    for (int r = 0; r < 2; r++) {
        struct synth_span *span = VEC_PUSH(&s->ranges);
        *span = (struct synth_span){starts[r], starts[r] + 100};
        for (int i = 0; i < (r ? 1 : 3); i++) {
            struct synth_row *row = VEC_PUSH(&s->rows);
            *row = (struct synth_row){starts[r] + at[i], {.cfa_off = i == 1 ? 16 : 8, .kind = XP_RULE_SYNTH}};
        }
    }
    s->n = (struct synth_counts){.code_bytes = 200, .claimed_bytes = 190};
    return 0;
}

static struct stretch_image *image_of(const struct buf *b)
{
    return (struct stretch_image *)b->data;
}

TEST(stretch_image_comes_back)
{
    AUTO_SYNTH struct synth s = {0}, back = {0};
    AUTO_BUF struct buf b = {0};
    size_t n;
    make(&s);
    CHECK_EQ(stretch_image_write(&s, wanted, 2, &b), 0);
    CHECK_EQ(stretch_image_check(b.data, b.len), 0);
    CHECK_EQ(image_of(&b)->nrules, 2);
    const u32 *numbers = stretch_image_wanted(b.data, &n);
    CHECK(n == 2 && !memcmp(numbers, wanted, sizeof(wanted)));
    CHECK_EQ(stretch_image_read(b.data, &back), 0);
    CHECK(back.ranges.n == 2 && !memcmp(back.ranges.v, s.ranges.v, 2 * sizeof(*s.ranges.v)));
    CHECK(back.rows.n == 4 && !memcmp(back.rows.v, s.rows.v, 4 * sizeof(*s.rows.v)));
    CHECK_EQ(back.n.claimed_bytes, 190);
}

/* Whatever byte is another one, the image is refused; and with the checksum made good, nothing is read outside of it.
 */
TEST(stretch_image_is_checked)
{
    AUTO_SYNTH struct synth s = {0};
    AUTO_BUF struct buf b = {0};
    unsigned sound = 0;
    make(&s);
    CHECK_EQ(stretch_image_write(&s, wanted, 2, &b), 0);
    for (size_t len = 0; len < b.len; len++)
        CHECK_EQ(stretch_image_check(b.data, len), -EBADMSG);
    for (size_t i = 0; i < b.len; i++) {
        b.data[i] ^= 0x11;
        CHECK_EQ(stretch_image_check(b.data, b.len), -EBADMSG);
        u64 sum = image_of(&b)->checksum;
        const size_t from = offsetof(struct stretch_image, counts);
        image_of(&b)->checksum = hash_block(b.data + from, b.len - from, 0);
        if (!stretch_image_check(b.data, b.len)) {
            AUTO_SYNTH struct synth back = {0};
            CHECK_EQ(stretch_image_read(b.data, &back), 0);
            CHECK(back.rows.n == 4 && back.rows.v[0].offset == back.ranges.v[0].start);
            sound++;
        }
        image_of(&b)->checksum = sum;
        b.data[i] ^= 0x11;
    }
    CHECK(sound > 0); /* a counter, a rule */
    CHECK_EQ(stretch_image_check(b.data, b.len), 0);
}

TEST(stretch_image_has_a_limit_of_rules)
{
    AUTO_SYNTH struct synth s = {0};
    AUTO_BUF struct buf b = {0};
    *VEC_PUSH(&s.ranges) = (struct synth_span){0, 4096};
    for (u32 i = 0; i <= 2048; i++) {
        struct synth_row *row = VEC_PUSH(&s.rows);
        *row = (struct synth_row){i, {.cfa_off = (s32)i}};
    }
    CHECK_EQ(stretch_image_write(&s, wanted, 2, &b), -E2BIG);
    s.rows.n--;
    CHECK_EQ(stretch_image_write(&s, wanted, 2, &b), 0);
    CHECK_EQ(stretch_image_check(b.data, b.len), 0);
}

TEST(stretch_image_key_tells_files_apart)
{
    static const u8 secret[16] = {1}, other[16] = {2};
    struct xp_file_key file = {.ino = 5, .ctime_nsec = 7}, changed = {.ino = 5, .ctime_nsec = 8};
    u8 key[5][16];
    stretch_image_key(secret, 1, &file, key[0]);
    stretch_image_key(secret, 1, &changed, key[1]);
    stretch_image_key(secret, 2, &file, key[2]);
    stretch_image_key(other, 1, &file, key[3]);
    stretch_image_key(secret, 1, &file, key[4]);
    CHECK(!memcmp(key[0], key[4], 16));
    for (int i = 1; i < 4; i++)
        CHECK(memcmp(key[0], key[i], 16));
}
