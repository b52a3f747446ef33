/* Line number programs by hand: what each opcode does to the rows, in the words "ADDRESS FILE:LINE", "ADDRESS end". */
#include "dwarf/line.h"
#include "base/buf.h"
#include "base/test.h"
#include <dwarf.h>
#include <errno.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct made {
    struct buf bytes, section; /* names lie in the section */
    struct dwarf_lines lines;
    struct buf text;
    int rc;
};

static void made_free(struct made *m)
{
    buf_free(&m->bytes);
    buf_free(&m->section);
    buf_free(&m->text);
    dwarf_lines_free(&m->lines);
}
#define AUTO_MADE __attribute__((cleanup(made_free))) struct made

static void number(struct buf *b, u64 v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        buf_char(b, (char)(v >> 8 * i));
}

/* Directory "sub", files "a.c" and "/abs/b.c" in directory 1; line base -1, range 4, opcodes from 10 on. */
static void header(struct buf *b, unsigned version, unsigned max_ops)
{
    static const u8 args[] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
    static const char old[] = "sub\0\0a.c\0\1\0\0/abs/b.c\0\1\0\0",
                      new[] = "\1\1\x8\2/src\0sub\0\2\1\x8\2\xb\2a.c\0\1/abs/b.c\0\1";
    AUTO_BUF struct buf rest = {0};
    number(&rest, 4, 1); /* bytes of the shortest instruction */
    if (version >= 4)
        number(&rest, max_ops, 1);
    number(&rest, 1, 1);
    number(&rest, (u64)-1, 1);
    number(&rest, 4, 1);
    number(&rest, 10, 1);
    buf_add(&rest, args, sizeof(args));
    if (version < 5)
        buf_add(&rest, old, sizeof(old));
    else
        buf_add(&rest, new, sizeof(new) - 1);
    number(b, version, 2);
    if (version >= 5)
        number(b, 8, 2);
    number(b, rest.len, 4);
    buf_add(b, rest.data, rest.len);
}

static void read_section(struct made *m, u64 max_steps)
{
    struct dwarf_exec code = {0x1000, 0x9000};
    struct dwarf_file d = {.exec = {.v = &code, .n = 1}};
    struct dwarf_unit u = {.has_lines = true, .version = 4, .address_size = 8, .offset_size = 4};
    d.sec[SEC_LINE] = (struct elf_bytes){.data = (const u8 *)m->section.data, .len = m->section.len};
    m->rc = dwarf_lines_read(&d, &u, max_steps, &m->lines);
    for (size_t i = 0; i < m->lines.rows.n; i++) {
        const struct dwarf_row *r = &m->lines.rows.v[i];
        buf_printf(&m->text, "%llx ", (unsigned long long)r->address);
        if (r->sequence_end)
            buf_str(&m->text, "end ");
        else
            buf_printf(&m->text, "%u:%u ", r->file, r->line);
    }
    buf_char(&m->text, 0);
}

static void read_made(struct made *m, u64 max_steps)
{
    number(&m->section, m->bytes.len, 4);
    buf_add(&m->section, m->bytes.data, m->bytes.len);
    read_section(m, max_steps);
}

#define AT(low)       0, 9, DW_LNE_set_address, 0, low, 0, 0, 0, 0, 0, 0 /* 0xLOW00 */
#define END           DW_LNS_advance_pc, 2, 0, 1, DW_LNE_end_sequence
#define BY(line, ops) (u8)(10 + ((line) + 1) + 4 * (ops)) /* a special opcode: a row */

struct line_row {
    u8 len, bytes[60];
    const char *rows;
};

#define PROGRAM(...)             \
    sizeof((u8[]){__VA_ARGS__}), \
    {                            \
        __VA_ARGS__              \
    }
