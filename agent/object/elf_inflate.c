/* Compressed sections (gABI, "Section Compression"): a header that says how, then one stream. */
#include "base/cleanup.h"
#include "object/elf_file.h"
#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Deflate cannot do better than 1032:1, and zstd's real sections stay far below: a header that claims more lies. */
#define MAX_RATIO 1100

static int inflate_zlib(const u8 *in, size_t len, u8 *out, size_t size)
{
    z_stream z = {.next_in = (u8 *)in, .next_out = out};
    if (inflateInit(&z) != Z_OK)
        return -ENOMEM;
    int r = Z_OK;
    while (r == Z_OK) { /* the counters of zlib are 32-bit: feed it in pieces */
        size_t in_left = len - (size_t)(z.next_in - in), out_left = size - (size_t)(z.next_out - out);
        z.avail_in = in_left > 1u << 30 ? 1u << 30 : (unsigned)in_left;
        z.avail_out = out_left > 1u << 30 ? 1u << 30 : (unsigned)out_left;
        r = inflate(&z, Z_NO_FLUSH);
    }
    bool whole = r == Z_STREAM_END && (size_t)(z.next_out - out) == size;
    inflateEnd(&z);
    return whole ? 0 : -EBADMSG;
}

int elf_section_bytes(const struct elf_section *s, size_t cap, struct elf_bytes *out)
{
    if (!(s->flags & SHF_COMPRESSED)) {
        *out = (struct elf_bytes){.data = s->data, .len = s->len};
        return 0;
    }
    Elf64_Chdr h;
    if (s->len < sizeof(h))
        return -EBADMSG;
    memcpy(&h, s->data, sizeof(h));
    const u8 *in = s->data + sizeof(h);
    size_t len = s->len - sizeof(h);
    if (h.ch_size > cap)
        return -ENOSPC;
    if (h.ch_size / MAX_RATIO > len)
        return -EBADMSG;
    AUTO_FREE u8 *data = malloc(h.ch_size + 1); /* never malloc(0) */
    if (!data)
        return -ENOMEM;
    int err = -EBADMSG;
    if (h.ch_type == ELFCOMPRESS_ZLIB)
        err = inflate_zlib(in, len, data, h.ch_size);
    else if (h.ch_type == 2) /* ELFCOMPRESS_ZSTD, not in every elf.h */
        err = ZSTD_decompress(data, h.ch_size, in, len) == h.ch_size ? 0 : -EBADMSG;
    if (err)
        return err;
    *out = (struct elf_bytes){.data = data, .len = h.ch_size, .owned = data};
    (void)TAKE_PTR(data);
    return 0;
}

void elf_bytes_free(struct elf_bytes *b)
{
    free(b->owned);
    *b = (struct elf_bytes){0};
}
