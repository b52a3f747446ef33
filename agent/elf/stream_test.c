/* Sections in each kind of compression: whole, in pieces, and damaged. */
#include "elf/stream.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#define LENGTH 300000 /* several blocks of either method */
#define CAP    (1u << 20)

enum packing { ZLIB, ZSTD, ZDEBUG, PACKINGS };

/* Text that repeats, but nowhere for long. */
static void plain(u8 *out)
{
    for (size_t i = 0; i < LENGTH; i++)
        out[i] = (u8)("abcdefgh"[i % 8] + i / 1000);
}

/* A section of it that claims `size` bytes. */
static struct elf_section pack(enum packing how, u64 size, struct buf *bytes)
{
    static u8 in[LENGTH], out[LENGTH];
    uLongf len = sizeof(out);
    plain(in);
    if (how == ZSTD)
        len = ZSTD_compress(out, sizeof(out), in, sizeof(in), 3);
    else
        compress(out, &len, in, sizeof(in));
    if (how == ZDEBUG) {
        buf_str(bytes, "ZLIB");
        for (int i = 56; i >= 0; i -= 8)
            buf_char(bytes, (char)(size >> i));
    } else {
        Elf64_Chdr h = {.ch_type = how == ZSTD ? 2 : ELFCOMPRESS_ZLIB, .ch_size = size};
        buf_add(bytes, &h, sizeof(h));
    }
    buf_add(bytes, out, len);
    return (struct elf_section){
        .data = (const u8 *)bytes->data, .len = bytes->len, .flags = SHF_COMPRESSED, .zdebug = how == ZDEBUG};
}

TEST(stream_of_each_kind)
{
    static u8 expected[LENGTH], got[LENGTH];
    plain(expected);
    for (enum packing how = 0; how < PACKINGS; how++) {
        AUTO_BUF struct buf bytes = {0};
        AUTO_BYTES struct elf_bytes whole = {0};
        CLEANUP(elf_stream_free) struct elf_stream *z = NULL;
        struct elf_section s = pack(how, LENGTH, &bytes);
        u64 size = 0;
        CHECK_EQ(elf_section_bytes(&s, CAP, &whole), 0);
        CHECK(whole.len == LENGTH && whole.owned && !memcmp(whole.data, expected, LENGTH));
        CHECK_EQ(elf_stream_new(&z, &s, LENGTH, &size), 0);
        CHECK_EQ(size, LENGTH);
        const u8 *before = elf_stream_at(z);
        for (size_t at = 0, n = 1; at < LENGTH; at += n) {
            n = 2 * n < LENGTH - at ? 2 * n : LENGTH - at;
            CHECK_EQ(elf_stream_read(z, got + at, n), 0);
        }
        CHECK(!memcmp(got, expected, LENGTH));
        CHECK(elf_stream_at(z) > before && elf_stream_at(z) <= s.data + s.len);
        CHECK_EQ(elf_stream_read(z, got, 1), -EBADMSG); /* nothing is left */
        CHECK_EQ(elf_stream_read(z, got, 0), 0);
    }
}

TEST(stream_that_is_damaged)
{
    static u8 got[LENGTH + 1];
    for (enum packing how = 0; how < PACKINGS; how++) {
        AUTO_BUF struct buf bytes = {0}, more = {0};
        CLEANUP(elf_stream_free) struct elf_stream *cut = NULL, *small = NULL, *bad = NULL, *none = NULL;
        struct elf_section s = pack(how, LENGTH, &bytes);
        size_t header = how == ZDEBUG ? 12 : sizeof(Elf64_Chdr);
        u64 size = 77;
        CHECK_EQ(elf_stream_new(&none, &s, LENGTH - 1, &size), -ENOSPC); /* more than is wanted */
        CHECK(!none && size == 77);
        struct elf_section half = s;
        half.len = header + (s.len - header) / 2;
        CHECK_EQ(elf_stream_new(&cut, &half, CAP, &size), 0);
        CHECK_EQ(elf_stream_read(cut, got, LENGTH), -EBADMSG);
        half.len = header - 1;
        CHECK_EQ(elf_stream_new(&none, &half, CAP, &size), -EBADMSG); /* no header */
        CHECK(!none);
        struct elf_section claims = pack(how, LENGTH + 1, &more);
        CHECK_EQ(elf_stream_new(&small, &claims, CAP, &size), 0);
        CHECK_EQ(elf_stream_read(small, got, LENGTH + 1), -EBADMSG); /* it ends before */
        bytes.data[header] ^= 0x55;
        CHECK_EQ(elf_stream_new(&bad, &s, CAP, &size), 0);
        CHECK_EQ(elf_stream_read(bad, got, 10), -EBADMSG);
    }
}

TEST(stream_headers_that_lie)
{
    AUTO_BUF struct buf bytes = {0}, old = {0}, big = {0};
    CLEANUP(elf_stream_free) struct elf_stream *none = NULL;
    u64 size = 77;
    struct elf_section s = pack(ZLIB, LENGTH, &bytes), z = pack(ZDEBUG, LENGTH, &old);
    struct elf_section more = pack(ZSTD, 1ull << 40, &big);
    CHECK_EQ(elf_stream_new(&none, &more, SIZE_MAX, &size), -EBADMSG); /* so few bytes cannot become so many */
    bytes.data[0] = 9;                                                 /* a method that nobody knows */
    CHECK_EQ(elf_stream_new(&none, &s, CAP, &size), -ENOTSUP);
    old.data[0] = 'z';
    CHECK_EQ(elf_stream_new(&none, &z, CAP, &size), -EBADMSG);
    CHECK(!none && size == 77);
}

TEST(section_that_is_not_compressed_is_borrowed)
{
    static const u8 data[] = "as it is";
    struct elf_section s = {.data = data, .len = sizeof(data)};
    AUTO_BYTES struct elf_bytes b = {0};
    CHECK_EQ(elf_section_bytes(&s, 1, &b), 0); /* the bound is for what is inflated */
    CHECK(b.data == data && b.len == sizeof(data) && !b.owned);
}
