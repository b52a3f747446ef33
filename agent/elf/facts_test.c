#include "elf/facts.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/crafted.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

TEST(facts_of_this_program)
{
    struct facts f;
    u64 address, offset;
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(facts_read(fd, &f), 0);
    CHECK(facts_sound(&f, sizeof(f)));
    CHECK(f.nsegments >= 1 && f.dynamic && f.symbols > 100);
    CHECK(facts_address(&f, f.segments[0].offset + 16, &address));
    CHECK_EQ(address, f.segments[0].vaddr + 16);
    CHECK(facts_offset(&f, address, &offset));
    CHECK_EQ(offset, f.segments[0].offset + 16);
    CHECK(!facts_offset(&f, f.segments[0].vaddr + f.segments[0].size, &offset));
    CHECK(!facts_offset(&f, f.segments[0].vaddr - 1, &offset));
}

TEST(facts_that_lie_are_refused)
{
    struct facts f = {.magic = FACTS_MAGIC};
    CHECK(facts_sound(&f, sizeof(f)));
    CHECK(!facts_sound(&f, sizeof(f) - 1));
    f.nsegments = FACTS_SEGMENTS;
    CHECK(facts_sound(&f, sizeof(f)));
    f.nsegments = FACTS_SEGMENTS + 1;
    CHECK(!facts_sound(&f, sizeof(f)));
    f.nsegments = 0;
    strcpy(f.language, "C++");
    CHECK(facts_sound(&f, sizeof(f)));
    strcpy(f.language, "C\n");
    CHECK(!facts_sound(&f, sizeof(f)));
    memset(f.language, 'x', sizeof(f.language));
    CHECK(!facts_sound(&f, sizeof(f)));
    f = (struct facts){.magic = FACTS_MAGIC + 1};
    CHECK(!facts_sound(&f, sizeof(f)));
}

/* What a file with these sections says. */
static int read_crafted(struct crafted_section *s, unsigned n, struct facts *out)
{
    AUTO_BUF struct buf file = {0};
    crafted_elf(&file, s, n);
    AUTO_CLOSE int fd = fs_sealed_memfd("file", file.data, file.len);
    return facts_read(fd, out);
}

TEST(facts_languages_by_their_traces)
{
    static const struct {
        const char *section, *language, text[40];
    } cases[] = {
        {".gopclntab", "Go", "x"},
        {".data.rel.ro.gopclntab", "Go", "x"},
        {".note.go.buildid", "Go", "x"},
        {".comment", "Rust", "GCC: 1.2\0rustc version 1"},
        {".comment", "D", "LDC 1.40"},
        {".comment", "C++", "GCC: 1.2"}, /* by its .gcc_except_table: a C library's has .dynstr, too */
        {".dynstr", "Rust", "\0x\0rust_eh_personality"},
        {".dynstr", "D", "\0libphobos2.so"},
        {".dynstr", "D", "\0libdruntime.so"},
        {".dynstr", "Fortran", "\0libgfortran.so.5"},
        {".dynstr", "C++", "\0libstdc++.so.6"},
        {".dynstr", "C++", "\0libc++.so.1"},
        {".dynstr", "C++", "\0_ZSt4cout"},
        {".dynstr", "C++", "\0__cxa_throw"},
        {".dynstr", "C", "\0printf"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct facts f = {0};
        struct crafted_section s[] = {{cases[i].section, cases[i].text, sizeof(cases[i].text), 0},
                                      {".text", "", 0, 0},
                                      {".gcc_except_table", "x", 1, 0}};
        CHECK_EQ(read_crafted(s, 3, &f), 0);
        CHECK_STR(f.language, cases[i].language);
    }
}

TEST(facts_of_a_file_with_nothing)
{
    struct facts f = {.magic = 1};
    struct crafted_section none = {".data", "x", 1, 0}, text = {".text", "x", 1, 0};
    CHECK_EQ(read_crafted(&text, 1, &f), 0);
    CHECK_STR(f.language, "C");
    CHECK_EQ(read_crafted(&none, 1, &f), 0);
    CHECK(!f.dynamic && !f.symbols && !f.dynamic_symbols && f.type == ET_DYN);
    AUTO_CLOSE int script = fs_sealed_memfd("file", "#!/bin/sh", 9);
    struct facts untouched = {.magic = 1};
    CHECK_EQ(facts_read(script, &untouched), -ENOEXEC);
    CHECK_EQ(untouched.magic, 1);
}

TEST(facts_count_symbols)
{
    static const Elf64_Sym symbols[3] = {{0}};
    struct facts f;
    struct crafted_section s[] = {{".symtab", symbols, sizeof(symbols), 0}, {".dynsym", symbols, sizeof(*symbols), 0}};
    CHECK_EQ(read_crafted(s, 2, &f), 0);
    CHECK(f.symbols == 3 && f.dynamic_symbols == 1);
}

/* Two pieces of code whose addresses are not their offsets. */
TEST(facts_addresses_of_several_segments)
{
    struct facts f = {.nsegments = 2, .segments = {{0x1000, 0x401000, 0x100}, {0x3000, 0x500000, 0x10}}};
    u64 to = 77;
    CHECK(facts_offset(&f, 0x4010ff, &to) && to == 0x10ff);
    CHECK(facts_offset(&f, 0x500000, &to) && to == 0x3000);
    CHECK(facts_address(&f, 0x10ff, &to) && to == 0x4010ff);
    CHECK(facts_address(&f, 0x300f, &to) && to == 0x50000f);
    to = 77;
    CHECK(!facts_offset(&f, 0x401100, &to) && !facts_offset(&f, 0x500010, &to) && !facts_offset(&f, 0x1000, &to));
    CHECK(!facts_address(&f, 0x1100, &to) && !facts_address(&f, 0x3010, &to) && !facts_address(&f, 0xfff, &to));
    CHECK_EQ(to, 77);
}
