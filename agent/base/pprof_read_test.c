#include "base/pprof_read.h"
#include "base/cleanup.h"
#include "base/pb.h"
#include "base/test.h"
#include <errno.h>

#define AUTO_PPROF CLEANUP(pprof_free)

static struct cursor bytes(const char *p, size_t n)
{
    return cursor_of(p, n);
}

TEST(pprof_fields_of_each_wire_type)
{
    struct pb_field f = {0};
    struct cursor c = bytes("\x08\x96\x01\x11\1\2\3\4\5\6\7\x08\x1a\2hi\x25\1\2\3\4", 21);
    CHECK(pb_next(&c, &f));
    CHECK(f.number == 1 && f.wire == PB_VARINT && f.value == 150);
    CHECK(pb_next(&c, &f));
    CHECK(f.number == 2 && f.wire == PB_FIXED64 && f.value == 0x0807060504030201);
    CHECK(pb_next(&c, &f));
    CHECK(f.number == 3 && f.wire == PB_BYTES && f.bytes.len == 2 && !memcmp(f.bytes.base, "hi", 2));
    CHECK(pb_next(&c, &f));
    CHECK(f.number == 4 && f.wire == PB_FIXED32 && f.value == 0x04030201);
    CHECK(!pb_next(&c, &f) && !c.bad);
    CHECK_EQ(f.number, 4); /* the end leaves it alone */
}

TEST(pprof_fields_that_are_malformed)
{
    static const struct {
        const char *data;
        size_t len;
    } cases[] = {
        {"\x08", 1},         /* no value */
        {"\x09\1\2\3", 4},   /* half a value */
        {"\x0d\1\2\3", 4},   /* the same, of 4 bytes */
        {"\x0a\3ab", 4},     /* shorter than it says */
        {"\x0b\x08\1", 3},   /* a group, which nobody uses any more */
        {"\x00\1", 2},       /* field 0 */
        {"\x80\x80\x80", 3}, /* a tag without end */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pb_field f = {.number = 77};
        struct cursor c = bytes(cases[i].data, cases[i].len);
        CHECK(!pb_next(&c, &f));
        CHECK(c.bad && f.number == 77);
        CHECK(!pb_next(&c, &f)); /* and nothing behind it */
    }
}

TEST(pprof_numbers_of_a_message)
{
    struct cursor c = bytes("\x08\1\x12\1x\x08\2\x18\3", 9);
    CHECK_EQ(pb_number(c, 1), 2); /* the last one counts */
    CHECK_EQ(pb_number(c, 2), 0); /* no number */
    CHECK_EQ(pb_number(c, 3), 3);
    CHECK_EQ(pb_number(c, 4), 0);
}

TEST(pprof_repeated_numbers_packed_or_not)
{
    uint64_t v = 0;
    struct pb_field packed = {.wire = PB_BYTES, .bytes = bytes("\1\x80\1", 3)};
    CHECK(pb_repeated(&packed, &v) && v == 1);
    CHECK(pb_repeated(&packed, &v) && v == 128);
    CHECK(!pb_repeated(&packed, &v) && !packed.bytes.bad);
    struct pb_field one = {.wire = PB_VARINT, .value = 9};
    CHECK(pb_repeated(&one, &v) && v == 9);
    CHECK(!pb_repeated(&one, &v));
    struct pb_field cut = {.wire = PB_BYTES, .bytes = bytes("\x80", 1)};
    CHECK(!pb_repeated(&cut, &v) && cut.bytes.bad);
}

/* The least that is a profile: a type of sample, and a table of texts that begins with "". */
static void minimal(struct buf *b)
{
    pb_bytes(b, 1, "", 0);
    pb_string(b, 6, "");
}

static int read_buf(struct pprof *p, const struct buf *b)
{
    return pprof_read(p, b->data, b->len);
}

