/* Units that are written by hand: where their functions begin and end, what lies between them, how they are found in a
 * stream.
 */
#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/craft_test.h"
#include "dwarf/crafted.h"
#include "dwarf/dwarf.h"
#include "dwarf/file.h"
#include <dwarf.h>
#include <errno.h>

#define TEXT ((u64)CRAFTED_TEXT)

enum { UNIT = 1, FUNCTION, ENDING, INLINED, BLOCK };
static const u16 unit_specs[] = {
    DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0};
static const u16 function_specs[] = {
    DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0};
static const u16 ending_specs[] = {DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr,
                                   0};
static const u16 inlined_specs[] = {DW_AT_name,
                                    DW_FORM_string,
                                    DW_AT_low_pc,
                                    DW_FORM_addr,
                                    DW_AT_high_pc,
                                    DW_FORM_data4,
                                    DW_AT_call_file,
                                    DW_FORM_data1,
                                    DW_AT_call_line,
                                    DW_FORM_data1,
                                    0};
static const u16 nothing[] = {0};

static void begin(struct craft *c)
{
    craft_abbrev(&c->abbrev, UNIT, DW_TAG_compile_unit, true, unit_specs);
    craft_abbrev(&c->abbrev, FUNCTION, DW_TAG_subprogram, true, function_specs);
    craft_abbrev(&c->abbrev, ENDING, DW_TAG_subprogram, true, ending_specs);
    craft_abbrev(&c->abbrev, INLINED, DW_TAG_inlined_subroutine, true, inlined_specs);
    craft_abbrev(&c->abbrev, BLOCK, DW_TAG_lexical_block, true, nothing);
    craft_put(&c->abbrev, 0, 1);
}

/* A unit of version 4 over all of .text. */
static size_t begin_unit(struct craft *c)
{
    size_t at = craft_unit(&c->info, 0);
    craft_uleb(&c->info, UNIT);
    craft_put(&c->info, 0, 4);
    craft_put(&c->info, TEXT, 8);
    craft_put(&c->info, CRAFTED_TEXT_SIZE, 4);
    return at;
}

/* The same with lengths and offsets of 64 bits. */
static size_t begin_long_unit(struct craft *c)
{
    craft_put(&c->info, UINT32_MAX, 4);
    size_t at = c->info.len;
    craft_put(&c->info, 0, 8);
    craft_put(&c->info, 4, 2);
    craft_put(&c->info, 0, 8);
    craft_put(&c->info, 8, 1);
    craft_uleb(&c->info, UNIT);
    craft_put(&c->info, 0, 8);
    craft_put(&c->info, TEXT, 8);
    craft_put(&c->info, CRAFTED_TEXT_SIZE, 4);
    return at;
}

static void end_long_unit(struct craft *c, size_t at)
{
    craft_put(&c->info, 0, 1);
    u64 len = c->info.len - at - 8;
    memcpy(c->info.data + at, &len, 8);
}

static void end_unit(struct craft *c, size_t at)
{
    craft_put(&c->info, 0, 1);
    craft_end_unit(&c->info, at);
}

/* An entry of .text's bytes [lo, hi), with what follows until `end` inside of it. */
static void open_entry(struct craft *c, unsigned kind, const char *name, u32 lo, u32 hi)
{
    craft_uleb(&c->info, kind);
    buf_add(&c->info, name, strlen(name) + 1);
    craft_put(&c->info, TEXT + lo, 8);
    craft_put(&c->info, kind == ENDING ? TEXT + hi : hi - lo, kind == ENDING ? 8 : 4);
    if (kind == INLINED)
        craft_put(&c->info, 1 | 77 << 8, 2); /* from line 77 of the first file */
}

static void entry(struct craft *c, unsigned kind, const char *name, u32 lo, u32 hi)
{
    open_entry(c, kind, name, lo, hi);
    craft_put(&c->info, 0, 1);
}

struct made {
    struct craft craft;
    struct buf file;
    struct elf_file elf;
    void *index;
    size_t len;
    struct dwarf_index x;
    char text[256];
};

static void made_free(struct made *m)
{
    craft_free(&m->craft);
    elf_close(&m->elf);
    buf_free(&m->file);
    free(m->index);
}
#define AUTO_MADE CLEANUP(made_free) struct made

