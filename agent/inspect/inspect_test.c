#include "inspect/desk_test.h"
#include "base/test.h"
#include "inspect/inspect.h"
#include "parser/parser.h"
#include "parser/synth_table.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static void check_sums(const struct inspection *i)
{
    u64 code = 0, gaps = 0;
    for (size_t k = 0; k < i->facts.nsegments; k++)
        code += i->facts.segments[k].size;
    CHECK_EQ(i->code, code);
    for (size_t k = 0; k < INSPECT_GAPS; k++) {
        gaps += i->gaps[k].len;
        CHECK(k == 0 || i->gaps[k].len <= i->gaps[k - 1].len);
        CHECK((k < i->ngaps) == (i->gaps[k].len != 0));
    }
    if (i->ngaps <= INSPECT_GAPS)
        CHECK_EQ(i->covered + gaps, i->code);
    else
        CHECK(i->covered + gaps < i->code);
}

/* Byte by byte, what the sweep over the rows adds up. */
static void check_against_rules(const struct inspection *i, const struct xp_table *t)
{
    u64 covered = 0, ngaps = 0;
    bool before = true;
    for (size_t k = 0; k < i->facts.nsegments; k++)
        for (u64 at = 0; at < i->facts.segments[k].size; at++) {
            struct xp_rule r = table_rule_at(t, i->facts.segments[k].offset + at);
            u32 kind = XP_RULE_CFA(r.kind);
            bool has = kind != XP_CFA_NONE && kind != XP_CFA_UNSUPPORTED && kind != XP_CFA_UNPROVEN;
            covered += has;
            ngaps += !has && (before || !at);
            before = has;
        }
    CHECK_EQ(i->covered, covered);
    CHECK_EQ(i->ngaps, ngaps);
}

TEST(inspect_adds_up_code_and_gaps)
{
    static const char *const files[] = {"elf/cfi.so", "elf/symbols.so", "elf/moved", "elf/plt-no-cfi", "synth/v8.so"};
    AUTO_DESK d = {.dir = ""};
    CHECK_EQ(desk_new(&d), 0);
    for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
        struct inspection i;
        const struct xp_table *t;
        const struct parser_synth *s;
        u32 id = add_fixture(&d, files[k]);
        CHECK_EQ(inspect(d.binaries, id, -1, &i), 0);
        CHECK_EQ(i.error, 0);
        CHECK_EQ(i.table_error, 0);
        CHECK_EQ(binaries_table(d.binaries, id, &t), 0);
        if (i.synth_tried && !binaries_synth(d.binaries, id, &s) && s->table)
            t = s->table;
        CHECK(i.code > 0);
        check_sums(&i);
        check_against_rules(&i, t);
        CHECK_EQ(i.table.nrows, t->nrows);
        inspection_free(&i);
    }
}

TEST(inspect_looks_at_code_without_rows)
{
    AUTO_DESK d = {.dir = ""};
    struct inspection i;
    struct xp_rule rule = {0};
    CHECK_EQ(desk_new(&d), 0);
    u32 id = add_fixture(&d, "synth/psabi.so"), foreign = add_fixture(&d, "synth/go.so");
    CHECK_EQ(inspect(d.binaries, id, -1, &i), 0);
    CHECK(i.synth_tried);
    CHECK_EQ(i.dropped, SYNTH_DROP_NOT);
    CHECK(i.table.nrows > 0 && i.covered > 0);
    CHECK_EQ(i.lines_error, -ENODATA);
    CHECK_EQ(i.debug_error, 0);
    CHECK_EQ(inspect_rule(d.binaries, id, i.facts.segments[0].offset, &rule), 0); /* f: push %rax */
    CHECK_EQ(XP_RULE_CFA(rule.kind) == XP_CFA_NONE, false);
    CHECK_EQ(inspect_rule(d.binaries, 12345, 0, &rule), -ENOENT);
    inspection_free(&i);
    CHECK_EQ(inspect(d.binaries, foreign, -1, &i), 0);
    CHECK(i.synth_tried && i.dropped != SYNTH_DROP_NOT);
    CHECK_EQ(i.covered, 0);
    inspection_free(&i);
}

TEST(inspect_finds_lines)
{
    AUTO_DESK d = {.dir = ""};
    struct inspection i;
    CHECK_EQ(desk_new(&d), 0);
    u32 id = add_fixture(&d, "elf/dwarf-5");
    CHECK_EQ(inspect(d.binaries, id, -1, &i), 0);
    CHECK_EQ(i.lines_error, 0);
    CHECK_EQ(i.lines.magic, DWARF_INDEX_MAGIC);
    CHECK(i.lines.nfiles > 1 && i.lines.functions > 0);
    inspection_free(&i);
}
