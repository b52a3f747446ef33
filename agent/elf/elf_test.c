#include "elf/elf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "elf/dynamic.h"
#include "cfi/fixture.h"
#include "dwarf/names_elf.h"
#include "cfi/table_elf.h"
#include <errno.h>
#include <sys/mman.h>

TEST(elf_refuses_what_is_not_for_this_machine)
{
    AUTO_ELF struct elf_file e = {0}, good = {0};
    CHECK_EQ(fixture_elf("cfi.so", &good), 0);
    u8 copy[4096];
    static const struct {
        size_t at;
        u8 value;
    } wrong[] = {{0, 'X'}, {EI_CLASS, ELFCLASS32}, {EI_DATA, ELFDATA2MSB}, {18, EM_AARCH64}};
    for (size_t i = 0; i < 4; i++) {
        memcpy(copy, good.map, sizeof(copy));
        copy[wrong[i].at] = wrong[i].value;
        CHECK_EQ(elf_open_memory(&e, copy, sizeof(copy)), -ENOEXEC);
    }
    CHECK_EQ(elf_open_memory(&e, "#!/bin/sh", 9), -ENOEXEC);
    CHECK_EQ(elf_open(&e, -1), -EBADF);
    CHECK(!e.map);
}

TEST(elf_build_id_from_segments_and_sections)
{
    AUTO_ELF struct elf_file with = {0}, without = {0};
    CHECK_EQ(fixture_elf("cfi.so", &with), 0);
    CHECK_EQ(fixture_elf("bare-cfi.so", &without), 0);
    CHECK_EQ(with.build_id_len, 20);
    CHECK_EQ(without.build_id_len, 20);
    CHECK(!memcmp(with.build_id, without.build_id, 20));
    CHECK(with.shnum > 0);
    CHECK_EQ(without.shnum, 0);
}

TEST(elf_addresses_are_not_offsets)
{
    AUTO_ELF struct elf_file e = {0};
    size_t left;
    CHECK_EQ(fixture_elf("moved", &e), 0);
    const struct elf_segment *s = elf_segment_at(&e, 0x10503000, PF_X);
    CHECK(s);
    CHECK(s->offset != s->vaddr);
    CHECK(elf_segment_of(&e, s->offset + 1, PF_X) == s);
    CHECK(!elf_segment_at(&e, 0x10503000 - 1, PF_X));
    CHECK(!elf_segment_at(&e, s->vaddr + s->filesz, PF_X));
    CHECK(elf_at(&e, s->vaddr + 3, &left) == e.map + s->offset + 3);
    CHECK_EQ(left, s->filesz - 3);
}

TEST(elf_dynamic_symbols_by_hash)
{
    AUTO_ELF struct elf_file e = {0};
    CHECK_EQ(fixture_elf("bare-symbols.so", &e), 0);
    CHECK(elf_has_dynamic_symbol(&e, "outer"));
    CHECK(elf_has_dynamic_symbol(&e, "_ZN2ns1fIiEEvPKc"));
    CHECK(!elf_has_dynamic_symbol(&e, "inner")); /* local */
    CHECK(!elf_has_dynamic_symbol(&e, "nowhere"));
}

TEST(elf_inflated_size_is_bounded)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BYTES struct elf_bytes bytes = {0};
    struct elf_section s;
    CHECK_EQ(fixture_elf("cfi-debug-zlib.so", &e), 0);
    CHECK(elf_section(&e, ".debug_frame", &s));
    CHECK_EQ(elf_section_bytes(&s, 10, &bytes), -ENOSPC);
    CHECK_EQ(elf_section_bytes(&s, 1 << 20, &bytes), 0);
    CHECK(bytes.owned);
    u8 lie[64] = {0}; /* says that 40 bytes become 100,000 */
    memcpy(lie, s.data, s.len < 64 ? s.len : 64);
    memcpy(lie + 8, &(u64){100000}, 8);
    struct elf_section liar = {.data = lie, .len = sizeof(lie), .flags = SHF_COMPRESSED};
    struct elf_bytes none = {0};
    CHECK_EQ(elf_section_bytes(&liar, 1 << 20, &none), -EBADMSG);
    CHECK(!none.data);
}

/* Whatever a reader of files does with one. */
static void use_all(const void *data, size_t len)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    AUTO_BUF struct buf names = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    u64 offsets[] = {0, 0x1000, 0x1010, 0x2000, ~0ull};
    size_t size;
    if (elf_open_memory(&e, data, len))
        return;
    if (!table_build_elf(&e, NULL, &limits, &t, &size))
        CHECK_EQ(table_check(t, size), 0);
    CHECK_EQ(names_resolve_elf(&e, NULL, NULL, DEMANGLE_FULL, offsets, 5, &names), 0);
}

