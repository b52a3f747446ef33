#include "cfi/gap.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "elf/dynamic.h"
#include "cfi/fixture.h"
#include "cfi/table.h"

static s64 offset_of(const struct elf_file *e, u64 vaddr)
{
    const struct elf_segment *s = elf_segment_at(e, vaddr, PF_X);
    return s ? (s64)(vaddr - s->vaddr + s->offset) : -1;
}

static bool is_rsp(const struct xp_table *t, u64 offset, s32 off)
{
    struct xp_rule r = table_rule_at(t, offset);
    return XP_RULE_CFA(r.kind) == XP_CFA_RSP && r.cfa_off == off;
}

TEST(gap_init_and_fini_have_rows)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = fixture_table("plt-no-cfi");
    struct elf_dynamic d;
    CHECK_EQ(fixture_elf("plt-no-cfi", &e), 0);
    CHECK(t && elf_dynamic(&e, &d) && d.init && d.fini);
    s64 init = offset_of(&e, d.init), fini = offset_of(&e, d.fini);
    CHECK(is_rsp(t, (u64)init, 8));
    CHECK(is_rsp(t, (u64)init + 8, 16));
    CHECK(is_rsp(t, (u64)fini, 8));
    CHECK_EQ(table_rule_at(t, (u64)init - 1).kind, XP_CFA_NONE);
}

TEST(gap_plt_without_cfi_has_the_rows_of_one_with)
{
    AUTO_ELF struct elf_file e = {0}, with_cfi = {0};
    AUTO_FREE struct xp_table *t = fixture_table("plt-no-cfi"), *u = fixture_table("plt");
    struct elf_section plt, same;
    CHECK_EQ(fixture_elf("plt-no-cfi", &e), 0);
    int rc = fixture_elf("plt", &with_cfi);
    bool found = !rc && elf_section(&e, ".plt", &plt) && elf_section(&with_cfi, ".plt", &same) && plt.len == same.len;
    u64 at = found ? (u64)offset_of(&e, plt.addr) : 0, other = found ? (u64)offset_of(&with_cfi, same.addr) : 0;
    bool equal = found && t && u;
    for (u64 i = 0; equal && i < plt.len; i++) {
        struct xp_rule a = table_rule_at(t, at + i), b = table_rule_at(u, other + i);
        equal = a.kind == b.kind && a.cfa_off == b.cfa_off;
    }
    elf_close(&with_cfi);
    CHECK(equal);
    CHECK_EQ(table_rule_at(t, at + plt.len - 1).kind, XP_CFA_PLT);
}

TEST(gap_pieces_ascend_and_do_not_overlap)
{
    AUTO_ELF struct elf_file e = {0};
    struct gap_codes c;
    CHECK_EQ(fixture_elf("plt", &e), 0);
    gap_codes_find(&e, &c);
    CHECK(c.n >= 3);
    for (size_t i = 1; i < c.n; i++)
        CHECK(c.v[i].start >= c.v[i - 1].end);
}
