#include "cfi/table.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "elf/dynamic.h"
#include "cfi/fixture.h"
#include "cfi/table_elf.h"
#include <errno.h>
#include <sys/auxv.h>

TEST(table_of_a_file_without_cfi_believes_frame_pointers)
{
    AUTO_FREE struct xp_table *t = fixture_table("bytes.so");
    CHECK(t);
    CHECK_EQ(t->nblocks, 0);
    CHECK_EQ(t->nrows, 1);
    CHECK_EQ(t->fdes, 0);
    CHECK_EQ(t->flags, XP_TABLE_FP_OK);
    CHECK_EQ(table_rule_at(t, 0x1000).kind, XP_CFA_NONE);
}

TEST(table_entry_point_is_outermost)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = fixture_table("start");
    CHECK_EQ(fixture_elf("start", &e), 0);
    CHECK(t);
    u64 start = fixture_symbol(&e, "_start"), after = fixture_symbol(&e, "after");
    CHECK_EQ(table_rule_at(t, start - 1).kind, XP_CFA_RSP); /* padding inherits */
    CHECK_EQ(table_rule_at(t, start).kind, XP_CFA_END);
    CHECK_EQ(table_rule_at(t, start + 7).kind, XP_CFA_END);
    CHECK_EQ(table_rule_at(t, after).kind, XP_CFA_RSP);
    AUTO_FREE struct xp_table *with_libc = fixture_table("static");
    if (!with_libc)
        SKIP("no static libc");
    AUTO_ELF struct elf_file s = {0};
    CHECK_EQ(fixture_elf("static", &s), 0);
    CHECK_EQ(table_rule_at(with_libc, fixture_symbol(&s, "_start") + 6).kind, XP_CFA_END);
}

TEST(table_of_the_vdso)
{
    const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    if (!vdso)
        SKIP("no vdso");
    CHECK_EQ(elf_open_memory(&e, vdso, 4096), 0); /* one page of it is always there */
    elf_close(&e);
    const Elf64_Ehdr *h = vdso;
    CHECK_EQ(elf_open_memory(&e, vdso, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &t, &len), 0);
    CHECK(t->fdes > 0);
    CHECK_EQ(t->bad_fdes, 0);
    CHECK(t->build_id_len == e.build_id_len && !memcmp(t->build_id, e.build_id, e.build_id_len));
    CHECK_EQ(t->source_rows[XP_SOURCE_KNOWN], elf_has_dynamic_symbol(&e, "__vdso_getrandom"));
}

TEST(table_limits_hold)
{
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    struct xp_table *t = NULL;
    size_t len = 1;
    CHECK_EQ(table_build(fd, &(struct table_limits){20, 65535}, &t, &len), -ENOSPC);
    CHECK_EQ(table_build(fd, &(struct table_limits){1 << 20, 3}, &t, &len), -ENOSPC);
    CHECK_EQ(table_build(fd, &(struct table_limits){0, 0}, &t, &len), -ENOSPC);
    CHECK(!t);
    CHECK_EQ(len, 1);
}

/* The rules of two tables of one file at every offset in [from, to): how many differ. */
static size_t differ(const struct xp_table *a, const struct xp_table *b, u64 from, u64 to)
{
    size_t n = 0;
    for (; from < to; from++) {
        struct xp_rule x = table_rule_at(a, from), y = table_rule_at(b, from);
        n += memcmp(&x, &y, sizeof(x)) != 0;
    }
    return n;
}

static u64 end_of(const struct xp_table *t)
{
    return t->lo + (u64)t->nblocks * XP_BLOCK;
}

TEST(table_takes_rows_that_others_found)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *plain = NULL, *both = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &plain, &len), 0);
    u64 from = plain->lo + 21, to = end_of(plain) - 1; /* begins, wherever that is, in the middle of something */
    while (to > from && table_rule_at(plain, to - 1).kind == XP_CFA_NONE)
        to--;
    from += (to - from) / 3;
    to -= (to - from) / 3;
    struct table_row rows[] = {{from, rule_word((struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 4096})},
                               {from + 5, rule_word((struct xp_rule){.kind = XP_CFA_GO_LOST})}};
    struct table_code code = {.start = from, .end = to, .rows = rows, .n = 2, .bad = 3, .source = XP_SOURCE_GO};
    CHECK_EQ(table_build_elf(&e, &code, &limits, &both, &len), 0);
    CHECK_EQ(table_check(both, len), 0);
    CHECK_EQ(differ(plain, both, plain->lo, from), 0);
    CHECK_EQ(table_rule_at(both, from + 4).cfa_off, 4096);
    CHECK_EQ(table_rule_at(both, from + 5).kind, XP_CFA_GO_LOST);
    CHECK_EQ(table_rule_at(both, to - 1).kind, XP_CFA_GO_LOST);
    CHECK(table_rule_at(both, end_of(both) - 1).kind == XP_CFA_NONE);
    CHECK_EQ(both->source_rows[XP_SOURCE_GO], 2);
    CHECK_EQ(both->bad_fdes, plain->bad_fdes + 3);
    CHECK(both->source_rows[XP_SOURCE_EH_FRAME] && !plain->source_rows[XP_SOURCE_GO]);
    CHECK_STR(table_source_name(XP_SOURCE_GO), "gopclntab");
}