static const struct line_row programs[] = {
    {PROGRAM(AT(0x20), DW_LNS_copy, BY(0, 1), END), "2000 2:1 200c end "}, /* the same line is no new row */
    {PROGRAM(AT(0x20), BY(-1, 2), BY(2, 1), END), "2008 2:0 200c 2:2 2014 end "},
    {PROGRAM(AT(0x20), DW_LNS_advance_line, 0x7f, DW_LNS_copy, DW_LNS_advance_pc, 3, DW_LNS_copy, END),
     "2000 2:0 2014 end "},
    {PROGRAM(AT(0x20), DW_LNS_advance_line, 9, DW_LNS_copy, DW_LNS_set_file, 2, BY(0, 2), END),
     "2000 2:10 2008 3:10 2010 end "},
    {PROGRAM(AT(0x20), DW_LNS_copy, DW_LNS_const_add_pc, BY(1, 0), END),
     "2000 2:1 20f4 2:2 20fc end "}, /* 245 / 4 steps */
    {PROGRAM(AT(0x20), DW_LNS_copy, DW_LNS_fixed_advance_pc, 3, 1, BY(1, 0), END), "2000 2:1 2103 2:2 210b end "},
    {PROGRAM(AT(0x20), DW_LNS_set_column, 0x85, 1, DW_LNS_negate_stmt, DW_LNS_set_basic_block, BY(1, 0), BY(1, 1), END),
     "2000 2:2 2004 2:3 200c end "}, /* operands of what does not matter are passed over */
    {PROGRAM(AT(0x20), BY(1, 0), BY(1, 0), BY(1, 0), END),
     "2000 2:4 2008 end "}, /* the last row of an address counts */
    {PROGRAM(AT(0x20), DW_LNS_set_file, 9, DW_LNS_copy, END), "2000 0:0 2008 end "}, /* a file that is not there */
    {PROGRAM(AT(0x20), 0, 3, 0x77, 1, 2, DW_LNS_copy, BY(1, 1), END),
     "2000 2:1 2004 2:2 200c end "}, /* unknown: it has a length */
    {PROGRAM(AT(0x30), DW_LNS_copy, BY(1, 1), END, AT(0x20), DW_LNS_copy, END),
     "2000 2:1 2008 end 3000 2:1 3004 2:2 300c end "},
    {PROGRAM(AT(0x20), DW_LNS_copy, END, AT(0x00), DW_LNS_copy, END), "2000 2:1 2008 end "}, /* the linker dropped it */
    {PROGRAM(AT(0x20), DW_LNS_copy, AT(0x1f), BY(1, 0), END), ""},                           /* it goes backwards */
    {PROGRAM(AT(0x20), DW_LNS_copy, END, AT(0x30), DW_LNS_copy), "2000 2:1 2008 end "},      /* no end */
    {PROGRAM(AT(0x20), DW_LNS_copy, END, DW_LNS_advance_pc, 0x80), "2000 2:1 2008 end "},    /* cut in an operand */
    /* A row that ends where it begins covers nothing, and must not reach beyond the sequence. */
    {PROGRAM(AT(0x20), DW_LNS_copy, BY(1, 1), 0, 1, DW_LNE_end_sequence), "2000 2:1 2004 end "},
    {0, {0}, ""},
};

TEST(dwarf_line_opcodes)
{
    for (size_t i = 0; i < COUNT(programs); i++)
        for (unsigned version = 2; version <= 4; version++) {
            AUTO_MADE m = {.rc = 0};
            header(&m.bytes, version, 1);
            buf_add(&m.bytes, programs[i].bytes, programs[i].len);
            read_made(&m, 1000);
            if (!m.rc && !strcmp(m.text.data, programs[i].rows))
                continue;
            test_fail(__FILE__, __LINE__, "program %zu of version %u: %d \"%s\"", i, version, m.rc, m.text.data);
            return;
        }
}

/* A VLIW machine: an address has several operations, and only whole ones move it on. */
TEST(dwarf_line_operations_of_one_address)
{
    static const u8 program[] = {AT(0x20), DW_LNS_copy, BY(1, 2), BY(1, 2), BY(1, 1), DW_LNS_fixed_advance_pc,
                                 0,        1,           BY(1, 2), BY(1, 2), END};
    AUTO_MADE m = {.rc = 0};
    header(&m.bytes, 4, 3);
    buf_add(&m.bytes, program, sizeof(program));
    read_made(&m, 1000);
    CHECK_EQ(m.rc, 0);
    CHECK_STR(m.text.data, "2000 2:2 2004 2:4 2104 2:5 2108 2:6 210c end ");
}

