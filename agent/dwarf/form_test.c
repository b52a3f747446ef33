/* Every form of DWARF 2 to 5, and those of GNU: what a reader takes for the value, and that reading it and skipping it
 * pass the same bytes. */
#include "base/test.h"
#include "dwarf/file.h"
#include <dwarf.h>

static const char strings[] = "zero\0five";
static const char lines[] = "l0\0l3";
static const char other[] = "o0\0o3";
static const u8 offsets[] = {9, 9, 9, 9, 5, 0, 0, 0, 0, 0, 0, 0}; /* behind a header of 4 bytes: five, zero */
static const u8 addresses[] = {8, 7, 6, 5, 4, 3, 2, 1, 0x11, 0, 0, 0, 0, 0, 0, 0};

static void open_files(struct dwarf_file *d, struct dwarf_file *alt)
{
    d->sec[SEC_STR] = (struct elf_bytes){.data = (const u8 *)strings, .len = sizeof(strings)};
    d->sec[SEC_LINE_STR] = (struct elf_bytes){.data = (const u8 *)lines, .len = sizeof(lines)};
    d->sec[SEC_STR_OFFSETS] = (struct elf_bytes){.data = offsets, .len = sizeof(offsets)};
    d->sec[SEC_ADDR] = (struct elf_bytes){.data = addresses, .len = sizeof(addresses)};
    alt->sec[SEC_STR] = (struct elf_bytes){.data = (const u8 *)other, .len = sizeof(other)};
    d->alt = alt;
}

struct form_row {
    unsigned form;
    size_t len; /* of the value */
    u8 bytes[12];
    enum dwarf_value_kind kind;
    u64 n;
    const char *s;
    bool alt; /* a reference into the other file */
};

