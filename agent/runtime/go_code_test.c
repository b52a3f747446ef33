/* Patterns of code, as Go's compiler and runtime have them. */
#include "base/test.h"
#include "runtime/go_rows.h"
#include "runtime/go_rows_internal.h"

#define CODE(...) (const u8[]){__VA_ARGS__}, sizeof((const u8[]){__VA_ARGS__})

static const struct go_func at_1000 = {.entry = 0x1000, .end = 0x1100, .flags = GO_ASSEMBLY | GO_SETS_RSP};

static struct go_code code(const u8 *p, size_t len)
{
    return (struct go_code){.f = &at_1000, .p = p, .len = len, .saved = ~0ull, .runtime = true};
}

TEST(go_code_finds_how_rbp_is_saved)
{
    struct go_code push = code(CODE(0x90, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10));
    go_code_begin(&push, 0x1002, 8);
    CHECK(push.saved == 0x1002 && push.chained == 0x1005 && push.rbp == -16 && !push.aligned);
    struct go_code at_rsp = code(CODE(0x48, 0x89, 0x2c, 0x24, 0x48, 0x8d, 0x2c, 0x24));
    go_code_begin(&at_rsp, 0x1000, 8);
    CHECK(at_rsp.saved == 0x1004 && at_rsp.chained == 0x1008);
    struct go_code near = code(CODE(0x48, 0x89, 0x6c, 0x24, 0x18));
    go_code_begin(&near, 0x1000, 0x20);
    CHECK(near.saved == 0x1005 && near.chained == 0x100a);
    struct go_code far = code(CODE(0x48, 0x89, 0xac, 0x24, 0xf8, 0x01, 0, 0));
    go_code_begin(&far, 0x1000, 0x200);
    CHECK(far.saved == 0x1008 && far.chained == 0x1010);
    struct go_code elsewhere = code(CODE(0x48, 0x89, 0x6c, 0x24, 0x10));
    go_code_begin(&elsewhere, 0x1000, 0x20); /* not where the compiler puts it */
    CHECK(elsewhere.saved == ~0ull && !elsewhere.chained && elsewhere.begun);
    struct go_code cut = code(CODE(0x48, 0x89, 0x6c, 0x24));
    go_code_begin(&cut, 0x1000, 0x20);
    CHECK(cut.saved == ~0ull);
}

TEST(go_code_sees_a_return_address_popped)
{
    struct go_code c = code(CODE(0x41, 0x5c, 0x0f, 0x05));
    CHECK(go_code_pops_return(&c, 0x1002));
    CHECK(!go_code_pops_return(&c, 0x1001));
    CHECK(!go_code_pops_return(&c, 0x1003));
}

TEST(go_code_finds_a_stack_that_is_aligned)
{
    struct go_code c =
        code(CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0));
    c.runtime = false;
    go_code_begin(&c, 0x1001, 8);
    CHECK_EQ(c.aligned, 0x100b);
}

