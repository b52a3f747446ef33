#include "base/pb.h"
#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static size_t put_varint(uint8_t out[10], uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

void pb_varint(struct buf *b, uint64_t v)
{
    uint8_t bytes[10];
    buf_add(b, bytes, put_varint(bytes, v));
}

static void tag(struct buf *b, unsigned field, enum wire wire)
{
    pb_varint(b, (uint64_t)field << 3 | wire);
}

void pb_uint(struct buf *b, unsigned field, uint64_t v)
{
    if (!v)
        return;
    tag(b, field, WIRE_VARINT);
    pb_varint(b, v);
}

void pb_fixed64(struct buf *b, unsigned field, uint64_t v)
{
    if (!v)
        return;
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> 8 * i);
    tag(b, field, WIRE_FIXED64);
    buf_add(b, bytes, 8);
}

void pb_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
    tag(b, field, WIRE_BYTES);
    pb_varint(b, n);
    buf_add(b, p, n);
}

void pb_string(struct buf *b, unsigned field, const char *s)
{
    pb_bytes(b, field, s, strlen(s));
}

/* One byte is kept for the length, which most messages need; pb_end makes room for more. */
size_t pb_begin(struct buf *b, unsigned field)
{
    tag(b, field, WIRE_BYTES);
    buf_char(b, 0);
    return b->len;
}

void pb_end(struct buf *b, size_t mark)
{
    if (b->failed)
        return;
    uint8_t bytes[10];
    size_t len = b->len - mark, n = put_varint(bytes, len);
    buf_add(b, bytes, n - 1); /* only for the room */
    if (b->failed)
        return;
    memmove(b->data + mark + n - 1, b->data + mark, len);
    memcpy(b->data + mark - 1, bytes, n);
}
