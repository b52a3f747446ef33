/* Instructions one behind the other from a function's entry: what is known behind them, and where control goes. */
#include "synth/step.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "synth/state_text_test.h"
#include <stdlib.h>

#define PC 0x1000 /* of the first one */

/* "55 48 89 e5"; the number of bytes. */
static size_t bytes_of(const char *hex, u8 *out)
{
    size_t n = 0;
    for (char *end; *hex; hex = *end ? end + 1 : end)
        out[n++] = (u8)strtoul(hex, &end, 16);
    return n;
}

static void add_end(struct buf *b, const struct step *x)
{
    static const char *const to[] = {"", "ret ", "jump ", "branch ", "call ", "switch ", "stop "};
    buf_str(b, to[x->to]);
    if (x->target)
        buf_printf(b, "%#llx ", (unsigned long long)x->target);
    if (x->table)
        buf_printf(b, "table %#llx ", (unsigned long long)x->table);
    if (x->to == STEP_SWITCH && x->absolute)
        buf_str(b, "absolute ");
    if (x->targets)
        buf_str(b, "targets ");
    if (!x->changed)
        buf_str(b, "no rule changes ");
}

/* What is known behind all of them, and where the last one leads. */
static void run(const char *hex, struct state *s, struct stores *m, struct buf *text)
{
    u8 code[128];
    size_t n = bytes_of(hex, code), at = 0;
    struct step next = {0};
    struct insn x;
    for (; at < n && insn_decode(code + at, n - at, &x); at += x.len)
        step(s, &x, PC + at + x.len, (u32)at, KEPT_BY_ABI, m, &next);
    add_state(text, s);
    add_end(text, &next);
    if (at < n)
        buf_str(text, "invalid ");
    text->data[text->len - 1] = 0; /* a blank, as behind all that was said */
}

struct row {
    const char *code, *says;
};

static void check(const struct row *rows, size_t n, const char *file, int line)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf text = {0};
        struct state s;
        state_entry(&s);
        run(rows[i].code, &s, NULL, &text);
        if (strcmp(text.data, rows[i].says))
            test_fail(file, line, "%s: %s", rows[i].code, text.data);
    }
}
#define CHECK_ROWS(rows) check(rows, sizeof(rows) / sizeof(*(rows)), __FILE__, __LINE__)

TEST(step_pushes_and_pops)
{
    static const struct row rows[] = {
        {"55", "rsp=cfa-16 [cfa-16]=rbp"},
        {"53 55 5d 5b", "rsp=cfa-8 [cfa-16]=rbx [cfa-24]=rbp"},
        {"50 59", "rcx=*-16 rsp=cfa-8"}, /* rax is of no use in a slot */
        {"53 59", "rcx=rbx rsp=cfa-8 [cfa-16]=rbx"},
        {"6a 01", "rsp=cfa-16"},                      /* no register's */
        {"53 8f 44 24 f0", "rsp=cfa-8 [cfa-16]=rbx"}, /* pop [rsp - 16]: rsp has moved before */
        {"55 8f 04 24", "rsp=cfa-8 [cfa-16]=rbp"},    /* over itself */
        {"58 58", "rax=*+0 rsp=cfa+8"},               /* the return address, and what is behind it */
        {"48 89 e5 c9", "rsp=cfa+0 rbp=*-8"},         /* leave */
        {"55 48 89 e5 41 54 c9", "rsp=cfa-8 [cfa-16]=rbp [cfa-24]=r12"},
        {"c9", "rsp=? rbp=?"},
        {"48 89 c4 50", "rsp=?"}, /* rsp is unknown */
        {"48 89 c4 58", "rax=? rsp=?"},
    };
    CHECK_ROWS(rows);
}