static int make(struct made *m)
{
    static const struct dwarf_limits limits = {.cpu_ns = 6000000000ull, .max_bytes = 192 << 20, .whole_bytes = 0};
    int rc = craft_file(&m->craft, "", &m->file);
    rc = rc ? rc : elf_open_memory(&m->elf, m->file.data, m->file.len);
    rc = rc ? rc : dwarf_index_build(&m->elf, NULL, &limits, &m->index, &m->len);
    return rc ? rc : dwarf_index_open(&m->x, m->index, m->len);
}

/* "inlined@line of caller;function@line" of a byte of .text, "-" for nothing. */
static const char *at(struct made *m, u32 byte)
{
    static struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES];
    struct dwarf_text name;
    unsigned n = dwarf_index_find(&m->x, TEXT + byte, f);
    m->text[0] = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t len = strlen(m->text);
        dwarf_index_text(&m->x, f[i].name, &name);
        snprintf(m->text + len, sizeof(m->text) - len, "%s%.40s@%u", i ? ";" : "", name.s, f[i].line);
    }
    return n ? m->text : "-";
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

TEST(dwarf_functions_have_an_end)
{
    static const unsigned kinds[] = {FUNCTION, ENDING}; /* a length, or an address */
    for (size_t i = 0; i < 2; i++) {
        AUTO_MADE m = {0};
        begin(&m.craft);
        size_t unit = begin_unit(&m.craft);
        entry(&m.craft, kinds[i], "one", 0x10, 0x20);
        entry(&m.craft, kinds[i], "two", 0x30, 0x40);
        end_unit(&m.craft, unit);
        CHECK_EQ(make(&m), 0);
        CHECK_EQ(m.x.h->cuts, 0);
        CHECK_EQ(m.x.h->functions, 2);
        CHECK_EQ(m.x.h->debug_bytes, m.craft.info.len + m.craft.abbrev.len);
        CHECK_STR(at(&m, 0xf), "-");
        CHECK_STR(at(&m, 0x10), "one@0");
        CHECK_STR(at(&m, 0x1f), "one@0");
        CHECK_STR(at(&m, 0x20), "-");
        CHECK_STR(at(&m, 0x2f), "-");
        CHECK_STR(at(&m, 0x30), "two@0");
        CHECK_STR(at(&m, 0x3f), "two@0");
        CHECK_STR(at(&m, 0x40), "-");
    }
}

/* Calls are named from the inside out; what reaches beyond its caller is cut there, and one in no function is none. */
TEST(dwarf_inlined_calls_lie_in_functions)
{
    AUTO_MADE m = {0};
    begin(&m.craft);
    size_t unit = begin_unit(&m.craft);
    open_entry(&m.craft, FUNCTION, "outer", 0x10, 0x50);
    craft_uleb(&m.craft.info, BLOCK);
    open_entry(&m.craft, INLINED, "middle", 0x20, 0x40);
    entry(&m.craft, INLINED, "inner", 0x28, 0x30);
    entry(&m.craft, INLINED, "long", 0x38, 0x48);
    craft_put(&m.craft.info, 0, 1 + 1 + 1);
    entry(&m.craft, INLINED, "lost", 0x60, 0x70);
    entry(&m.craft, FUNCTION, "last", 0x70, 0x80);
    end_unit(&m.craft, unit);
    CHECK_EQ(make(&m), 0);
    CHECK_STR(at(&m, 0x1f), "outer@0");
    CHECK_STR(at(&m, 0x20), "middle@0;outer@77");
    CHECK_STR(at(&m, 0x28), "inner@0;middle@77;outer@77");
    CHECK_STR(at(&m, 0x2f), "inner@0;middle@77;outer@77");
    CHECK_STR(at(&m, 0x30), "middle@0;outer@77");
    CHECK_STR(at(&m, 0x3f), "long@0;middle@77;outer@77");
    CHECK_STR(at(&m, 0x40), "outer@0");
    CHECK_STR(at(&m, 0x4f), "outer@0");
    CHECK_STR(at(&m, 0x50), "-");
    CHECK_STR(at(&m, 0x60), "-");
    CHECK_STR(at(&m, 0x70), "last@0");
}