TEST(go_code_finds_registers_saved_by_hand)
{
    const u8 saves[] = {0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x89, 0x5c, 0x24, 0x18, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    struct go_code c = code(saves, sizeof(saves));
    c.role = GO_FROM_C;
    go_code_saves(&c, 0x1000, 0x1010, 0x40);
    CHECK_EQ(c.saved, 0x1005);
    CHECK_EQ(c.rbp, 0x10 - 0x48);
    CHECK_EQ(c.rbx, (0x48 - 0x18) / 8);
    struct go_code plain = code(saves, sizeof(saves));
    go_code_saves(&plain, 0x1000, 0x1010, 0x40);
    CHECK_EQ(plain.rbx, XP_RBX_SAME); /* owed to nobody */
    go_code_saves(&plain, 0x1000, 0x1010, 0xfffffff0);
    struct go_code huge = code(saves, sizeof(saves));
    huge.role = GO_FROM_C;
    go_code_saves(&huge, 0x1000, 0x1010, 0x7ffffff0);
    CHECK(huge.saved == ~0ull && huge.rbx == XP_RBX_LOST);
}

TEST(go_code_finds_where_rsp_is_loaded)
{
    struct go_code by_field = code(CODE(0x90, 0x48, 0x8b, 0x66, 0x38, 0xc3));
    CHECK_EQ(go_code_rsp_load(&by_field, 0x1000), 0x1005);
    struct go_code by_rbx = code(CODE(0x48, 0x8b, 0x5a, 0x38, 0x48, 0x89, 0xdc, 0xc3));
    CHECK_EQ(go_code_rsp_load(&by_rbx, 0x1000), 0x1007);
    struct go_code other = code(CODE(0x48, 0x8b, 0x66, 0x40, 0xc3));
    CHECK_EQ(go_code_rsp_load(&other, 0x1000), 0);
}

TEST(go_code_knows_where_racecall_keeps_rsp)
{
    struct go_layout_facts none = {0};
    struct go_code c = code(CODE(0x90, 0x49, 0x89, 0xe4, 0x48, 0x8b, 0x66, 0x38, 0xc3));
    CHECK_EQ(go_code_rsp_load(&c, 0x1000), 0x1008);
    c.role = GO_RACECALL;
    CHECK_EQ(go_code_rsp_load(&c, 0x1000), 0x1004);
    struct xp_rule r = go_code_switch(&c, 0x1004, &none);
    CHECK(r.kind == XP_CFA_REG && r.cfa_off == XP_REG_RULE(12, 8));
}

TEST(go_code_reads_what_asmcgocall_leaves)
{
    struct go_layout_facts none = {0};
    struct go_code c = code(CODE(0x48, 0x89, 0x7c, 0x24, 0x30, 0x48, 0x89, 0x7c, 0x24, 0x28, 0xc3));
    c.role = GO_ASMCGOCALL;
    struct xp_rule r = go_code_switch(&c, 0x1000, &none);
    CHECK(r.kind == XP_CFA_GO_CALL && r.cfa_off == (0x30 | 0x28 << 16));
    CHECK_EQ(go_code_switch(&c, 0x1003, &none).kind, XP_CFA_GO_LOST);
}

/* morestack: g into rdi; its m; the sched it saves. systemstack: two comparisons with fields of m. */
#define SAVES    0x48, 0x8b, 0x5f, 0x30, 0x48, 0x89, 0x46, 0x40, 0x48, 0x89, 0x46, 0x38, 0x48, 0x89, 0x6e, 0x60, 0x90
#define COMPARES 0x48, 0x3b, 0x83, 0x50, 0, 0, 0, 0x48, 0x3b, 0x83, 0xb8, 0, 0, 0

static struct go_layout_facts facts(const u8 *morestack, size_t len, s64 shift)
{
    struct go_code m = code(morestack, len), s = code(CODE(COMPARES));
    return go_facts_read(&m, &s, shift);
}

TEST(go_facts_come_from_the_code)
{
    struct go_layout_facts local = facts(CODE(0x64, 0x48, 0x8b, 0x3c, 0x25, 0xf8, 0xff, 0xff, 0xff, SAVES), 0);
    CHECK(local.known && !local.slot && local.g == -8 && local.curg == 184 && local.sched_bp == 96);
    struct go_layout_facts relaxed = facts(CODE(0x48, 0xc7, 0xc1, 0xd8, 0xff, 0xff, 0xff, SAVES), 0);
    CHECK(relaxed.known && !relaxed.slot && relaxed.g == -40);
    struct go_layout_facts got = facts(CODE(0x48, 0x8b, 0x0d, 0x00, 0x10, 0, 0, SAVES), -0x400);
    CHECK(got.known && got.slot && got.g == 0x1000 + 7 + 0x1000 - 0x400);
    CHECK(!facts(CODE(0x48, 0x8b, 0x0d, 0x00, 0x10, 0, 0, SAVES), 1ll << 33).known); /* too far for a rule */
    CHECK(!facts(CODE(SAVES), 0).known);
    CHECK(!facts(CODE(0x64, 0x48, 0x8b, 0x3c, 0x25, 0xf8, 0xff, 0xff, 0xff), 0).known);
}

TEST(go_switches_without_facts_have_a_cause_of_their_own)
{
    struct go_layout_facts none = {0}, known = {.known = true, .g = -8, .curg = 184, .sched_bp = 96};
    struct go_code c = code(CODE(0xc3));
    c.role = GO_MORESTACK;
    CHECK_EQ(go_code_switch(&c, 0x1000, &none).kind, XP_CFA_GO_LOST);
    CHECK_EQ(go_code_switch(&c, 0x1000, &known).kind, XP_CFA_GO_G);
    c.role = GO_SYSTEMSTACK;
    CHECK_EQ(go_code_switch(&c, 0x1000, &known).kind, XP_RULE_KIND(XP_CFA_GO_G, XP_GO_POP));
}
