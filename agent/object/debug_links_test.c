#include "base/cleanup.h"
#include "base/test.h"
#include "object/debug_links.h"
#include "object/dwarf_crafted.h"
#include "object/elf_file.h"
#include <elf.h>

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