/* Nodes refer to their callers by 16 bits: beyond, the caller is repeated, with its own callers. */
TEST(dwarf_inlined_calls_of_one_caller_without_number)
{
    const u32 n = 66000, apart = 60000;
    AUTO_MADE m = {0};
    begin(&m.craft);
    size_t unit = begin_unit(&m.craft);
    open_entry(&m.craft, FUNCTION, "outer", 0, 0xff00);
    open_entry(&m.craft, INLINED, "middle", 0x10, 0xfe00);
    for (u32 i = 0; i < n; i++)
        entry(&m.craft, INLINED, i & 1 ? "odd" : "even", 0x20 + i % apart, 0x21 + i % apart);
    craft_put(&m.craft.info, 0, 1 + 1);
    end_unit(&m.craft, unit);
    CHECK_EQ(make(&m), 0);
    CHECK_EQ(m.x.h->cuts, 0);
    CHECK_STR(at(&m, 0x1f), "middle@0;outer@77");
    CHECK_STR(at(&m, 0x20 + apart - 1), "odd@0;middle@77;outer@77");
    CHECK_STR(at(&m, 0x20), "even@0;middle@77;outer@77");
    CHECK_STR(at(&m, 0x20 + (n - 1) % apart), "odd@0;middle@77;outer@77"); /* the last of them */
    CHECK_STR(at(&m, 0x20 + (n - 2) % apart), "even@0;middle@77;outer@77");
}

#define ROW(bytes, lines) DW_LNS_advance_pc, (bytes), DW_LNS_advance_line, (lines), DW_LNS_copy
#define SEQUENCE(byte)    0, 9, DW_LNE_set_address, (byte), 0, 1, 0, 0, 0, 0, 0
#define SEQUENCE_END(n)   DW_LNS_advance_pc, (n), 0, 1, DW_LNE_end_sequence

/* Lines without a function are kept, but for the few bytes between two functions. */
TEST(dwarf_lines_between_functions)
{
    static const u8 ops[] = {SEQUENCE(0x10), ROW(0, 1), ROW(0x60, 1),   SEQUENCE_END(0x10), /* 0x10-0x80 */
                             SEQUENCE(0x90), ROW(0, 4), SEQUENCE_END(8)}; /* of no function, though it is small */
    AUTO_MADE m = {0};
    begin(&m.craft);
    size_t unit = begin_unit(&m.craft);
    entry(&m.craft, FUNCTION, "a", 0x21, 0x30); /* 17 bytes behind the start */
    entry(&m.craft, FUNCTION, "b", 0x40, 0x48); /* 16 behind "a" */
    entry(&m.craft, FUNCTION, "c", 0x59, 0x70); /* 17 behind "b", 16 in front of the end */
    end_unit(&m.craft, unit);
    craft_line_program(&m.craft.line, ops, sizeof(ops));
    CHECK_EQ(make(&m), 0);
    CHECK_STR(at(&m, 0x0f), "-");
    CHECK_STR(at(&m, 0x10), "@2");
    CHECK_STR(at(&m, 0x20), "@2");
    CHECK_STR(at(&m, 0x21), "a@2");
    CHECK_STR(at(&m, 0x30), "-");
    CHECK_STR(at(&m, 0x3f), "-");
    CHECK_STR(at(&m, 0x40), "b@2");
    CHECK_STR(at(&m, 0x48), "@2");
    CHECK_STR(at(&m, 0x58), "@2");
    CHECK_STR(at(&m, 0x6f), "c@2");
    CHECK_STR(at(&m, 0x70), "-");
    CHECK_STR(at(&m, 0x90), "@5");
    CHECK_STR(at(&m, 0x97), "@5");
    CHECK_STR(at(&m, 0x98), "-");
}

/* ---- Several units ----------------------------------------------------------------------------------------------- */