TEST(step_moves)
{
    static const struct row rows[] = {
        {"48 89 e5", "rsp=cfa-8 rbp=cfa-8"},
        {"89 e5", "rsp=cfa-8 rbp=?"},
        {"48 89 5c 24 f8", "rsp=cfa-8 [cfa-16]=rbx"},
        {"48 89 5c 24 f8 48 8b 4c 24 f8", "rcx=rbx rsp=cfa-8 [cfa-16]=rbx no rule changes"},
        {"48 89 5c 24 f8 89 44 24 fc", "rsp=cfa-8"},              /* half of it is overwritten */
        {"48 89 5c 24 f8 89 44 24 f4", "rsp=cfa-8 [cfa-16]=rbx"}, /* its neighbour */
        {"48 89 5c 24 f8 c6 44 24 ff 00", "rsp=cfa-8"},
        {"48 89 5c 24 f8 c6 44 24 00 00", "rsp=cfa-8 [cfa-16]=rbx"},
        {"48 89 5c 24 f8 64 48 89 44 24 f8", "rsp=cfa-8 [cfa-16]=rbx no rule changes"}, /* in another segment */
        {"48 89 5c 24 f8 67 48 89 44 24 f8", "rsp=cfa-8 [cfa-16]=rbx no rule changes"}, /* at half an address */
        {"48 89 5c 24 f8 48 89 44 0c f8", "rsp=cfa-8 [cfa-16]=rbx no rule changes"},    /* somewhere */
        {"48 8b 44 24 08", "rax=*+0 rsp=cfa-8 no rule changes"},
        {"48 8b 00", "rax=? rsp=cfa-8 no rule changes"},
        {"b8 05 00 00 00", "rax=#0x5 rsp=cfa-8 no rule changes"},
        {"48 c7 c0 ff ff ff ff", "rax=? rsp=cfa-8 no rule changes"},
        {"b8 ff ff ff ff", "rax=#0xffffffff rsp=cfa-8 no rule changes"},
        {"b0 05", "rax=? rsp=cfa-8 no rule changes"},
        {"66 b8 05 00", "rax=? rsp=cfa-8 no rule changes"},
        {"48 89 d8 48 89 c3", "rax=rbx rsp=cfa-8 no rule changes"},
        {"48 87 eb", "rbx=rbp rsp=cfa-8 rbp=rbx"},
        {"87 eb", "rbx=? rsp=cfa-8 rbp=?"},
        {"48 87 04 24", "rax=? rsp=cfa-8"},
        {"48 63 c1", "rax=? rsp=cfa-8 no rule changes"},
        {"0f b6 e8", "rsp=cfa-8 rbp=?"},
    };
    CHECK_ROWS(rows);
}

TEST(step_arithmetic)
{
    static const struct row rows[] = {
        {"48 83 ec 18", "rsp=cfa-32"},
        {"48 83 c4 18", "rsp=cfa+16"},
        {"48 8d 64 24 e8", "rsp=cfa-32"},
        {"48 8d 6c 24 10", "rsp=cfa-8 rbp=cfa+8"},
        {"48 8d 05 10 00 00 00", "rax=#0x1017 rsp=cfa-8 no rule changes"},
        {"48 8d 05 10 00 00 00 48 83 c0 08", "rax=#0x101f rsp=cfa-8 no rule changes"},
        {"48 8d 05 10 00 00 00 48 83 e8 08", "rax=#0x100f rsp=cfa-8 no rule changes"},
        {"48 8d 05 10 00 00 00 48 8d 48 08", "rax=#0x1017 rcx=#0x101f rsp=cfa-8 no rule changes"},
        {"48 8d 04 0a", "rax=? rsp=cfa-8 no rule changes"},
        {"48 8d 41 08", "rax=? rsp=cfa-8 no rule changes"},
        {"8d 64 24 f8", "rsp=?"},
        {"67 48 8d 64 24 f8", "rsp=?"},
        {"48 ff c4", "rsp=cfa-7"},
        {"48 ff cc", "rsp=cfa-9"},
        {"48 ff c0", "rax=? rsp=cfa-8 no rule changes"},
        {"48 01 c8", "rax=? rsp=cfa-8 no rule changes"},
        {"83 ec 18", "rsp=?"},
        {"b8 00 10 00 00 48 29 c4", "rax=#0x1000 rsp=cfa-4104"},
        {"b8 00 10 00 00 48 01 c4", "rax=#0x1000 rsp=cfa+4088"},
        {"b8 00 10 00 00 48 83 c0 01", "rax=#0x1001 rsp=cfa-8 no rule changes"},
        {"b8 00 10 00 00 48 01 c8", "rax=? rsp=cfa-8 no rule changes"},
        {"48 81 ec 00 00 00 10", "rsp=?"},
        {"48 81 ec 00 00 00 10 50", "rsp=?"}, /* too deep to be true */
    };
    CHECK_ROWS(rows);
}

