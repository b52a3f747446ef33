/* Which code nobody has rows for: padding, gaps between covered spans, and the ways to find what lies where. */
#include "synth/code.h"
#include "base/test.h"
#include "synth/analysis.h"
#include <stdlib.h>
#include <errno.h>

TEST(code_padding_is_known)
{
    static const struct {
        u8 bytes[12], len, padding;
    } cases[] = {
        {{0xcc, 0xcc}, 2, 1},
        {{0x90}, 1, 1},
        {{0x66, 0x90, 0xc3}, 3, 2},
        {{0x0f, 0x1f, 0x00}, 3, 3},
        {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, 10, 10},
        {{0x48, 0x0f, 0x1f, 0x00}, 4, 4},
        {{0x66, 0x66, 0x66}, 3, 0},
        {{0x0f, 0x1f}, 2, 0}, /* cut */
        {{0x0f}, 1, 0},
        {{0x0f, 0x1e, 0xfa}, 3, 0},
        {{0x66, 0xc3}, 2, 0},
        {{0x48, 0x90}, 2, 2},
        {{0x00}, 1, 1},
        {{0x00, 0x00}, 2, 2},
        {{0x00, 0x01}, 2, 0},
        {{0xc3}, 1, 0},
        {{0xcc}, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (code_padding(cases[i].bytes, cases[i].len) != cases[i].padding)
            test_fail(__FILE__, __LINE__, "case %zu: %zu", i, code_padding(cases[i].bytes, cases[i].len));
}

/* A file of two pieces of code, at offset 0 and at offset 0x100; their addresses are 0x1000 and 0x5000 above. */
static const struct elf_segment loads[] = {{.offset = 0, .vaddr = 0x1000, .filesz = 0x100, .flags = PF_R | PF_X},
                                           {.offset = 0x100, .vaddr = 0x5100, .filesz = 0x80, .flags = PF_R | PF_X},
                                           {.offset = 0x180, .vaddr = 0x9000, .filesz = 0x80, .flags = PF_R}};

static struct elf_file file_of(const u8 *bytes)
{
    return (struct elf_file){.map = bytes, .size = 0x200, .loads = (struct elf_segment *)loads, .nloads = 3};
}

/* "OFFSET-END@ADDRESS+INDEX, " of each gap. */
static const char *gaps_of(const u8 *bytes, const struct synth_span *covered, size_t n)
{
    static char text[256];
    const struct elf_file e = file_of(bytes);
    __attribute__((cleanup(code_free))) struct code c = {0};
    size_t at = 0;
    text[0] = 0;
    int err = code_read(&c, &e, covered, n, 1 << 20);
    for (size_t i = 0; i < c.gaps.n; i++) {
        const struct code_gap *g = &c.gaps.v[i];
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%llx-%llx@%llx+%x, ", (unsigned long long)g->offset,
                               (unsigned long long)g->offset + (g->end - g->start), (unsigned long long)g->start,
                               g->base);
        if (g->bytes != bytes + g->offset)
            return "bytes of elsewhere";
    }
    if (err)
        snprintf(text + at, sizeof(text) - at, "error %d", err);
    return text;
}

TEST(code_gaps_are_what_is_not_covered)
{
    static const struct {
        struct synth_span covered[3];
        size_t n;
        const char *says;
    } cases[] = {
        {{{0}}, 0, "0-100@1000+0, 100-180@5100+101, "},
        {{{0, 0x100}}, 1, "100-180@5100+0, "},
        {{{0, 0x180}}, 1, "error -61"},
        {{{0x10, 0x20}}, 1, "0-10@1000+0, 20-100@1020+11, 100-180@5100+f2, "},
        {{{0x10, 0x20}, {0x20, 0x30}, {0x40, 0x50}},
         3,
         "0-10@1000+0, 30-40@1030+11, 50-100@1050+22, 100-180@5100+d3, "},
        {{{0xf0, 0x110}}, 1, "0-f0@1000+0, 110-180@5110+f1, "}, /* into the next piece */
        {{{0x170, 0x300}}, 1, "0-100@1000+0, 100-170@5100+101, "},
        {{{0x180, 0x200}}, 1, "0-100@1000+0, 100-180@5100+101, "},
        {{{0xff, 0x100}, {0x100, 0x101}}, 2, "0-ff@1000+0, 101-180@5101+100, "},
        {{{8, 4}}, 1, "error -22"},
        {{{4, 4}}, 1, "error -22"},
        {{{4, 8}, {7, 9}}, 2, "error -22"},
    };
    u8 bytes[0x200];
    memset(bytes, 0xc3, sizeof(bytes));
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(gaps_of(bytes, cases[i].covered, cases[i].n), cases[i].says);
}

/* Padding in front of a gap is no part of it, and a gap of padding is none. */
TEST(code_gaps_begin_behind_padding)
{
    static const struct synth_span covered[] = {{0x10, 0x20}, {0x30, 0x100}};
    u8 bytes[0x200];
    memset(bytes, 0xc3, sizeof(bytes));
    memset(bytes, 0xcc, 5);
    memset(bytes + 0x20, 0x90, 0x10);
    memcpy(bytes + 0x100, (const u8[]){0x66, 0x90}, 2);
    CHECK_STR(gaps_of(bytes, covered, 2), "5-10@1005+0, 102-180@5102+c, ");
}

TEST(code_is_bounded)
{
    u8 bytes[0x200];
    memset(bytes, 0xc3, sizeof(bytes));
    const struct elf_file e = file_of(bytes);
    for (u64 max = 0x180; max <= 0x181; max++) {
        __attribute__((cleanup(code_free))) struct code c = {0};
        CHECK_EQ(code_read(&c, &e, NULL, 0, max), max > 0x180 ? 0 : -ENOSPC); /* with the index that is nobody's */
        CHECK_EQ(c.gap_bytes, 0x180);
    }
}

TEST(code_is_found_by_address_and_index)
{
    static const struct synth_span covered[] = {{0x10, 0x20}, {0x20, 0x30}, {0x40, 0x50}};
    static const struct {
        u64 pc;
        s64 at; /* -1: no gap */
        int span;
    } cases[] = {
        {0xfff, -1, -1},    {0x1000, 0, -1},    {0x100f, 0xf, -1},  {0x1010, -1, 0},    {0x101f, -1, 0},
        {0x1020, -1, 1},    {0x102f, -1, 1},    {0x1030, 0x11, -1}, {0x103f, 0x20, -1}, {0x1040, -1, 2},
        {0x1050, 0x22, -1}, {0x10ff, 0xd1, -1}, {0x1100, -1, -1},   {0x5100, 0xd3, -1}, {0x517f, 0x152, -1},
        {0x5180, -1, -1},   {0x9000, -1, -1},
    };
    u8 bytes[0x200];
    memset(bytes, 0xc3, sizeof(bytes));
    const struct elf_file e = file_of(bytes);
    __attribute__((cleanup(code_free))) struct code c = {0};
    CHECK_EQ(code_read(&c, &e, covered, 3, 1 << 20), 0);
    size_t n = sizeof(cases) / sizeof(*cases);
    for (size_t k = 0; k < 2 * n; k++) { /* forwards and backwards: what was found last is looked at first */
        size_t i = k < n ? k : 2 * n - 1 - k;
        u32 at = 77;
        CHECK_EQ(code_find(&c, cases[i].pc, &at), cases[i].at >= 0);
        CHECK_EQ(at, cases[i].at >= 0 ? cases[i].at : 77);
        const struct synth_span *s = code_span_of(&c, cases[i].pc);
        CHECK_EQ(s ? s - covered : -1, cases[i].span);
        if (cases[i].at < 0)
            continue;
        c.last = i % c.gaps.n;
        const struct code_gap *g = code_gap_of(&c, at);
        CHECK(g->start <= cases[i].pc && cases[i].pc < g->end && code_pc(g, at) == cases[i].pc);
    }
    struct code none = {0};
    u32 at;
    CHECK(!code_find(&none, 0x1000, &at));
}

/* ---- Where the exit system call is led to ------------------------------------------------------------------------ */

/* "b8 3c 00"; the number of bytes. */
static size_t noreturn_bytes(const char *hex, u8 *out)
{
    size_t n = 0;
    for (char *end; *hex; hex = *end ? end + 1 : end)
        out[n++] = (u8)strtoul(hex, &end, 16);
    return n;
}

TEST(noreturn_exit_by_what_rax_holds)
{
    static const struct {
        const char *code;
        bool leads;
    } cases[] = {
        {"b8 3c 00 00 00 0f 05", true},
        {"b8 e7 00 00 00 0f 05", true},
        {"48 c7 c0 3c 00 00 00 0f 05", true},
        {"31 c0 b0 3c 0f 05", true},
        {"33 c0 b0 e7 0f 05", true},
        {"b8 3c 00 00 00 31 ff 0f 05", true}, /* its status */
        {"b8 3c 01 00 00 0f 05", false},
        {"b8 00 01 00 00 b0 3c 0f 05", false},
        {"b8 3d 00 00 00 0f 05", false},
        {"31 c0 0f 05", false},
        {"b0 3c 0f 05", false}, /* the rest of rax is not known */
        {"66 b8 3c 00 0f 05", false},
        {"b8 3c 00 00 00 58 0f 05", false},    /* pop rax */
        {"b8 3c 00 00 00 5b 0f 05", true},     /* pop rbx */
        {"b8 3c 00 00 00 ff d3 0f 05", false}, /* a call */
        {"b8 3c 00 00 00 ff c0 0f 05", false},
        {"b8 3c 00 00 00 0f 05 90", true},
        {"bb 3c 00 00 00 0f 05", false},
        {"b8 3c 00 00 00 0f 34", false},
        {"b8 3c 00 00 00 c3 0f 05", false},
        {"b8 3c 00 00 00 eb 00 0f 05", false},
        {"b8 3c 00 00 00 74 00 0f 05", false},
        {"b8 3c 00 00 00 cc 0f 05", false},
        {"b8 3c 00 00 00 06 0f 05", false}, /* no instruction */
        {"b8 3c 00 00 00", false},
        {"b8 3c 00 00 00 90 90 90 90 90 90 90 90 90 90 90 90 90 90 0f 05", true}, /* sixteen */
        {"b8 3c 00 00 00 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 0f 05", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        u8 bytes[64];
        size_t n = noreturn_bytes(cases[i].code, bytes);
        struct code_gap g = {.start = 0x1000, .end = 0x1000 + n, .bytes = bytes, .base = 0x40};
        if (noreturn_leads_to_exit(&g, 0x40) != cases[i].leads)
            test_fail(__FILE__, __LINE__, "%s", cases[i].code);
    }
}

TEST(noreturn_symbols_by_name)
{
    static const struct {
        const char *name;
        bool deadly;
    } cases[] = {{"abort", true},
                 {"_Unwind_Resume", true},
                 {"_ZSt20__throw_length_errorPKc", true},
                 {"_ZSt9terminatev", true},
                 {"abor", false},
                 {"abort2", false},
                 {"", false},
                 {"_ZSt4cout", false},
                 {"_ZSx20__throw_length_errorPKc", false},
                 {"_ZSt1234567890__throw_x", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct analysis a = {0};
        const struct elf_section names = {.data = (const u8 *)cases[i].name, .len = strlen(cases[i].name) + 1};
        const Elf64_Sym s = {.st_name = 0, .st_value = 0x1234}, outside = {.st_name = 1000, .st_value = 0x1234};
        noreturn_symbol(&a, &names, &outside);
        CHECK_EQ(a.ndeadly, 0);
        for (unsigned k = 0; k < MAX_DEADLY + 2; k++)
            noreturn_symbol(&a, &names, &s);
        CHECK_EQ(a.ndeadly, cases[i].deadly ? MAX_DEADLY : 0);
        CHECK(!a.ndeadly || (a.deadly[0] == 0x1234 && noreturn_call(&a, 0x1234)));
    }
}