/* Each is found, in a file that is read as a whole and in one that is read as a stream; a damaged one costs itself. */
TEST(dwarf_units_are_all_read)
{
    for (unsigned i = 0; i < 4; i++) {
        AUTO_MADE m = {0};
        bool damaged = i & 1, stream = i & 2;
        begin(&m.craft);
        for (u32 u = 0; u < 4; u++) {
            char name[8];
            size_t unit = begin_unit(&m.craft);
            snprintf(name, sizeof(name), "f%u", u);
            entry(&m.craft, FUNCTION, name, 0x10 * u, 0x10 * u + 0x10);
            if (damaged && u == 1)
                craft_uleb(&m.craft.info, 99); /* there is no such abbreviation */
            end_unit(&m.craft, unit);
        }
        m.craft.inflated = stream ? m.craft.info.len : 0;
        CHECK_EQ(make(&m), 0);
        CHECK_EQ(m.x.h->cuts, damaged ? DWARF_CUT_DAMAGED : 0);
        CHECK_STR(at(&m, 0x00), "f0@0");
        CHECK_STR(at(&m, 0x1f), "f1@0");
        CHECK_STR(at(&m, 0x20), "f2@0");
        CHECK_STR(at(&m, 0x3f), "f3@0");
        CHECK_STR(at(&m, 0x40), "-");
        CHECK_EQ(m.x.h->functions, 4);
    }
}

TEST(dwarf_units_of_64_bits)
{
    for (int stream = 0; stream < 2; stream++) {
        AUTO_MADE m = {0};
        begin(&m.craft);
        for (u32 u = 0; u < 3; u++) {
            size_t unit = u == 1 ? begin_unit(&m.craft) : begin_long_unit(&m.craft);
            entry(&m.craft, FUNCTION, u ? u == 1 ? "two" : "three" : "one", 0x10 * u, 0x10 * u + 0x10);
            if (u == 1)
                end_unit(&m.craft, unit);
            else
                end_long_unit(&m.craft, unit);
        }
        m.craft.inflated = stream ? m.craft.info.len : 0;
        CHECK_EQ(make(&m), 0);
        CHECK_EQ(m.x.h->cuts, 0);
        CHECK_STR(at(&m, 0x0f), "one@0");
        CHECK_STR(at(&m, 0x10), "two@0");
        CHECK_STR(at(&m, 0x2f), "three@0");
    }
}

/* A name of two units is one string, as is a path; names that begin alike are two. */
TEST(dwarf_units_share_strings)
{
    AUTO_MADE m = {0};
    begin(&m.craft);
    for (u32 u = 0; u < 3; u++) {
        size_t unit = begin_unit(&m.craft);
        entry(&m.craft, FUNCTION, "same", 0x20 * u, 0x20 * u + 0x10);
        entry(&m.craft, FUNCTION, u ? "same_more" : "sam", 0x20 * u + 0x10, 0x20 * u + 0x20);
        end_unit(&m.craft, unit);
    }
    CHECK_EQ(make(&m), 0);
    CHECK_EQ(m.x.h->nstrings, 4); /* with the empty one */
    CHECK_EQ(m.x.h->nfiles, 1);
    CHECK_STR(at(&m, 0x00), "same@0");
    CHECK_STR(at(&m, 0x10), "sam@0");
    CHECK_STR(at(&m, 0x30), "same_more@0");
    CHECK_STR(at(&m, 0x50), "same_more@0");
}