/* A rule that no CFI has. */
static u64 synthesised(s32 off)
{
    return rule_word((struct xp_rule){.kind = XP_CFA_RSP | XP_RULE_SYNTH, .cfa_off = off});
}

/* cfi.so with rows for all gaps of its code, large and small, and for some of what has FDEs. */
TEST(table_fills_gaps_and_nothing_else)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *plain = NULL, *filled = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    table_spans covered = {0};
    size_t len;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &plain, &len), 0);
    CHECK_EQ(table_covered(&e, NULL, &limits, &covered), 0);
    CHECK(covered.n > 2);
    u64 first = covered.v[0].start, last = covered.v[covered.n - 1].end, gaps = 0;
    struct table_row rows[] = {{first - 32, synthesised(1)},
                               {first - 16, synthesised(2)},
                               {last - 1, synthesised(3)},
                               {last + 40, synthesised(4)}};
    struct table_code all = {.start = first - 32, .end = last + 64, .rows = rows, .n = 4, .source = XP_SOURCE_SYNTH};
    CHECK_EQ(table_build_filled(&e, NULL, &all, 1, &limits, &filled, &len), 0);
    CHECK_EQ(table_check(filled, len), 0);
    CHECK_EQ(table_rule_at(filled, first - 33).kind, XP_CFA_NONE);
    CHECK_EQ(table_rule_at(filled, first - 17).cfa_off, 1);
    CHECK_EQ(table_rule_at(filled, first - 1).cfa_off, 2);
    for (size_t i = 0; i < covered.n; i++) {
        CHECK_EQ(differ(plain, filled, covered.v[i].start, covered.v[i].end), 0);
        u64 gap = covered.v[i].end;
        for (; i + 1 < covered.n && gap < covered.v[i + 1].start; gap++, gaps++)
            CHECK_EQ(table_rule_at(filled, gap).cfa_off, 2);
    }
    CHECK(gaps > 0);
    CHECK_EQ(table_rule_at(filled, last).cfa_off, 3);
    CHECK_EQ(table_rule_at(filled, last + 63).cfa_off, 4);
    CHECK_EQ(table_rule_at(filled, last + 64).kind, XP_CFA_NONE);
    CHECK(filled->source_rows[XP_SOURCE_SYNTH] >= 4 && !plain->source_rows[XP_SOURCE_SYNTH]);
    vec_free(&covered);
}

TEST(table_gaps_begin_and_end_where_they_are_filled)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL, *none = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("bytes.so", &e), 0);
    struct table_row rows[] = {{0x1000, synthesised(8)}, {0x1200, synthesised(16)}, {0x2000, synthesised(24)}};
    struct table_code gaps[] = {
        {.start = 0x1000, .end = 0x1300, .rows = rows, .n = 2, .source = XP_SOURCE_SYNTH},
        {.start = 0x2000, .end = 0x2001, .rows = rows + 2, .n = 1, .source = XP_SOURCE_SYNTH},
    };
    CHECK_EQ(table_build_filled(&e, NULL, gaps, 2, &limits, &t, &len), 0);
    CHECK_EQ(table_check(t, len), 0);
    CHECK_EQ(table_rule_at(t, 0x11ff).cfa_off, 8);
    CHECK_EQ(table_rule_at(t, 0x12ff).cfa_off, 16);
    CHECK_EQ(table_rule_at(t, 0x1300).kind, XP_CFA_NONE);
    CHECK_EQ(table_rule_at(t, 0x2000).cfa_off, 24);
    CHECK_EQ(table_rule_at(t, 0x2001).kind, XP_CFA_NONE);
    limits.max_rows = 40;
    CHECK_EQ(table_build_filled(&e, NULL, gaps, 2, &limits, &none, &len), -ENOSPC);
    CHECK(!none);
}

