/* Encodes protocol buffers into a buf. Nested messages are written between pb_begin and pb_end.
 *
 *     size_t m = pb_begin(b, 4);
 *     pb_uint(b, 1, id);
 *     pb_end(b, m);
 *
 * Fields of value 0 are left out, as proto3 does; inside packed lists use pb_varint, which writes them.
 */
#pragma once
#include "base/buf.h"
#include <stdint.h>

void pb_uint(struct buf *b, unsigned field, uint64_t v);
static inline void pb_int(struct buf *b, unsigned field, int64_t v)
{
    pb_uint(b, field, (uint64_t)v); /* int64: two's complement, ten bytes when negative */
}
void pb_fixed64(struct buf *b, unsigned field, uint64_t v);
void pb_bytes(struct buf *b, unsigned field, const void *p, size_t n); /* written even when empty */
void pb_string(struct buf *b, unsigned field, const char *s);          /* written even when empty */

/* A nested message, or a packed list, of any length. */
size_t pb_begin(struct buf *b, unsigned field);
void pb_end(struct buf *b, size_t mark);

void pb_varint(struct buf *b, uint64_t v); /* without a field: an item of a packed list */