TEST(dwarf_time_is_up)
{
    struct dwarf_file d = {0};
    CHECK(dwarf_look_at_clock(&d) && !d.late);
    d.deadline_ns = UINT64_MAX;
    d.work = 7;
    CHECK(dwarf_look_at_clock(&d) && !d.late && !d.work);
    d.deadline_ns = 1;
    CHECK(!dwarf_look_at_clock(&d) && d.late);
    CHECK(!dwarf_spend(&d, 1));
    AUTO_MADE m = {0};
    const struct dwarf_limits none = {.cpu_ns = 0, .max_bytes = 1 << 20};
    begin(&m.craft);
    size_t unit = begin_unit(&m.craft);
    for (unsigned i = 0; i < DWARF_CLOCK_EVERY; i++)
        craft_put(&m.craft.info, BLOCK, 2);
    end_unit(&m.craft, unit);
    CHECK_EQ(craft_file(&m.craft, "", &m.file), 0);
    CHECK_EQ(elf_open_memory(&m.elf, m.file.data, m.file.len), 0);
    CHECK_EQ(dwarf_index_build(&m.elf, NULL, &none, &m.index, &m.len), 0);
    CHECK_EQ(dwarf_index_open(&m.x, m.index, m.len), 0);
    CHECK_EQ(m.x.h->cuts, DWARF_CUT_TIME);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

/* A function whose abbreviation has these attributes, and one that has the usual ones. */
static int make_with(struct made *m, const u16 *specs, const void *attrs, size_t len)
{
    enum { ODD = BLOCK + 1 };
    begin(&m->craft);
    m->craft.abbrev.len--; /* the end */
    craft_abbrev(&m->craft.abbrev, ODD, DW_TAG_subprogram, false, specs);
    craft_put(&m->craft.abbrev, 0, 1);
    size_t unit = begin_unit(&m->craft);
    entry(&m->craft, FUNCTION, "first", 0, 0x10);
    craft_uleb(&m->craft.info, ODD);
    buf_add(&m->craft.info, attrs, len);
    entry(&m->craft, FUNCTION, "last", 0x20, 0x30);
    end_unit(&m->craft, unit);
    return make(m);
}

TEST(dwarf_abbreviations_are_bounded)
{
    for (unsigned n = 63; n <= 66; n++) { /* one of them is the address, one the length */
        AUTO_MADE m = {0};
        u16 specs[140] = {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4};
        struct {
            u64 low;
            u32 len;
        } attrs = {TEXT + 0x10, 0x10};
        for (unsigned i = 2; i < n; i++) {
            specs[2 * i] = DW_AT_external;
            specs[2 * i + 1] = DW_FORM_flag_present;
        }
        CHECK_EQ(make_with(&m, specs, &attrs, 12), 0);
        CHECK_EQ(m.x.h->cuts, n <= 64 ? 0 : DWARF_CUT_DAMAGED);
        CHECK_STR(at(&m, 0x0f), "first@0");
        CHECK_EQ(strcmp(at(&m, 0x10), "-") != 0, n <= 64);
        CHECK_EQ(strcmp(at(&m, 0x20), "-") != 0, n <= 64);
    }
}

TEST(dwarf_abbreviations_of_unknown_forms)
{
    AUTO_MADE m = {0};
    static const u16 specs[] = {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, DW_AT_name, 0x7f, 0};
    const u64 low = TEXT + 0x10;
    CHECK_EQ(make_with(&m, specs, &low, 8), 0);
    CHECK_EQ(m.x.h->cuts, DWARF_CUT_DAMAGED);
    CHECK_STR(at(&m, 0x00), "first@0");
    CHECK_STR(at(&m, 0x10), "-");
}

/* A list of ranges that leads nowhere costs its function. */
TEST(dwarf_ranges_that_lead_nowhere)
{
    AUTO_MADE m = {0};
    static const u16 specs[] = {DW_AT_ranges, DW_FORM_sec_offset, 0};
    CHECK_EQ(make_with(&m, specs, &(u32){0x7000}, 4), 0);
    CHECK_EQ(m.x.h->cuts, 0);
    CHECK_STR(at(&m, 0x0f), "first@0");
    CHECK_STR(at(&m, 0x20), "last@0");
    CHECK_EQ(m.x.h->functions, 2);
}

/* ---- What is read back ------------------------------------------------------------------------------------------- */

TEST(dwarf_index_is_opened_where_it_is_one)
{
    AUTO_MADE m = {0};
    struct dwarf_index x;
    begin(&m.craft);
    size_t unit = begin_unit(&m.craft);
    entry(&m.craft, FUNCTION, "one", 0x10, 0x20);
    end_unit(&m.craft, unit);
    CHECK_EQ(make(&m), 0);
    AUTO_FREE char *copy = malloc(m.len + 8);
    memcpy(copy + 4, m.index, m.len);
    CHECK_EQ(dwarf_index_open(&x, copy + 4, m.len), -EBADMSG); /* not aligned */
    CHECK_EQ(dwarf_index_open(&x, m.index, m.len - 1), -EBADMSG);
    CHECK_EQ(dwarf_index_open(&x, m.index, sizeof(struct dwarf_index_header) - 1), -EBADMSG);
    CHECK_EQ(dwarf_index_check(m.index, m.len), 0);
    ((char *)m.index)[m.len - 1] ^= 1;
    CHECK_EQ(dwarf_index_open(&x, m.index, m.len), 0);
    CHECK_EQ(dwarf_index_check(m.index, m.len), -EBADMSG);
    ((char *)m.index)[0] ^= 1;
    CHECK_EQ(dwarf_index_open(&x, m.index, m.len), -EBADMSG);
}
