#include "base/gz.h"
#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* 32 KiB, with a gzip header, whose mtime zlib leaves 0 */
#define PIECE       65536

/* Runs `step` until it is done or fails, moving its output to `out`; `last` is the flush mode once all input is
 * there. zlib counts in 32 bits: input goes in pieces, too. */
static int pump(z_stream *z, int (*step)(z_streamp, int), int last, const uint8_t *data, size_t len, size_t max,
                struct buf *out)
{
    uint8_t piece[PIECE];
    int r = Z_OK;
    size_t total = 0;
    while (r == Z_OK) {
        if (!z->avail_in && len) {
            z->next_in = (Bytef *)(uintptr_t)data;
            z->avail_in = len > PIECE ? PIECE : (uInt)len;
            data += z->avail_in;
            len -= z->avail_in;
        }
        z->next_out = piece;
        z->avail_out = PIECE;
        r = step(z, len ? Z_NO_FLUSH : last);
        total += PIECE - z->avail_out;
        if (total > max)
            return -EFBIG;
        buf_add(out, piece, PIECE - z->avail_out);
    }
    return r == Z_STREAM_END ? 0 : r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int gz_compress(const void *data, size_t len, int level, struct buf *out)
{
    z_stream z = {0};
    if (deflateInit2(&z, level, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    int r = pump(&z, deflate, Z_FINISH, data, len, SIZE_MAX, out);
    deflateEnd(&z);
    return out->failed ? -ENOMEM : r;
}

int gz_expand(const void *data, size_t len, size_t max, struct buf *out)
{
    z_stream z = {0};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return -ENOMEM;
    int r = pump(&z, inflate, Z_NO_FLUSH, data, len, max, out);
    inflateEnd(&z);
    return out->failed ? -ENOMEM : r;
}