/* and rsp, -32; sub rsp, rax: rsp is somewhere, and all that follows counts from there. */
TEST(step_frames_that_are_computed)
{
    static const struct row rows[] = {
        {"48 83 e4 e0", "rsp=@1+0"},
        {"48 83 e4 e1", "rsp=?"},
        {"48 83 e4 10", "rsp=?"},
        {"48 83 e0 e0", "rax=? rsp=cfa-8 no rule changes"},
        {"48 89 e5 48 83 e5 e0", "rsp=cfa-8 rbp=@4+0"},
        {"48 83 e4 e0 53 48 89 e0", "rax=@1-8 rsp=@1-8 [@1-8]=rbx"},
        {"48 83 e4 e0 48 83 e4 c0", "rsp=@5+0"},
        {"48 89 e3 48 83 e4 e0 53 5b", "rbx=cfa-8 rsp=@4+0 [@4-8]=cfa-8"},
        {"48 29 c4", "rax=size(@1+8) rsp=@1+0"},
        {"53 48 29 c4 48 89 04 24", "rax=size(@2+16) rsp=@2+0 [cfa-16]=rbx [@2+0]=size(@2+16)"},
        {"53 48 29 c4 48 01 c4", "rax=size(@2+16) rsp=cfa-16 [cfa-16]=rbx"}, /* and given back */
        {"48 29 c4 48 83 ec 08 48 01 c4", "rax=size(@1+8) rsp=cfa-16"},
        {"48 29 c4 48 01 cc", "rax=size(@1+8) rsp=@4+0"},
        {"48 29 c4 48 29 cc", "rax=size(@1+8) rsp=@4+0"},
        {"48 83 e4 e0 48 29 c4", "rsp=@5+0"},
        {"48 2b 20", "rsp=@1+0"},
        {"48 89 e0 48 29 c4", "rax=cfa-8 rsp=@4+0"},
        {"48 8d 24 04", "rsp=@1+0"},
        {"48 8d 64 04 f8", "rsp=@1+0"},
        {"48 8d 2c 04", "rsp=cfa-8 rbp=?"},
        {"48 83 e4 e0 c9", "rsp=? rbp=?"},
    };
    CHECK_ROWS(rows);
}

TEST(step_what_other_instructions_write)
{
    static const struct row rows[] = {
        {"48 31 ed", "rsp=cfa-8 rbp=?"},
        {"48 f7 e3", "rax=? rdx=? rsp=cfa-8 no rule changes"},
        {"53 0f 29 04 24", "rsp=cfa-16"}, /* movaps: 16 bytes */
        {"53 55 0f 29 04 24", "rsp=cfa-24"},
        {"53 55 0f 29 44 24 f8", "rsp=cfa-24 [cfa-16]=rbx"},
        {"53 f3 0f 11 04 24", "rsp=cfa-16"}, /* movss: 4 */
        {"53 f3 0f 11 44 24 fc", "rsp=cfa-16 [cfa-16]=rbx"},
        {"53 0f 29 00", "rsp=cfa-16 [cfa-16]=rbx no rule changes"}, /* elsewhere */
        {"90", "rsp=cfa-8 no rule changes"},
        {"0f a2", "rax=? rcx=? rdx=? rbx=? rsp=cfa-8"}, /* cpuid */
    };
    CHECK_ROWS(rows);
}

