/* Little debug information that is built to cost much: each ends, bounded, and says what it cut. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/test.h"
#include "dwarf/craft_test.h"
#include "dwarf/crafted.h"
#include "dwarf/dwarf.h"
#include <dwarf.h>
#include <errno.h>

enum { UNIT = 1, FUNCTION, INLINED, BLOCK };
static const u16 unit_specs[] = {
    DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_udata, 0};
static const u16 function_specs[] = {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0};
static const u16 nothing[] = {0};

/* A unit and a function over all of .text; what follows is inside of it. */
static void begin(struct craft *c, const u16 *inlined)
{
    craft_abbrev(&c->abbrev, UNIT, DW_TAG_compile_unit, true, unit_specs);
    craft_abbrev(&c->abbrev, FUNCTION, DW_TAG_subprogram, true, function_specs);
    craft_abbrev(&c->abbrev, INLINED, DW_TAG_inlined_subroutine, false, inlined);
    craft_abbrev(&c->abbrev, BLOCK, DW_TAG_lexical_block, true, nothing);
    craft_put(&c->abbrev, 0, 1);
}

static size_t begin_unit(struct craft *c, u32 abbrev_off, bool function)
{
    size_t at = craft_unit(&c->info, abbrev_off);
    craft_uleb(&c->info, UNIT);
    craft_put(&c->info, 0, 4);
    craft_put(&c->info, CRAFTED_TEXT, 8);
    craft_uleb(&c->info, CRAFTED_TEXT_SIZE);
    if (function) {
        craft_uleb(&c->info, FUNCTION);
        craft_put(&c->info, CRAFTED_TEXT, 8);
        craft_put(&c->info, CRAFTED_TEXT_SIZE, 4);
    }
    return at;
}

static const struct dwarf_limits limits = {.cpu_ns = 2000000000ull, .max_bytes = 32 << 20, .whole_bytes = 8192};

/* 0 with the index's cuts, or the error. */
static int build(const struct craft *c, u32 *cuts, struct dwarf_frame *at_start)
{
    AUTO_BUF struct buf file = {0};
    AUTO_FREE void *index = NULL;
    size_t len;
    int err = craft_file(c, "", &file);
    if (err)
        return err;
    AUTO_ELF struct elf_file e = {0};
    struct dwarf_index x;
    err = elf_open_memory(&e, file.data, file.len);
    if (!err)
        err = dwarf_index_build(&e, NULL, &limits, &index, &len);
    if (err || (err = dwarf_index_check(index, len)) || (err = dwarf_index_open(&x, index, len)))
        return err;
    *cuts = x.h->cuts;
    struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES] = {0};
    unsigned n = dwarf_index_find(&x, CRAFTED_TEXT, f);
    if (at_start)
        *at_start = f[n ? n - 1 : 0];
    return 0;
}

TEST(dwarf_one_line_program_of_many_units)
{
    AUTO_CRAFT c = {0};
    u32 cuts = 0;
    AUTO_BUF struct buf ops = {0};
    begin(&c, nothing);
    for (int i = 0; i < 3000; i++) {
        size_t at = begin_unit(&c, 0, false);
        craft_put(&c.info, 0, 1);
        craft_end_unit(&c.info, at);
    }
    buf_add(&ops, "\0\11\2\0\0\1\0\0\0\0\0", 11);
    for (int i = 0; i < 100000; i++)
        craft_put(&ops, 0x13, 1); /* a row each */
    buf_add(&ops, "\0\1\1", 3);
    craft_line_program(&c.line, ops.data, ops.len);
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK(cuts & DWARF_CUT_LINES);
}

TEST(dwarf_line_program_that_leaps)
{
    AUTO_CRAFT c = {0};
    AUTO_BUF struct buf ops = {0};
    u32 cuts = 0;
    struct dwarf_frame f = {0};
    begin(&c, nothing);
    size_t at = begin_unit(&c, 0, true);
    craft_put(&c.info, 0, 2);
    craft_end_unit(&c.info, at);
    buf_add(&ops, "\0\11\2\0\0\1\0\0\0\0\0\3\6\1\2\20\0\1\1", 19); /* a sound sequence: line 7 */
    for (int i = 0; i < 100000; i++)
        buf_add(&ops, "\2\377\377\377\377\377\377\377\377\177\1", 11);
    craft_line_program(&c.line, ops.data, ops.len);
    CHECK_EQ(build(&c, &cuts, &f), 0);
    CHECK_EQ(f.line, 7);
}