static void cut_everywhere(const char *name, size_t step)
{
    AUTO_ELF struct elf_file whole = {0};
    CHECK_EQ(fixture_elf(name, &whole), 0);
    /* The end of an inaccessible page is the end of the file: a read too far is a crash. */
    size_t room = (whole.size + 4095) & ~(size_t)4095;
    u8 *map = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED);
    mprotect(map + room, 4096, PROT_NONE);
    for (size_t len = 0; len <= whole.size; len += step) {
        memcpy(map + room - len, whole.map, len);
        use_all(map + room - len, len);
    }
    munmap(map, room + 4096);
}

TEST(elf_cut_at_every_byte_is_harmless)
{
    cut_everywhere("start", 1);
}

TEST(elf_cut_without_section_headers_is_harmless)
{
    cut_everywhere("bare-symbols.so", 7);
}

TEST(elf_every_byte_wrong_is_harmless)
{
    AUTO_ELF struct elf_file whole = {0};
    CHECK_EQ(fixture_elf("start", &whole), 0);
    AUTO_FREE u8 *copy = malloc(whole.size);
    memcpy(copy, whole.map, whole.size);
    for (size_t i = 0; i < whole.size; i++) {
        static const u8 values[] = {0, 1, 0x7f, 0x80, 0xff};
        u8 was = copy[i];
        if (i > 4096 && !was)
            continue; /* padding, mostly */
        copy[i] = values[i % sizeof(values)];
        use_all(copy, whole.size);
        copy[i] = was;
    }
}

TEST(elf_read_copies)
{
    const size_t n = (1 << 20) + 5;
    AUTO_FREE u8 *bytes = malloc(n), *copy = NULL, *none = NULL;
    AUTO_CLOSE int fd = memfd_create("file", MFD_CLOEXEC);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (u8)(i * 7 + i / 256);
    CHECK_EQ(fs_write_all(fd, bytes, n), 0);
    CHECK_EQ(elf_read(fd, 3, n - 3, &copy), 0);
    CHECK_EQ(ftruncate(fd, 0), 0);
    CHECK(!memcmp(copy, bytes + 3, n - 3));
    CHECK_EQ(elf_read(fd, 0, n, &none), -ESTALE);
    CHECK(!none);
}

/* Pages of a file can be given back, for they can be read again; those of a copy cannot. */
TEST(elf_gives_back_no_page_of_a_copy)
{
    AUTO_ELF struct elf_file e = {0}, file = {0};
    CHECK_EQ(fixture_elf("cfi.so", &file), 0);
    u8 *copy = mmap(NULL, file.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(copy != MAP_FAILED);
    memcpy(copy, file.map, file.size);
    CHECK_EQ(elf_open_memory(&e, copy, file.size), 0);
    elf_have_read(&e, e.map, e.size);
    CHECK(!memcmp(copy, file.map, file.size));
    munmap(copy, file.size);
}

/* Neighbours may still be needed. Private memory stands for the file: pages of it that are given back are zeros. */
TEST(elf_gives_back_whole_pages_only)
{
    static const struct {
        size_t from, len;
        const char *left; /* of four pages */
    } cases[] = {{0, 16384, "...."},   {1, 12288, "x..x"},   {1, 12287, "x..x"},   {1, 12286, "x.xx"},
                 {4096, 4096, "x.xx"}, {4096, 4095, "xxxx"}, {4097, 4095, "xxxx"}, {8192, 8192, "xx.."},
                 {8192, 8193, "xxxx"}, {0, 0, "xxxx"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        u8 *map = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char left[5] = "";
        CHECK(map != MAP_FAILED);
        memset(map, 'x', 5 * 4096);
        struct elf_file e = {.map = map, .size = 4 * 4096, .owned = true};
        elf_have_read(&e, map + cases[i].from, cases[i].len);
        for (size_t page = 0; page < 4; page++)
            left[page] = map[page * 4096] ? 'x' : '.';
        munmap(map, 5 * 4096);
        CHECK_STR(left, cases[i].left);
    }
}

TEST(elf_without_its_bytes_keeps_what_was_read)
{
    AUTO_ELF struct elf_file e = {0};
    struct elf_section s;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    size_t nloads = e.nloads;
    CHECK(nloads && elf_section(&e, ".eh_frame", &s));
    elf_unmap(&e);
    CHECK(e.nloads == nloads && e.loads[0].filesz);
    CHECK(!elf_section(&e, ".eh_frame", &s));
    CHECK(!elf_section_at(&e, 1, &s));
}