TEST(step_goes_on_elsewhere)
{
    static const struct row rows[] = {
        {"c3", "rsp=cfa-8 ret"},
        {"cc", "rsp=cfa-8 stop"},
        {"eb 10", "rsp=cfa-8 jump 0x1012"},
        {"74 fe", "rsp=cfa-8 branch 0x1000"},
        {"e2 fe", "rcx=? rsp=cfa-8 branch 0x1000"}, /* loop */
        {"e8 10 00 00 00", "rax=? rcx=? rdx=? rsp=cfa-8 rsi=? rdi=? r8=? r9=? r10=? r11=? call 0x1015"},
        {"53 48 83 ec 10 48 89 2c 24 48 89 6c 24 f8 e8 10 00 00 00",
         "rax=? rcx=? rdx=? rsp=cfa-32 rsi=? rdi=? r8=? r9=? r10=? r11=? [cfa-16]=rbx [cfa-32]=rbp call "
         "0x1023"},                                  /* what is below rsp is the callee's */
        {"e8 00 00 00 00 58", "rax=*-16 rsp=cfa-8"}, /* only to know where it is */
        {"48 89 c4 e8 00 00 00 00", "rsp=?"},
        {"ff d0", "rax=? rcx=? rdx=? rsp=cfa-8 rsi=? rdi=? r8=? r9=? r10=? r11=? call"},
        {"48 8d 05 10 00 00 00 ff d0", "rax=? rcx=? rdx=? rsp=cfa-8 rsi=? rdi=? r8=? r9=? r10=? r11=? call"},
        {"ff 10", "rax=? rcx=? rdx=? rsp=cfa-8 rsi=? rdi=? r8=? r9=? r10=? r11=? call"},
        {"ff e0", "rsp=cfa-8 switch"},
        {"ff 20", "rsp=cfa-8 switch"},
        {"48 8d 05 10 00 00 00 ff e0", "rax=#0x1017 rsp=cfa-8 jump 0x1017"},
    };
    CHECK_ROWS(rows);
}

TEST(step_switches)
{
    static const struct row rows[] = {
        {"48 8d 15 00 01 00 00 48 63 04 8a", "rax=load(0x1107) rdx=#0x1107 rsp=cfa-8 no rule changes"},
        {"48 8d 15 00 01 00 00 48 63 04 8a 48 01 d0 ff e0",
         "rax=case(0x1107) rdx=#0x1107 rsp=cfa-8 switch table 0x1107"},
        {"48 8d 15 00 01 00 00 48 63 04 8a 48 01 c2 ff e2",
         "rax=load(0x1107) rdx=case(0x1107) rsp=cfa-8 switch table 0x1107"},
        {"48 8d 15 00 01 00 00 48 63 04 8a 48 29 d0 ff e0", "rax=? rdx=#0x1107 rsp=cfa-8 switch"},
        {"48 8d 15 00 01 00 00 48 63 44 8a 08", "rax=load(0x110f) rdx=#0x1107 rsp=cfa-8 no rule changes"},
        {"48 8d 15 00 01 00 00 48 63 04 4a", "rax=? rdx=#0x1107 rsp=cfa-8 no rule changes"}, /* not of 4 bytes */
        {"48 8d 15 00 01 00 00 48 63 02", "rax=? rdx=#0x1107 rsp=cfa-8 no rule changes"},    /* not of a table */
        {"48 63 04 8a", "rax=? rsp=cfa-8 no rule changes"},
        {"48 8d 15 00 01 00 00 63 04 8a", "rax=? rdx=#0x1107 rsp=cfa-8 no rule changes"},
        {"48 8d 15 00 01 00 00 48 63 04 8a 48 8d 0c 02 ff e1",
         "rax=load(0x1107) rcx=case(0x1107) rdx=#0x1107 rsp=cfa-8 switch table 0x1107"},
        {"48 8d 15 00 01 00 00 48 63 04 8a 48 8d 0c 10 ff e1",
         "rax=load(0x1107) rcx=case(0x1107) rdx=#0x1107 rsp=cfa-8 switch table 0x1107"},
        {"48 8d 15 00 01 00 00 48 63 04 8a 48 8d 4c 10 08",
         "rax=load(0x1107) rcx=? rdx=#0x1107 rsp=cfa-8 no rule changes"},
        {"48 8d 15 00 01 00 00 48 63 04 8a 48 8d 0c 50",
         "rax=load(0x1107) rcx=? rdx=#0x1107 rsp=cfa-8 no rule changes"},
        {"48 8d 15 00 01 00 00 48 63 04 8a 48 8d 35 00 02 00 00 48 01 f0",
         "rax=? rdx=#0x1107 rsp=cfa-8 rsi=#0x1212 no rule changes"}, /* another table's */
        {"ff 24 c5 00 20 00 00", "rsp=cfa-8 switch table 0x2000 absolute"},
        {"64 ff 24 c5 00 20 00 00", "rsp=cfa-8 switch"},
        {"ff 24 85 00 20 00 00", "rsp=cfa-8 switch"},
        {"48 8d 15 00 01 00 00 ff 24 c2", "rdx=#0x1107 rsp=cfa-8 switch table 0x1107 absolute"},
        {"48 8d 15 00 01 00 00 ff 64 c2 10", "rdx=#0x1107 rsp=cfa-8 switch table 0x1117 absolute"},
        {"ff 24 c2", "rsp=cfa-8 switch absolute"},
    };
    CHECK_ROWS(rows);
}