/* dwz writes many of 24 bytes: the longest header has 32. */
TEST(dwarf_units_that_are_tiny_are_passed_in_a_stream)
{
    AUTO_CRAFT c = {0};
    AUTO_BUF struct buf ops = {0};
    u32 cuts = 0;
    struct dwarf_frame f = {0};
    begin(&c, nothing);
    for (int tiny = 1; tiny >= 0; tiny--) {
        size_t at = begin_unit(&c, 0, !tiny);
        craft_put(&c.info, 0, tiny ? 1 : 2);
        craft_end_unit(&c.info, at);
    }
    c.inflated = c.info.len;
    buf_add(&ops, "\0\11\2\0\0\1\0\0\0\0\0\3\6\1\2\20\0\1\1", 19);
    craft_line_program(&c.line, ops.data, ops.len);
    CHECK_EQ(build(&c, &cuts, &f), 0);
    CHECK_EQ(cuts, 0);
    CHECK_EQ(f.line, 7);
}

TEST(dwarf_ranges_that_all_share)
{
    static const u16 inlined[] = {DW_AT_ranges, DW_FORM_sec_offset, 0};
    AUTO_CRAFT c = {0};
    u32 cuts = 0;
    begin(&c, inlined);
    size_t at = begin_unit(&c, 0, true);
    for (int i = 0; i < 20000; i++) {
        craft_uleb(&c.info, INLINED);
        craft_put(&c.info, 0, 4);
    }
    craft_put(&c.info, 0, 2);
    craft_end_unit(&c.info, at);
    for (u64 i = 0; i < 60000; i++) {
        craft_put(&c.ranges, i, 8);
        craft_put(&c.ranges, i + 1, 8);
    }
    craft_put(&c.ranges, 0, 8);
    craft_put(&c.ranges, 0, 8);
    craft_line_program(&c.line, NULL, 0);
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK(cuts & DWARF_CUT_RANGES);
}

TEST(dwarf_entries_a_million_deep)
{
    AUTO_CRAFT c = {0};
    u32 cuts = 0;
    begin(&c, nothing);
    size_t at = begin_unit(&c, 0, true);
    for (int i = 0; i < 1000000; i++)
        craft_uleb(&c.info, BLOCK);
    craft_end_unit(&c.info, at);
    at = begin_unit(&c, 0, true); /* the next unit is read all the same */
    craft_put(&c.info, 0, 2);
    craft_end_unit(&c.info, at);
    craft_line_program(&c.line, NULL, 0);
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK_EQ(cuts, DWARF_CUT_DEPTH);
}

TEST(dwarf_names_that_lead_in_circles)
{
    static const u16 inlined[] = {
        DW_AT_abstract_origin, DW_FORM_ref_udata, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0};
    AUTO_CRAFT c = {0};
    u32 cuts = 0;
    begin(&c, inlined);
    size_t at = begin_unit(&c, 0, true);
    for (u32 i = 0; i < 50000; i++) {
        craft_uleb(&c.info, INLINED);
        craft_uleb(&c.info, c.info.len - at - 1); /* itself */
        craft_put(&c.info, CRAFTED_TEXT + i, 8);
        craft_put(&c.info, 1, 1);
    }
    craft_put(&c.info, 0, 2);
    craft_end_unit(&c.info, at);
    craft_line_program(&c.line, NULL, 0);
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK_EQ(cuts, 0);
}