/* Known code and rows from elsewhere are covered, too; and what is covered has rows. */
TEST(table_covers_what_it_has_rows_for)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    table_spans covered = {0};
    size_t len;
    CHECK_EQ(fixture_elf("start", &e), 0);
    struct table_row row = {0x800, synthesised(8)};
    struct table_code code = {.start = 0x800, .end = 0x810, .rows = &row, .n = 1, .source = XP_SOURCE_GO};
    CHECK_EQ(table_covered(&e, &code, &limits, &covered), 0);
    CHECK_EQ(table_build_elf(&e, &code, &limits, &t, &len), 0);
    u64 end = 0;
    for (size_t i = 0; i < covered.n; i++) {
        CHECK(covered.v[i].start >= end && covered.v[i].start < covered.v[i].end);
        end = covered.v[i].end;
        CHECK(table_rule_at(t, covered.v[i].start).kind != XP_CFA_NONE);
        CHECK(table_rule_at(t, end - 1).kind != XP_CFA_NONE);
    }
    CHECK_EQ(covered.v[0].start, 0x800);
    CHECK_EQ(covered.v[0].end, 0x810);
    CHECK(t->source_rows[XP_SOURCE_KNOWN] && covered.n > 2); /* _start, which has no FDE */
    vec_free(&covered);
}

/* From the program's first instruction to the FDE behind it. */
TEST(table_covers_known_code)
{
    AUTO_ELF struct elf_file e = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT, none = {1, 1};
    table_spans covered = {0}, few = {0};
    CHECK_EQ(fixture_elf("start", &e), 0);
    u64 start = fixture_symbol(&e, "_start"), after = fixture_symbol(&e, "after");
    int err = table_covered(&e, NULL, &limits, &covered);
    bool found = false;
    for (size_t i = 0; i < covered.n; i++)
        found |= covered.v[i].start == start && covered.v[i].end == after;
    vec_free(&covered);
    CHECK(!err && found && after < start + 96);
    err = table_covered(&e, NULL, &none, &few);
    vec_free(&few);
    CHECK_EQ(err, -ENOSPC);
}

TEST(table_may_have_such_rows_alone)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("bytes.so", &e), 0);
    struct table_row row = {0x1000, rule_word((struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8})};
    struct table_code code = {.start = 0x1000, .end = 0x1801, .rows = &row, .n = 1, .source = XP_SOURCE_GO};
    CHECK_EQ(table_build_elf(&e, &code, &limits, &t, &len), 0);
    CHECK_EQ(table_check(t, len), 0);
    CHECK_EQ(t->flags, XP_TABLE_FP_OK); /* beside them */
    CHECK_EQ(table_rule_at(t, 0x1800).kind, XP_CFA_RSP);
    CHECK_EQ(table_rule_at(t, 0xfff).kind, XP_CFA_NONE);
    CHECK_EQ(table_rule_at(t, 0x1801).kind, XP_CFA_NONE);
    limits.max_rows = 1;
    struct xp_table *none = NULL;
    CHECK_EQ(table_build_elf(&e, &code, &limits, &none, &len), -ENOSPC);
}

/* What lies behind them is no ELF code (xp_is_appended). */
TEST(table_blocks_reach_the_end_of_all_segments)
{
    AUTO_ELF struct elf_file e = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    struct elf_segment *code = NULL;
    for (size_t i = 0; i < e.nloads; i++)
        code = e.loads[i].flags & PF_X ? &e.loads[i] : code;
    CHECK(code);
    u64 sizes[] = {code->filesz, code->filesz + 5 * XP_BLOCK, 1ull << 40}, ends[3];
    for (unsigned i = 0; i < 3; i++) {
        AUTO_FREE struct xp_table *t = NULL;
        code->filesz = sizes[i];
        CHECK_EQ(table_build_elf(&e, NULL, &limits, &t, &len), 0);
        CHECK_EQ(table_check(t, len), 0);
        ends[i] = t->lo + (u64)t->nblocks * XP_BLOCK;
        CHECK_EQ(table_rule_at(t, ends[i] - 1).kind, XP_CFA_NONE);
    }
    CHECK(ends[0] > code->offset + sizes[0] && ends[0] <= code->offset + sizes[0] + XP_BLOCK);
    CHECK_EQ(ends[1], ends[0] + 5 * XP_BLOCK);
    CHECK(ends[2] <= e.size + XP_BLOCK);
}

/* Without a build ID something stands for it that is the same for the same CFI, and for no other. */
TEST(table_of_a_file_without_a_build_id)
{
    static const char *const names[] = {"cfi.so", "cfi.so", "symbols.so"};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    u8 id[3][sizeof(((struct xp_table *)0)->build_id)];
    for (size_t i = 0; i < 3; i++) {
        AUTO_ELF struct elf_file e = {0};
        AUTO_FREE struct xp_table *t = NULL;
        size_t len;
        CHECK_EQ(fixture_elf(names[i], &e), 0);
        memset(e.build_id, 0, sizeof(e.build_id));
        e.build_id_len = 0;
        CHECK_EQ(table_build_elf(&e, NULL, &limits, &t, &len), 0);
        CHECK_EQ(t->build_id_len, sizeof(t->build_id));
        memcpy(id[i], t->build_id, sizeof(id[i]));
    }
    CHECK(!memcmp(id[0], id[1], sizeof(id[0])) && memcmp(id[0], id[2], sizeof(id[0])) != 0);
}