static const char *path(const struct made *m, u64 no, const char *comp_dir, char *buf)
{
    struct dwarf_unit u = {.comp_dir = comp_dir};
    const char *got = dwarf_lines_path(&m->lines, &u, no, buf, 200);
    return got ? got : "(none)";
}

TEST(dwarf_line_paths)
{
    static const u8 program[] = {AT(0x20), DW_LNS_copy, END};
    char text[200];
    AUTO_MADE old = {.rc = 0};
    header(&old.bytes, 4, 1);
    buf_add(&old.bytes, program, sizeof(program));
    read_made(&old, 1000);
    CHECK_STR(path(&old, 1, "/build", text), "/build/sub/a.c");
    CHECK_STR(path(&old, 1, NULL, text), "sub/a.c");
    CHECK_STR(path(&old, 2, "/build", text), "/abs/b.c");
    CHECK_STR(path(&old, 0, "/build", text), "(none)"); /* versions 2 to 4 count from 1 */
    CHECK_STR(path(&old, 3, "/build", text), "(none)");
}

TEST(dwarf_line_tables_of_version_5)
{
    static const u8 program[] = {AT(0x20), DW_LNS_copy, BY(1, 1), END};
    AUTO_MADE m = {.rc = 0};
    header(&m.bytes, 5, 1);
    buf_add(&m.bytes, program, sizeof(program));
    read_made(&m, 1000);
    CHECK_EQ(m.rc, 0);
    CHECK_STR(m.text.data, "2000 2:1 2004 2:2 200c end ");
    CHECK(m.lines.dirs.n == 2 && m.lines.files.n == 2);
    CHECK_EQ(m.lines.files.v[0].dir, 1);
    CHECK_STR(m.lines.files.v[0].name, "a.c");
    CHECK_STR(m.lines.dirs.v[0], "/src");
    CHECK_EQ(m.lines.steps, 5);
}

/* A header that is cut anywhere is malformed, and leaves nothing; one that is whole does not need its program. */
TEST(dwarf_line_headers_that_are_damaged)
{
    for (unsigned version = 2; version <= 5; version++) {
        AUTO_MADE whole = {.rc = 0};
        header(&whole.bytes, version, 1);
        read_made(&whole, 1000);
        CHECK_EQ(whole.rc, 0);
        for (size_t n = 0; n < whole.bytes.len; n++) {
            AUTO_MADE cut = {.rc = 0};
            buf_add(&cut.bytes, whole.bytes.data, n);
            read_made(&cut, 1000);
            CHECK_EQ(cut.rc, -EBADMSG);
            CHECK(!cut.lines.dirs.n && !cut.lines.files.n);
        }
    }
    static const u8 odd[] = {0, 1, 6, 0xff};
    for (size_t i = 0; i < sizeof(odd); i++) {
        AUTO_MADE m = {.rc = 0};
        header(&m.bytes, odd[i], 1);
        read_made(&m, 1000);
        CHECK_EQ(m.rc, -ENOTSUP);
    }
}

/* Work is bounded, and what was read until then is not lost. */
TEST(dwarf_line_steps_are_bounded)
{
    static const u8 program[] = {AT(0x20), DW_LNS_copy, END, AT(0x30), DW_LNS_copy, END};
    AUTO_MADE m = {.rc = 0};
    header(&m.bytes, 4, 1);
    buf_add(&m.bytes, program, sizeof(program));
    read_made(&m, 4);
    CHECK_EQ(m.rc, -ENOSPC);
    CHECK_STR(m.text.data, "2000 2:1 2008 end ");
}

/* The header of version 4 around these lists, or of version 5 around these tables. */
static void header_around(struct buf *b, unsigned version, const struct buf *lists)
{
    static const u8 args[] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
    size_t fixed = 5 + sizeof(args) + 1;
    number(b, version, 2);
    if (version >= 5)
        number(b, 8, 2);
    number(b, fixed + lists->len, 4);
    number(b, 1, 1);
    number(b, 1, 1);
    number(b, 1, 1);
    number(b, 0, 1);
    number(b, 1, 1);
    number(b, 10, 1);
    buf_add(b, args, sizeof(args));
    buf_add(b, lists->data, lists->len);
}