TEST(dwarf_names_that_overlap)
{
    static const u16 inlined[] = {
        DW_AT_linkage_name, DW_FORM_strp, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0};
    AUTO_CRAFT c = {0};
    u32 cuts = 0;
    begin(&c, inlined);
    size_t at = begin_unit(&c, 0, true);
    for (u32 i = 0; i < 60000; i++) {
        craft_uleb(&c.info, INLINED);
        craft_put(&c.info, i, 4);
        craft_put(&c.info, CRAFTED_TEXT + i, 8);
        craft_put(&c.info, 1, 1);
    }
    craft_put(&c.info, 0, 2);
    craft_end_unit(&c.info, at);
    for (int i = 0; i < 100000; i++)
        craft_put(&c.str, 'a' + (hash_u64((u64)i) & 15), 1); /* no two are the same */
    craft_put(&c.str, 0, 1);
    craft_line_program(&c.line, NULL, 0);
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK(cuts & (DWARF_CUT_NAMES | DWARF_CUT_BYTES));
}

/* Two large tables in turns: reading them is what costs, and the clock is what ends it. */
TEST(dwarf_units_that_change_their_abbreviations)
{
    AUTO_CRAFT c = {0};
    u32 cuts = 0, second = 0;
    for (int t = 0; t < 2; t++) {
        second = (u32)c.abbrev.len;
        craft_abbrev(&c.abbrev, UNIT, DW_TAG_compile_unit, true, unit_specs);
        for (u64 i = 2; i < 60000; i++)
            craft_abbrev(&c.abbrev, i, DW_TAG_variable, false, nothing);
        craft_put(&c.abbrev, 0, 1);
    }
    for (int i = 0; i < 20000; i++) {
        size_t at = begin_unit(&c, i % 2 ? second + (u32)(i % 64) * 5 : (u32)(i % 64) * 5 + 11, false);
        craft_put(&c.info, 0, 1);
        craft_end_unit(&c.info, at);
    }
    craft_line_program(&c.line, NULL, 0);
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK_EQ(cuts & ~(u32)(DWARF_CUT_TIME | DWARF_CUT_DAMAGED), 0);
}

TEST(dwarf_numbers_without_end)
{
    AUTO_CRAFT c = {0};
    u32 cuts = 0;
    for (int i = 0; i < 100000; i++)
        craft_put(&c.abbrev, 0xff, 1);
    size_t at = begin_unit(&c, 0, false);
    for (int i = 0; i < 100000; i++)
        craft_put(&c.info, 0xff, 1);
    craft_end_unit(&c.info, at);
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK_EQ(cuts, DWARF_CUT_DAMAGED);
}

TEST(dwarf_compressed_bombs)
{
    AUTO_CRAFT c = {0};
    u32 cuts = 0;
    begin(&c, nothing);
    AUTO_FREE char *zeros = calloc(1, 8 << 20);
    CHECK(zeros);
    buf_add(&c.info, zeros, 8 << 20);
    c.inflated = 8 << 20; /* units of no length: the first ends it */
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK_EQ(cuts, DWARF_CUT_DAMAGED);
    c.inflated = 100ull << 30; /* beyond what a section may have */
    CHECK_EQ(build(&c, &cuts, NULL), -ENOSPC);
    c.inflated = 3ull << 30; /* beyond what so many bytes can become */
    c.info.len = 1 << 20;
    CHECK_EQ(build(&c, &cuts, NULL), -EBADMSG);
}

/* The stream ends in the midst of a unit: those before it are there, though so small a section is to be inflated at
 * once.
 */
TEST(dwarf_compressed_section_that_breaks_off)
{
    AUTO_CRAFT c = {0};
    u32 cuts = 0;
    begin(&c, nothing);
    size_t at = begin_unit(&c, 0, true);
    craft_put(&c.info, 0, 2);
    craft_end_unit(&c.info, at);
    craft_put(&c.info, 5000, 4);
    craft_put(&c.info, 4, 2);
    for (int i = 0; i < 60; i++)
        craft_put(&c.info, 0, 1);
    craft_line_program(&c.line, NULL, 0);
    c.inflated = 6000;
    CHECK_EQ(build(&c, &cuts, NULL), 0);
    CHECK_EQ(cuts, DWARF_CUT_DAMAGED);
}