static const struct form_row rows[] = {
    {DW_FORM_addr, 8, {1, 2, 0, 0, 0, 0, 0, 0x80}, .kind = VAL_ADDRESS, .n = 0x8000000000000201},
    {DW_FORM_addrx, 1, {1}, .kind = VAL_ADDRESS, .n = 0x11},
    {DW_FORM_GNU_addr_index, 2, {0x80, 0}, .kind = VAL_ADDRESS, .n = 0x0102030405060708},
    {DW_FORM_addrx1, 1, {1}, .kind = VAL_ADDRESS, .n = 0x11},
    {DW_FORM_addrx2, 2, {1}, .kind = VAL_ADDRESS, .n = 0x11},
    {DW_FORM_addrx3, 3, {1}, .kind = VAL_ADDRESS, .n = 0x11},
    {DW_FORM_addrx4, 4, {1}, .kind = VAL_ADDRESS, .n = 0x11},
    {DW_FORM_addrx1, 1, {2}, .kind = VAL_NONE}, /* behind the last */
    {DW_FORM_data1, 1, {0xff}, .kind = VAL_NUMBER, .n = 0xff},
    {DW_FORM_data2, 2, {1, 2}, .kind = VAL_NUMBER, .n = 0x201},
    {DW_FORM_data4, 4, {1, 0, 0, 2}, .kind = VAL_NUMBER, .n = 0x2000001},
    {DW_FORM_data8, 8, {1, 0, 0, 0, 0, 0, 0, 2}, .kind = VAL_NUMBER, .n = 0x200000000000001},
    {DW_FORM_data16, 12, {0}, .kind = VAL_NONE}, /* cut: it has 16 */
    {DW_FORM_udata, 2, {0xe5, 0x01}, .kind = VAL_NUMBER, .n = 229},
    {DW_FORM_sdata, 1, {0x7f}, .kind = VAL_NUMBER, .n = (u64)-1},
    {DW_FORM_flag, 1, {1}, .kind = VAL_NUMBER, .n = 1},
    {DW_FORM_flag_present, 0, {0}, .kind = VAL_NUMBER, .n = 1},
    {DW_FORM_implicit_const, 0, {0}, .kind = VAL_NUMBER, .n = 77},
    {DW_FORM_sec_offset, 4, {1, 2, 3, 4}, .kind = VAL_OFFSET, .n = 0x4030201},
    {DW_FORM_rnglistx, 1, {3}, .kind = VAL_LIST_INDEX, .n = 3},
    {DW_FORM_loclistx, 2, {0x83, 1}, .kind = VAL_NONE},
    {DW_FORM_string, 4, {'a', 'b', 'c', 0}, .kind = VAL_STRING, .s = "abc"},
    {DW_FORM_strp, 4, {5}, .kind = VAL_STRING, .s = "five"},
    {DW_FORM_line_strp, 4, {3}, .kind = VAL_STRING, .s = "l3"},
    {DW_FORM_strp_sup, 4, {3}, .kind = VAL_STRING, .s = "o3"},
    {DW_FORM_GNU_strp_alt, 4, {0}, .kind = VAL_STRING, .s = "o0"},
    {DW_FORM_strx, 1, {1}, .kind = VAL_STRING, .s = "zero"},
    {DW_FORM_GNU_str_index, 1, {0}, .kind = VAL_STRING, .s = "five"},
    {DW_FORM_strx1, 1, {1}, .kind = VAL_STRING, .s = "zero"},
    {DW_FORM_strx2, 2, {1}, .kind = VAL_STRING, .s = "zero"},
    {DW_FORM_strx3, 3, {0}, .kind = VAL_STRING, .s = "five"},
    {DW_FORM_strx4, 4, {1}, .kind = VAL_STRING, .s = "zero"},
    {DW_FORM_strx1, 1, {2}, .kind = VAL_STRING, .s = NULL}, /* behind the last */
    {DW_FORM_strp, 4, {99}, .kind = VAL_STRING, .s = NULL},
    {DW_FORM_ref1, 1, {2}, .kind = VAL_REFERENCE, .n = 0x1002},
    {DW_FORM_ref2, 2, {0, 1}, .kind = VAL_REFERENCE, .n = 0x1100},
    {DW_FORM_ref4, 4, {0, 0, 1}, .kind = VAL_REFERENCE, .n = 0x11000},
    {DW_FORM_ref8, 8, {0, 0, 0, 1}, .kind = VAL_REFERENCE, .n = 0x1001000},
    {DW_FORM_ref_udata, 2, {0x80, 1}, .kind = VAL_REFERENCE, .n = 0x1080},
    {DW_FORM_ref_addr, 4, {2}, .kind = VAL_REFERENCE, .n = 2}, /* not from the unit's start */
    {DW_FORM_GNU_ref_alt, 4, {2}, .kind = VAL_REFERENCE, .n = 2, .alt = true},
    {DW_FORM_ref_sup4, 4, {2}, .kind = VAL_REFERENCE, .n = 2, .alt = true},
    {DW_FORM_ref_sup8, 8, {2}, .kind = VAL_REFERENCE, .n = 2, .alt = true},
    {DW_FORM_ref_sig8, 8, {2}, .kind = VAL_NONE},
    {DW_FORM_block1, 3, {2, 0, 0}, .kind = VAL_NONE},
    {DW_FORM_block2, 4, {2, 0, 0, 0}, .kind = VAL_NONE},
    {DW_FORM_block4, 6, {2, 0, 0, 0, 0, 0}, .kind = VAL_NONE},
    {DW_FORM_block, 3, {2, 0, 0}, .kind = VAL_NONE},
    {DW_FORM_exprloc, 1, {0}, .kind = VAL_NONE},
    {DW_FORM_indirect, 3, {DW_FORM_data2, 1, 2}, .kind = VAL_NUMBER, .n = 0x201},
    {DW_FORM_indirect, 3, {DW_FORM_string, 'x', 0}, .kind = VAL_STRING, .s = "x"},
};

static const struct dwarf_unit unit = {.off = 0x1000, .str_base = 4, .version = 5, .address_size = 8, .offset_size = 4};

/* A value that is cut must not be believed, and neither must its neighbours. */
#define IS_CUT(row) ((row)->form == DW_FORM_data16)

