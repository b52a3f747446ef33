#include "base/cleanup.h"
#include "elf/stream.h"
#include <errno.h>
#include <libdeflate.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Deflate cannot do better than 1032:1, and zstd's real sections stay far below: a header that claims more lies. */
#define MAX_RATIO     1100
#define PIECE         ((size_t)256 << 10) /* the counters of zlib are 32-bit */
#define ZSTD_TYPE     2                   /* ELFCOMPRESS_ZSTD, not in every elf.h */
#define ZDEBUG_HEADER 12

struct elf_stream {
    ZSTD_DStream *zstd; /* NULL: zlib */
    z_stream zlib;
    const u8 *in, *end;
    u64 left; /* bytes to come */
};

static int start(struct elf_stream *z, u32 type)
{
    if (type == ZSTD_TYPE)
        return (z->zstd = ZSTD_createDStream()) ? 0 : -ENOMEM;
    if (type != ELFCOMPRESS_ZLIB)
        return -ENOTSUP;
    return inflateInit(&z->zlib) == Z_OK ? 0 : -ENOMEM;
}

/* The header of a compressed section; how long it is, 0: there is none. */
static size_t read_header(const struct elf_section *s, Elf64_Chdr *h)
{
    *h = (Elf64_Chdr){.ch_type = ELFCOMPRESS_ZLIB};
    if (!s->zdebug) {
        if (s->len < sizeof(*h))
            return 0;
        memcpy(h, s->data, sizeof(*h));
        return sizeof(*h);
    }
    if (s->len < ZDEBUG_HEADER || memcmp(s->data, "ZLIB", 4) != 0)
        return 0;
    for (int i = 4; i < ZDEBUG_HEADER; i++)
        h->ch_size = h->ch_size << 8 | s->data[i];
    return ZDEBUG_HEADER;
}

int elf_stream_new(struct elf_stream **out, const struct elf_section *s, size_t cap, u64 *size)
{
    Elf64_Chdr h;
    size_t header = read_header(s, &h);
    if (!header)
        return -EBADMSG;
    if (h.ch_size > cap)
        return -ENOSPC;
    if (h.ch_size / MAX_RATIO > s->len - header)
        return -EBADMSG;
    AUTO_FREE struct elf_stream *z = calloc(1, sizeof(*z));
    if (!z)
        return -ENOMEM;
    z->in = s->data + header;
    z->end = s->data + s->len;
    z->left = h.ch_size;
    int err = start(z, h.ch_type);
    if (err)
        return err;
    *size = h.ch_size;
    *out = TAKE_PTR(z);
    return 0;
}

void elf_stream_free(struct elf_stream **z)
{
    if (!*z)
        return;
    if ((*z)->zstd)
        ZSTD_freeDStream((*z)->zstd);
    else
        inflateEnd(&(*z)->zlib);
    free(*z);
    *z = NULL;
}

/* One step: how many bytes it made; 0: it is stuck or at its end. */
static size_t step_zlib(struct elf_stream *z, u8 *out, size_t n)
{
    size_t in = (size_t)(z->end - z->in);
    z->zlib.next_in = (u8 *)z->in;
    z->zlib.avail_in = in < PIECE ? (unsigned)in : (unsigned)PIECE;
    z->zlib.next_out = out;
    z->zlib.avail_out = n < PIECE ? (unsigned)n : (unsigned)PIECE;
    int r = inflate(&z->zlib, Z_NO_FLUSH);
    z->in = z->zlib.next_in;
    return r == Z_OK || r == Z_STREAM_END ? (size_t)(z->zlib.next_out - out) : 0;
}

static size_t step_zstd(struct elf_stream *z, u8 *out, size_t n)
{
    ZSTD_inBuffer in = {.src = z->in, .size = (size_t)(z->end - z->in)};
    ZSTD_outBuffer to = {.dst = out, .size = n};
    size_t before;
    do { /* input may be taken without output */
        before = in.pos;
        if (ZSTD_isError(ZSTD_decompressStream(z->zstd, &to, &in)))
            return 0;
    } while (!to.pos && in.pos != before);
    z->in += in.pos;
    return to.pos;
}

int elf_stream_read(struct elf_stream *z, u8 *out, size_t n)
{
    if (n > z->left)
        return -EBADMSG;
    z->left -= n;
    while (n) {
        size_t got = z->zstd ? step_zstd(z, out, n) : step_zlib(z, out, n);
        if (!got)
            return -EBADMSG;
        out += got;
        n -= got;
    }
    return 0;
}

const u8 *elf_stream_at(const struct elf_stream *z)
{
    return z->in;
}

/* A zlib stream as a whole, which takes libdeflate less than half the time. False: it is none that is sound, or holds
 * other than `size` bytes. */
static bool inflate_whole(struct elf_stream *z, u8 *out, size_t size)
{
    if (z->zstd)
        return false;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    bool done = d && !libdeflate_zlib_decompress(d, z->in, (size_t)(z->end - z->in), out, size, NULL);
    libdeflate_free_decompressor(d);
    return done;
}

int elf_section_bytes(const struct elf_section *s, size_t cap, struct elf_bytes *out)
{
    if (!(s->flags & SHF_COMPRESSED)) {
        *out = (struct elf_bytes){.data = s->data, .len = s->len};
        return 0;
    }
    CLEANUP(elf_stream_free) struct elf_stream *z = NULL;
    u64 size;
    int err = elf_stream_new(&z, s, cap, &size);
    if (err)
        return err;
    AUTO_FREE u8 *data = malloc(size + 1); /* never malloc(0) */
    if (!data)
        return -ENOMEM;
    err = inflate_whole(z, data, size) ? 0 : elf_stream_read(z, data, size);
    if (err)
        return err;
    *out = (struct elf_bytes){.data = data, .len = size, .owned = data};
    (void)TAKE_PTR(data);
    return 0;
}

void elf_bytes_free(struct elf_bytes *b)
{
    free(b->owned);
    *b = (struct elf_bytes){0};
}
