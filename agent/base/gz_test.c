#include "base/gz.h"
#include "base/test.h"
#include <errno.h>

TEST(gz_round_trip)
{
    AUTO_BUF struct buf in = {0}, packed = {0}, out = {0};
    for (unsigned i = 0; i < 100000; i++)
        buf_printf(&in, "%x,", i * 2654435761u);
    CHECK_EQ(gz_compress(in.data, in.len, 6, &packed), 0);
    CHECK(packed.len < in.len);
    CHECK_EQ(gz_expand(packed.data, packed.len, in.len, &out), 0);
    CHECK_EQ(out.len, in.len);
    CHECK(!memcmp(out.data, in.data, in.len));
}

TEST(gz_bit_by_bit)
{
    AUTO_BUF struct buf in = {0}, packed = {0}, out = {0};
    struct gz_stream *s = NULL;
    CHECK_EQ(gz_stream_new(&s, 1), 0);
    for (unsigned i = 0; i < 100000; i++) {
        size_t at = in.len;
        buf_printf(&in, "%x,", i * 2654435761u);
        CHECK_EQ(gz_stream_add(s, in.data + at, in.len - at, false, &packed), 0);
    }
    CHECK_EQ(gz_stream_add(s, NULL, 0, true, &packed), 0);
    gz_stream_free(&s);
    CHECK_EQ(gz_expand(packed.data, packed.len, in.len, &out), 0);
    CHECK(out.len == in.len && !memcmp(out.data, in.data, in.len));
}

TEST(gz_empty)
{
    AUTO_BUF struct buf packed = {0}, out = {0};
    CHECK_EQ(gz_compress("", 0, 9, &packed), 0);
    CHECK_EQ(gz_expand(packed.data, packed.len, 0, &out), 0);
    CHECK_EQ(out.len, 0);
}

TEST(gz_header_has_no_time)
{
    AUTO_BUF struct buf packed = {0};
    CHECK_EQ(gz_compress("abc", 3, 6, &packed), 0);
    CHECK(!memcmp(packed.data, "\x1f\x8b\x08\0\0\0\0\0", 8));
}

TEST(gz_refuses_bad_bytes)
{
    AUTO_BUF struct buf packed = {0}, out = {0};
    CHECK_EQ(gz_compress("some text, long enough to be cut", 32, 6, &packed), 0);
    CHECK_EQ(gz_expand(packed.data, packed.len - 1, 1000, &out), -EBADMSG);
    CHECK_EQ(gz_expand("nothing like gzip", 17, 1000, &out), -EBADMSG);
    CHECK_EQ(gz_expand(packed.data, packed.len, 31, &out), -EFBIG);
}
