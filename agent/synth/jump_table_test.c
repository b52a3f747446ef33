/* Switches: which entries of a table are followed, and where a table ends. A case that is not followed is an orphan,
 * whose rows are inferred. */
#include "base/cleanup.h"
#include "base/test.h"
#include "synth/crafted.h"

#define TABLE 0x80 /* in the code */
#define CASES 4    /* at 0x20, 0x28, ...: push rax; nop; pop rax; ret */

struct code {
    u8 b[0x100];
};

static void put32(struct code *c, u32 at, u32 v)
{
    memcpy(c->b + at, &v, sizeof(v));
}

/* lea rdx, [rip + table]; movsxd rax, [rdx + rdi * 4]; add rax, rdx; jmp rax. */
static struct code relative(const u32 *targets, u32 n)
{
    static const u8 code[] = {0x48, 0x8d, 0x15, TABLE - 7, 0,    0,    0,    0x48,
                              0x63, 0x04, 0xba, 0x48,      0x01, 0xd0, 0xff, 0xe0};
    struct code c;
    memset(&c, 0xcc, sizeof(c));
    memcpy(c.b, code, sizeof(code));
    for (u32 i = 0; i < CASES; i++)
        memcpy(c.b + 0x20 + 8 * i, "\x50\x90\x58\xc3", 4);
    for (u32 i = 0; i < n; i++)
        put32(&c, TABLE + 4 * i, targets[i] - TABLE);
    return c;
}

/* jmp [table + rdi * 8], and no other entries than these. */
static struct code absolute(const u32 *targets, u32 n)
{
    struct code c = relative(NULL, 0);
    memset(c.b, 0xcc, 0x10);
    memcpy(c.b, "\xff\x24\xfd", 3);
    put32(&c, 3, CRAFTED_BASE + TABLE);
    for (u32 i = 0; i < n; i++) {
        put32(&c, TABLE + 8 * i, CRAFTED_BASE + targets[i]);
        put32(&c, TABLE + 8 * i + 4, 0);
    }
    return c;
}

/* lea rcx, [rip + x]; ret: something names this address. */
static void name(struct code *c, u32 what)
{
    memcpy(c->b + 0x60, "\x48\x8d\x0d", 3);
    put32(c, 0x63, what - 0x67);
    c->b[0x67] = 0xc3;
}

/* "012.": of each case its number if it is followed, else "." */
static const char *followed(const struct code *c)
{
    static char text[CASES + 1];
    u8 file[CRAFTED_BASE + sizeof(*c)];
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    AUTO_ELF struct elf_file e = {0};
    AUTO_SYNTH struct synth s = {0};
    limits.max_cpu_ms = 60000;
    crafted_file(file, c->b, sizeof(c->b));
    if (elf_open_memory(&e, file, sizeof(file)) || synth_read(&e, NULL, 0, &limits, &s) || !crafted_is_sound(&s))
        return "error";
    for (u32 i = 0; i < CASES; i++) {
        struct xp_rule rule = {0};
        for (size_t k = 0; k < s.rows.n && s.rows.v[k].offset <= CRAFTED_BASE + 0x21 + 8 * i; k++)
            rule = s.rows.v[k].rule;
        bool known = XP_RULE_CFA(rule.kind) == XP_CFA_RSP && rule.cfa_off == 16 && !(rule.rbx & XP_RBX_INFERRED);
        text[i] = known ? (char)('0' + i) : '.';
    }
    return text;
}

static const u32 all[] = {0x20, 0x28, 0x30, 0x38};

TEST(jump_tables_end_where_an_entry_leads_nowhere)
{
    struct code c = relative(all, 4);
    CHECK_STR(followed(&c), "0123");
    c = relative(all, 2);
    CHECK_STR(followed(&c), "01..");
    c = relative(all, 4);
    put32(&c, TABLE + 4, 0x200000); /* too far */
    CHECK_STR(followed(&c), "0...");
    c = absolute(all, 3);
    CHECK_STR(followed(&c), "012.");
}

TEST(jump_tables_end_where_something_else_begins)
{
    static const struct {
        u32 named;
        const char *relative, *absolute;
    } cases[] = {{TABLE - 4, "0123", "0123"}, {TABLE, "0123", "0123"},      {TABLE + 4, "0...", "...."},
                 {TABLE + 8, "01..", "0..."}, {TABLE + 16, "0123", "01.."}, {TABLE + 31, "0123", "012."},
                 {TABLE + 32, "0123", "0123"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct code r = relative(all, 4), a = absolute(all, 4);
        name(&r, cases[i].named);
        name(&a, cases[i].named);
        CHECK_STR(followed(&r), cases[i].relative);
        CHECK_STR(followed(&a), cases[i].absolute);
    }
}

/* The index may never be 0, or never 1: entries that lead into the middle of instructions are passed over. */
TEST(jump_tables_have_entries_that_are_none)
{
    static const u32 odd[] = {0x20, 0x29, 0x30, 0x38};
    struct code c = relative(odd, 4);
    memcpy(c.b + 0x28, "\x68\x50\x90\x58\xc3", 5); /* push imm32, in which lies what looks like a case */
    CHECK_STR(followed(&c), "0.23");
}