/* What an orphan stores where it assumes its caller's registers: each place once, and too many are all. */
TEST(step_notes_what_is_stored)
{
    static const struct {
        const char *code;
        s32 from, to; /* the only store, from the CFA */
    } cases[] = {{"50", -16, -8},
                 {"6a 01", -16, -8},
                 {"48 89 04 24", -8, 0},
                 {"89 44 24 f8", -16, -12},
                 {"0f 29 44 24 f0", -24, -8},
                 {"8f 44 24 f8", -8, 0},
                 {"e8 00 00 00 00", -16, -8},
                 {"50 48 83 c4 08 50", -16, -8},
                 {"50 c6 04 24 00", -16, -8},
                 {"48 8b 44 24 f8", 0, 0},
                 {"48 89 00", 0, 0},
                 {"48 83 e4 e0 50", 0, 0}}; /* somewhere below */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_BUF struct buf text = {0};
        struct stores m = {0};
        struct state s;
        state_entry(&s);
        run(cases[i].code, &s, &m, &text);
        CHECK_EQ(m.n, cases[i].to != cases[i].from);
        CHECK(!m.n || (m.from[0] == cases[i].from && m.to[0] == cases[i].to));
        CHECK_EQ(stores_touch(&m, cases[i].from - 7), m.n);
        CHECK_EQ(stores_touch(&m, cases[i].to - 1), m.n);
        CHECK(!stores_touch(&m, cases[i].from - 8) && !stores_touch(&m, cases[i].to));
    }
}

TEST(step_stores_are_bounded)
{
    AUTO_BUF struct buf text = {0};
    struct stores m = {0};
    struct state s;
    state_entry(&s);
    for (u32 i = 1; i <= STORES_MAX; i++) {
        run("50", &s, &m, &text);
        CHECK_EQ(m.n, i);
    }
    CHECK(stores_touch(&m, -8 - 8 * STORES_MAX) && !stores_touch(&m, -16 - 8 * STORES_MAX));
    run("50", &s, &m, &text);
    CHECK(stores_touch(&m, 0x1000)); /* nobody knows any more */
    run("50", &s, &m, &text);
    CHECK_EQ(m.n, STORES_MAX + 1);
}