TEST(pprof_tables_of_a_profile)
{
    AUTO_BUF struct buf b = {0};
    AUTO_PPROF struct pprof p;
    memset(&p, 0x55, sizeof(p)); /* whatever was there before */
    minimal(&b);
    pb_bytes(&b, 2, "s", 1);
    pb_bytes(&b, 3, "\x08\5", 2);
    pb_bytes(&b, 3, "\x08\6", 2);
    pb_bytes(&b, 4, "\x08\7", 2);
    pb_bytes(&b, 5, "\x08\x09", 2);
    pb_string(&b, 6, "text");
    pb_uint(&b, 9, 100);
    pb_uint(&b, 10, 200);
    pb_bytes(&b, 11, "pt", 2);
    pb_uint(&b, 12, 300);
    pb_bytes(&b, 13, "comment", 7);
    CHECK_EQ(read_buf(&p, &b), 0);
    CHECK(p.sample_types.n == 1 && p.samples.n == 1 && p.mappings.n == 2 && p.locations.n == 1 && p.functions.n == 1);
    CHECK(p.strings.n == 2 && p.strings.v[1].len == 4 && !memcmp(p.strings.v[1].base, "text", 4));
    CHECK(p.time_ns == 100 && p.duration_ns == 200 && p.period == 300 && p.period_type.len == 2);
    CHECK_EQ(pprof_place(&p.mapping_ids, 5), 1);
    CHECK_EQ(pprof_place(&p.mapping_ids, 6), 2);
    CHECK_EQ(pprof_place(&p.location_ids, 7), 1);
    CHECK_EQ(pprof_place(&p.function_ids, 9), 1);
    CHECK_EQ(pprof_place(&p.function_ids, 7), 0);
    CHECK_EQ(pprof_place(&p.function_ids, 0), 0);
}

/* Tables have messages only, and each id once. */
TEST(pprof_tables_that_are_malformed)
{
    static const struct {
        const char *more;
        size_t len;
    } cases[] = {
        {"\x08\1", 2},                   /* sample types */
        {"\x10\1", 2},                   /* samples */
        {"\x30\1", 2},                   /* texts */
        {"\x58\1", 2},                   /* the type of the period */
        {"\x1a\0", 2},                   /* no id */
        {"\x22\2\x08\0", 4},             /* id 0 */
        {"\x2a\2\x08\1\x2a\2\x08\1", 8}, /* one id for two */
        {"\x48", 1},                     /* cut */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_BUF struct buf b = {0};
        AUTO_PPROF struct pprof p;
        minimal(&b);
        buf_add(&b, cases[i].more, cases[i].len);
        CHECK_EQ(read_buf(&p, &b), -EBADMSG);
    }
}

TEST(pprof_without_what_each_profile_has)
{
    AUTO_BUF struct buf typeless = {0}, textless = {0}, first = {0};
    AUTO_PPROF struct pprof p = {0}, q = {0}, r = {0}, none = {0};
    pb_string(&typeless, 6, "");
    CHECK_EQ(read_buf(&p, &typeless), -EBADMSG);
    pb_bytes(&textless, 1, "", 0);
    CHECK_EQ(read_buf(&q, &textless), -EBADMSG);
    pb_bytes(&first, 1, "", 0);
    pb_string(&first, 6, "not empty");
    CHECK_EQ(read_buf(&r, &first), -EBADMSG);
    CHECK_EQ(pprof_read(&none, "", 0), -EBADMSG);
}

TEST(pprof_is_bounded)
{
    AUTO_BUF struct buf b = {0};
    AUTO_PPROF struct pprof p = {0}, more = {0};
    minimal(&b);
    for (size_t i = 0; i < PPROF_MAX_ITEMS; i++)
        buf_add(&b, "\x12\0", 2);
    CHECK_EQ(read_buf(&p, &b), 0);
    CHECK_EQ(p.samples.n, PPROF_MAX_ITEMS);
    buf_add(&b, "\x12\0", 2);
    CHECK_EQ(read_buf(&more, &b), -E2BIG);
}
