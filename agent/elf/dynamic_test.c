/* Dynamic sections and symbols of files made by hand, without section headers: whole, and damaged in each part. */
#include "elf/dynamic.h"
#include "base/test.h"
#include "elf/crafted_dynamic.h"
#include "elf/symbols.h"
#include <string.h>

static struct file new_file(void)
{
    return new_file_with("two");
}

static bool has(const struct file *f, const char *name)
{
    AUTO_ELF struct elf_file e = {0};
    return !elf_open_memory(&e, f, sizeof(*f)) && elf_has_dynamic_symbol(&e, name);
}

TEST(dynamic_section_is_read_to_its_end)
{
    AUTO_ELF struct elf_file e = {0};
    struct file f = new_file();
    struct elf_dynamic d;
    memset(&d, 0x55, sizeof(d));
    CHECK_EQ(elf_open_memory(&e, &f, sizeof(f)), 0);
    CHECK(elf_dynamic(&e, &d));
    CHECK(d.hash == VADDR(head) && d.symtab == VADDR(s) && d.strtab == VADDR(names));
    CHECK(d.strsz == sizeof(f.names) && d.init == 0x1111 && d.fini == 0x2222);
    f.d[0].d_tag = DT_NULL;
    CHECK(elf_dynamic(&e, &d));
    CHECK(!d.hash && !d.symtab && !d.strtab && !d.strsz && !d.init && !d.fini);
    f.p[1].p_vaddr = AT + sizeof(f) - sizeof(Elf64_Dyn) + 1; /* none fits in */
    CHECK(elf_dynamic(&e, &d) && !d.init);
    f.p[1].p_vaddr = 0x100;
    CHECK(!elf_dynamic(&e, &d));
    f.p[1].p_type = PT_NOTE;
    CHECK(!elf_dynamic(&e, &d));
}

TEST(dynamic_symbols_that_are_defined)
{
    struct file f = new_file();
    CHECK(has(&f, "two") && has(&f, "three") && has(&f, "four"));
    CHECK(!has(&f, "one")); /* another file's */
    CHECK(!has(&f, "five") && !has(&f, "tw") && !has(&f, ""));
    f.chain[1] |= 1; /* the last one of its bucket */
    CHECK(has(&f, "two") && !has(&f, "three"));
}

TEST(dynamic_symbols_need_all_tables)
{
    for (size_t i = 0; i < 3; i++) {
        struct file f = new_file();
        f.d[i].d_tag = DT_SONAME;
        CHECK(!has(&f, "two"));
        f = new_file();
        f.d[i].d_un.d_ptr = 0x100; /* nowhere */
        CHECK(!has(&f, "two"));
        f.d[i].d_un.d_ptr = AT + sizeof(f) - 8; /* cut */
        CHECK(!has(&f, "two"));
    }
}

TEST(dynamic_symbols_of_damaged_tables)
{
    struct file f = new_file();
    f.head[0] = 0; /* no buckets */
    CHECK(!has(&f, "two"));
    f = new_file();
    f.head[0] = 1 << 30; /* more than there are */
    CHECK(!has(&f, "two"));
    f = new_file();
    f.head[2] = 1 << 30; /* the filter does not end */
    CHECK(!has(&f, "two"));
    f = new_file();
    f.bucket[0] = 0; /* an empty one */
    CHECK(!has(&f, "two"));
    f = new_file();
    f.bucket[0] = 1 << 30; /* its chain is not in the file */
    CHECK(!has(&f, "two"));
    f = new_file();
    f.s[2].st_name = sizeof(f); /* nor is its name */
    CHECK(!has(&f, "two") && has(&f, "three"));
    f = new_file();
    for (u32 i = 0; i < SYMBOLS - 1; i++)
        f.chain[i] &= ~1u; /* it does not end: what follows is no chain, but is looked at */
    CHECK(!has(&f, "five") && has(&f, "four"));
}

/* The name of an address, without section headers; "": none. */
static const char *name_at(const struct file *f, u64 offset)
{
    static char text[32];
    AUTO_ELF struct elf_file e = {0};
    struct symbol s = {0};
    text[0] = 0;
    if (!elf_open_memory(&e, f, sizeof(*f)) && !symbols_find(&e, NULL, &offset, 1, &s) && s.name)
        snprintf(text, sizeof(text), "%.*s", (int)s.len, s.name);
    return text;
}

TEST(dynamic_symbols_name_places)
{
    struct file f = new_file();
    CHECK_STR(name_at(&f, 2 * 16 + 15), "two");
    CHECK_STR(name_at(&f, 4 * 16), "four"); /* the last one of the table */
    CHECK_STR(name_at(&f, 1 * 16), "");
    CHECK_STR(name_at(&f, 5 * 16), "");
    f.d[3].d_un.d_val = f.s[3].st_name; /* the names end before "three" */
    CHECK_STR(name_at(&f, 2 * 16), "two");
    CHECK_STR(name_at(&f, 3 * 16), "");
    f = new_file();
    f.d[1].d_un.d_ptr = VADDR(names); /* the table has no length, then */
    CHECK_STR(name_at(&f, 2 * 16), "");
    for (size_t i = 1; i < 3; i++) {
        f = new_file();
        f.d[i].d_tag = DT_SONAME;
        CHECK_STR(name_at(&f, 2 * 16), "");
        f = new_file();
        f.d[i].d_un.d_ptr = i == 1 ? 0x100 : 0x100000;
        CHECK_STR(name_at(&f, 2 * 16), "");
    }
}