static void put_many(struct buf *b, const char *bytes, size_t len, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        buf_add(b, bytes, len);
}

TEST(dwarf_line_lists_are_bounded)
{
    static const struct {
        unsigned dirs, files;
        int rc;
    } cases[] = {{3, 5, 0},
                 {DWARF_MAX_FILES, 1, 0},
                 {DWARF_MAX_FILES + 1, 1, -ENOSPC},
                 {1, DWARF_MAX_FILES, 0},
                 {1, DWARF_MAX_FILES + 1, -ENOSPC}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_MADE m = {.rc = 0};
        AUTO_BUF struct buf lists = {0};
        put_many(&lists, "d", 2, cases[i].dirs);
        buf_char(&lists, 0);
        put_many(&lists, "f\0\1\2\3", 5, cases[i].files);
        buf_char(&lists, 0);
        header_around(&m.bytes, 4, &lists);
        read_made(&m, 1000);
        CHECK_EQ(m.rc, cases[i].rc);
        CHECK_EQ(m.lines.dirs.n, m.rc ? 0 : cases[i].dirs + 1);
        CHECK_EQ(m.lines.files.n, m.rc ? 0 : cases[i].files + 1);
        if (!m.rc) {
            CHECK_STR(m.lines.files.v[cases[i].files].name, "f");
            CHECK_EQ(m.lines.files.v[cases[i].files].dir, 1);
        }
    }
}

TEST(dwarf_line_tables_are_bounded)
{
    static const char name[] = "\1\x8"; /* a column: a path, as a string */
    static const struct {
        unsigned columns, rows;
        bool present; /* the rows follow */
        int rc;
    } cases[] = {{1, 2, true, 0},
                 {32, 1, true, 0},
                 {33, 1, true, -EBADMSG},
                 {0, 0, false, 0},
                 {0, 1, true, -EBADMSG},
                 {1, 3, false, -EBADMSG},
                 {1, DWARF_MAX_FILES, true, 0},
                 {1, DWARF_MAX_FILES + 1, true, -ENOSPC}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_MADE m = {.rc = 0};
        AUTO_BUF struct buf lists = {0};
        number(&lists, cases[i].columns, 1);
        put_many(&lists, name, 2, cases[i].columns);
        for (unsigned n = cases[i].rows; n > 127; n >>= 7)
            number(&lists, (n & 127) | 128, 1);
        number(&lists, cases[i].rows >= 1u << 14 ? cases[i].rows >> 14 : cases[i].rows, 1);
        for (unsigned k = 0; cases[i].present && k < cases[i].rows; k++)
            put_many(&lists, "d", 2, cases[i].columns ? cases[i].columns : 1);
        if (cases[i].present || !cases[i].rows)
            number(&lists, 0, 2); /* no files */
        header_around(&m.bytes, 5, &lists);
        read_made(&m, 1000);
        CHECK_EQ(m.rc, cases[i].rc);
        CHECK_EQ(m.lines.dirs.n, m.rc ? 0 : cases[i].rows);
    }
}

/* Lengths of 64 bits; one that is longer than the section is none. */
TEST(dwarf_line_programs_of_64_bits)
{
    static const u8 program[] = {AT(0x20), DW_LNS_copy, BY(1, 1), END};
    for (unsigned more = 0; more < 2; more++) {
        AUTO_MADE m = {.rc = 0};
        AUTO_BUF struct buf narrow = {0};
        header(&narrow, 4, 1);
        buf_add(&narrow, program, sizeof(program));
        number(&m.section, UINT32_MAX, 4);
        number(&m.section, narrow.len + 4 + more, 8);
        buf_add(&m.section, narrow.data, 6); /* the version and the length of the header's rest */
        number(&m.section, 0, 4);            /* which has eight bytes */
        buf_add(&m.section, narrow.data + 6, narrow.len - 6);
        read_section(&m, 1000);
        CHECK_EQ(m.rc, more ? -EBADMSG : 0);
        CHECK_STR(m.text.data, more ? "" : "2000 2:1 2004 2:2 200c end ");
    }
}
