#include "base/pb.h"
#include "base/test.h"

TEST(pb_wire_format)
{
    AUTO_BUF struct buf b = {0};
    pb_uint(&b, 1, 150); /* the example of the encoding's documentation */
    pb_string(&b, 2, "testing");
    pb_uint(&b, 3, 0);
    pb_fixed64(&b, 4, 0x0102030405060708);
    pb_uint(&b, 16, 1);
    static const char want[] = "\x08\x96\x01\x12\x07testing\x21\x08\x07\x06\x05\x04\x03\x02\x01\x80\x01\x01";
    CHECK_EQ(b.len, sizeof(want) - 1);
    CHECK(!memcmp(b.data, want, b.len));
}

TEST(pb_negative_is_ten_bytes)
{
    AUTO_BUF struct buf b = {0};
    pb_int(&b, 1, -1);
    CHECK_EQ(b.len, 11);
    CHECK(!memcmp(b.data, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11));
}

TEST(pb_nested_of_any_length)
{
    for (size_t n = 0; n < 40000; n = n < 300 ? n + 1 : n * 2) {
        AUTO_BUF struct buf b = {0};
        size_t outer = pb_begin(&b, 1), inner = pb_begin(&b, 2);
        for (size_t i = 0; i < n; i++)
            pb_varint(&b, i & 127);
        pb_end(&b, inner);
        pb_end(&b, outer);
        size_t width = n < 128 ? 1 : n < 16384 ? 2 : 3, body = 1 + width + n;
        size_t head = 1 + (body < 128 ? 1 : body < 16384 ? 2 : 3);
        CHECK_EQ(b.len, head + body);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ(b.data[head + 1 + width + i], i & 127);
    }
}