static bool reads(const struct form_row *row, struct dwarf_file *d)
{
    struct cursor c = cursor_of(row->bytes, row->len);
    struct dwarf_value v = dwarf_value_read(&c, d, &unit, row->form, 77);
    bool same_text = row->s ? v.s && !strcmp(v.s, row->s) : !v.s;
    bool same_file = v.kind != VAL_REFERENCE || v.file == (row->alt ? d->alt : d);
    if (IS_CUT(row))
        return c.bad;
    return v.kind == row->kind && (v.kind == VAL_NONE || v.n == row->n) && same_text && same_file && !c.bad &&
           c.pos == row->len;
}

static bool skips(const struct form_row *row)
{
    u8 var = VAR_END;
    struct cursor c = cursor_of(row->bytes, row->len);
    int size = dwarf_form_size(row->form, &unit, &var);
    if (size >= 0)
        read_skip(&c, (u64)size);
    else
        dwarf_value_skip(&c, &unit, var);
    return size >= -1 && (IS_CUT(row) ? c.bad : !c.bad && c.pos == row->len);
}

TEST(dwarf_forms)
{
    struct dwarf_file d = {0}, alt = {0};
    open_files(&d, &alt);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (reads(&rows[i], &d) && skips(&rows[i]))
            continue;
        test_fail(__FILE__, __LINE__, "form %#x, row %zu", rows[i].form, i);
        return;
    }
}

/* Without the file that dwz made, what lies there has no value. */
TEST(dwarf_forms_of_a_file_that_is_not_there)
{
    struct dwarf_file d = {0}, alt = {0};
    open_files(&d, &alt);
    d.alt = NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cursor c = cursor_of(rows[i].bytes, rows[i].len);
        struct dwarf_value v = dwarf_value_read(&c, &d, &unit, rows[i].form, 0);
        CHECK(!rows[i].alt || v.kind == VAL_NONE);
        CHECK((rows[i].form != DW_FORM_strp_sup && rows[i].form != DW_FORM_GNU_strp_alt) || !v.s);
    }
}

/* Sizes that depend on the unit: DWARF 2 had references of an address' size. */
TEST(dwarf_forms_of_other_units)
{
    struct dwarf_unit old = {.version = 2, .address_size = 8, .offset_size = 4};
    struct dwarf_unit big = {.version = 4, .address_size = 4, .offset_size = 8};
    u8 var = VAR_END;
    CHECK_EQ(dwarf_form_size(DW_FORM_ref_addr, &old, &var), 8);
    CHECK_EQ(dwarf_form_size(DW_FORM_ref_addr, &big, &var), 8);
    CHECK_EQ(dwarf_form_size(DW_FORM_addr, &big, &var), 4);
    CHECK_EQ(dwarf_form_size(DW_FORM_strp, &big, &var), 8);
    CHECK_EQ(dwarf_form_size(DW_FORM_strp, &old, &var), 4);
    CHECK_EQ(dwarf_form_size(0x7777, &big, &var), -2);
    struct dwarf_file d = {0};
    static const u8 reference[] = {1, 0, 0, 0, 1, 0, 0, 0};
    struct cursor c = cursor_of(reference, sizeof(reference));
    CHECK_EQ(dwarf_value_read(&c, &d, &old, DW_FORM_ref_addr, 0).n, 0x100000001);
    CHECK_EQ(c.pos, 8);
}

/* An indirect form that is indirect again, has its value elsewhere, or does not exist. */
TEST(dwarf_forms_that_are_refused)
{
    static const u8 bad[][3] = {{DW_FORM_indirect, DW_FORM_data1, 1}, {DW_FORM_implicit_const, 1}, {0xf7, 0xee, 0x01}};
    struct dwarf_file d = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct cursor read = cursor_of(bad[i], 3), skip = read;
        dwarf_value_read(&read, &d, &unit, DW_FORM_indirect, 0);
        dwarf_value_skip(&skip, &unit, VAR_INDIRECT);
        CHECK(read.bad && skip.bad);
    }
    struct cursor c = cursor_of(bad, 3);
    CHECK_EQ(dwarf_value_read(&c, &d, &unit, 0x7777, 0).kind, VAL_NONE);
    CHECK(c.bad);
}
