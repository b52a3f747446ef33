#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "elf/debug_links.h"
#include "dwarf/crafted.h"
#include "elf/elf.h"
#include <elf.h>
#include <errno.h>

/* What a file says that has these bytes in both sections of links. */
static bool read_links(const void *link, size_t link_len, const void *alt, size_t alt_len, struct debug_links *out)
{
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    struct crafted_section s[2] = {{".gnu_debuglink", link, link_len, 0}, {".gnu_debugaltlink", alt, alt_len, 0}};
    crafted_elf(&file, s, 2);
    if (elf_open_memory(&e, file.data, file.len))
        return false;
    debug_links_of(&e, false, out);
    return true;
}

TEST(debug_links_are_read)
{
    struct debug_links l;
    CHECK(read_links("name.debug\0\0\1\2\3\4", 16, "../dwz/common\0\xaa\xbb\xcc", 17, &l));
    CHECK_STR(l.link, "name.debug");
    CHECK_EQ(l.link_crc, 0x04030201);
    CHECK_STR(l.alt, "../dwz/common");
    CHECK_EQ(l.alt_id_len, 3);
    CHECK_EQ(l.alt_id[2], 0xcc);
    CHECK(debug_links_sound(&l, sizeof(l)));
}

/* Without end, without CRC, too long, empty: none of them is a link. */
TEST(debug_links_that_are_damaged_are_none)
{
    struct debug_links l;
    char text[2000];
    memset(text, 'x', sizeof(text));
    CHECK(read_links("name", 4, "alt", 3, &l));
    CHECK(!*l.link && !*l.alt);
    CHECK(read_links("name.debug\0\0\1\2", 14, "\0abc", 4, &l));
    CHECK(!*l.link && !*l.alt && !l.alt_id_len);
    text[300] = text[1500] = 0;
    CHECK(read_links(text, 400, text + 301, 1400, &l));
    CHECK(!*l.link && !*l.alt && !l.alt_id_len);
    CHECK(debug_links_sound(&l, sizeof(l)));
}

TEST(debug_links_from_elsewhere_are_checked)
{
    struct debug_links l = {.magic = DEBUG_LINKS_MAGIC, .build_id_len = 20};
    CHECK(debug_links_sound(&l, sizeof(l)));
    CHECK(!debug_links_sound(&l, sizeof(l) - 1));
    l.build_id_len = 21;
    CHECK(!debug_links_sound(&l, sizeof(l)));
    l.build_id_len = 0;
    memset(l.alt, 'x', sizeof(l.alt));
    CHECK(!debug_links_sound(&l, sizeof(l)));
    l.alt[5] = 0;
    l.magic++;
    CHECK(!debug_links_sound(&l, sizeof(l)));
}

/* What is of use in a file; sections that a stripped file only names are not. */
TEST(debug_links_say_what_a_file_has)
{
    static const struct {
        const char *section;
        size_t len;
        u32 has;
    } cases[] = {{".debug_info", 1, DEBUG_HAS_INFO},
                 {".zdebug_info", 1, DEBUG_HAS_INFO},
                 {".symtab", 1, DEBUG_HAS_SYMBOLS},
                 {".gnu_debugdata", 1, DEBUG_HAS_MINI},
                 {".debug_cu_index", 1, DEBUG_IS_PACKAGE},
                 {".debug_info", 0, 0},
                 {".debug_line", 1, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_BUF struct buf file = {0};
        AUTO_ELF struct elf_file e = {0};
        struct crafted_section s = {cases[i].section, "x", cases[i].len, 0};
        struct debug_links l;
        crafted_elf(&file, &s, 1);
        CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
        debug_links_of(&e, false, &l);
        CHECK_EQ(l.has, cases[i].has);
        CHECK_EQ(l.crc, 0);
    }
}

/* The checksum is that of the whole file, as gdb and objcopy make it (CRC-32 of ISO 3309). */
TEST(debug_links_sum_a_file)
{
    AUTO_BUF struct buf file = {0};
    static u8 info[(5 << 19) + 3]; /* more than is summed at once */
    struct crafted_section s = {".debug_info", info, sizeof(info), 0};
    struct debug_links l = {0};
    u32 crc = ~0u;
    for (size_t i = 0; i < sizeof(info); i++)
        info[i] = (u8)(i * 7 + i / 256);
    crafted_elf(&file, &s, 1);
    for (size_t i = 0; i < file.len; i++) {
        crc ^= (u8)file.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    AUTO_CLOSE int fd = fs_sealed_memfd("file", file.data, file.len);
    CHECK_EQ(debug_links_read(fd, true, &l), 0);
    CHECK_EQ(l.crc, ~crc);
    CHECK_EQ(l.has, DEBUG_HAS_INFO);
    AUTO_CLOSE int text = fs_sealed_memfd("text", "#!/bin/sh", 9);
    CHECK_EQ(debug_links_read(text, true, &l), -ENOEXEC);
    CHECK_EQ(l.crc, ~crc); /* untouched */
}
