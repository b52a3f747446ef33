#include "base/gz.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
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

struct gz_stream {
    z_stream z;
};

int gz_stream_new(struct gz_stream **out, int level)
{
    struct gz_stream *s = calloc(1, sizeof(*s));
    if (!s || deflateInit2(&s->z, level, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(s);
        return -ENOMEM;
    }
    *out = s;
    return 0;
}

void gz_stream_free(struct gz_stream **s)
{
    if (*s)
        deflateEnd(&(*s)->z);
    free(*s);
    *s = NULL;
}

int gz_stream_add(struct gz_stream *s, const void *data, size_t len, bool last, struct buf *out)
{
    int r = len || last ? pump(&s->z, deflate, last ? Z_FINISH : Z_NO_FLUSH, data, len, SIZE_MAX, out) : 0;
    if (!last && r == -EBADMSG) /* not at the end of the stream */
        r = 0;
    return out->failed ? -ENOMEM : r;
}

int gz_compress(const void *data, size_t len, int level, struct buf *out)
{
    struct gz_stream *s = NULL;
    int r = gz_stream_new(&s, level);
    if (!r)
        r = gz_stream_add(s, data, len, true, out);
    gz_stream_free(&s);
    return r;
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
