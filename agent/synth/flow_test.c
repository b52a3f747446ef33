/* Small programs: the rows of each, and what was counted. The program begins at its first byte; "@20" goes on there. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "synth/crafted.h"
#include "synth/rules.h"
#include <stdlib.h>

#define ROOM 0x80

/* How many bytes there are. */
static size_t bytes_of(const char *hex, u8 *out)
{
    size_t n = 0;
    memset(out, 0xcc, ROOM);
    for (char *end; *hex; hex = *end ? end + 1 : end) {
        if (*hex == '@')
            n = strtoul(hex + 1, &end, 16);
        else
            out[n++] = (u8)strtoul(hex, &end, 16);
    }
    return n;
}

/* "OFFSET:KIND OFF[/RBP][,RBX][?]" of each row ("?": inferred), then what was counted. */
static void say(const struct synth *s, struct buf *text)
{
    static const char *const kinds[XP_CFA_COUNT] = {
        [XP_CFA_RSP] = "rsp", [XP_CFA_RBP] = "rbp", [XP_CFA_RBX] = "rbx",      [XP_CFA_DEREF_RSP] = "*rsp",
        [XP_CFA_REG] = "reg", [XP_CFA_END] = "end", [XP_CFA_UNPROVEN] = "none"};
    for (size_t i = 0; i < s->rows.n; i++) {
        struct xp_rule r = s->rows.v[i].rule;
        const char *kind = kinds[XP_RULE_CFA(r.kind)];
        buf_printf(text, "%x:%s", (u32)(s->rows.v[i].offset - CRAFTED_BASE), kind ? kind : "?");
        if (r.cfa_off)
            buf_printf(text, " %d", r.cfa_off);
        if (XP_RULE_RBP(r.kind))
            buf_printf(text, "/%d", XP_RULE_RBP(r.kind) == XP_RBP_LOST ? 0 : r.rbp_off);
        if (XP_SYNTH_RBX(r.rbx))
            buf_printf(text, ",%d", XP_SYNTH_RBX(r.rbx) == XP_SYNTH_RBX_LOST ? -1 : (int)XP_SYNTH_RBX(r.rbx));
        buf_printf(text, "%s ", r.rbx & XP_RBX_INFERRED ? "?" : "");
    }
    const struct synth_counts *n = &s->n;
    buf_printf(text, "| %u of %u bytes, %u insns, %u entries", (u32)n->claimed_bytes, (u32)n->code_bytes, (u32)n->insns,
               (u32)n->entries);
    buf_printf(text, ", %u+%u-%u of %u regions, %u of %u orphans, %u again", (u32)n->proven, (u32)(n->regions - n->bad),
               (u32)n->bad, (u32)n->regions, (u32)n->solved, (u32)n->orphans, (u32)n->reruns);
    buf_char(text, 0);
}

static const struct {
    const char *what, *code, *says;
} cases[] = {
    {"a function", "c3", "0:rsp 8 | 1 of 1 bytes, 1 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a register saved", "53 90 5b c3",
     "0:rsp 8 1:rsp 16 3:rsp 8 | 4 of 4 bytes, 8 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a frame pointer", "55 48 89 e5 53 90 5b c9 c3",
     "0:rsp 8 1:rsp 16/-16 5:rbp 16/-16 8:rsp 8 | 9 of 9 bytes, 14 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 "
     "orphans, 0 again"},
    {"one that pops arguments", "c2 08 00",
     "0:rsp 8 | 3 of 3 bytes, 1 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a call", "e8 0b 00 00 00 c3 @10 53 90 5b c3",
     "0:rsp 8 11:rsp 16 13:rsp 8 | 10 of 10 bytes, 12 insns, 2 entries, 2+2-0 of 2 regions, 0 of 0 orphans, 0 again"},
    {"two ways out", "53 74 02 5b c3 90 5b c3",
     "0:rsp 8 1:rsp 16 4:rsp 8 5:rsp 16 7:rsp 8 | 8 of 8 bytes, 14 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 "
     "orphans, 0 again"},
    {"a loop", "53 ff c8 75 fc 5b c3",
     "0:rsp 8 1:rsp 16 6:rsp 8 | 7 of 7 bytes, 10 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a loop that pushes", "53 75 fd 5b c3",
     "0:none | 0 of 5 bytes, 4 insns, 1 entries, 0+0-1 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a jump into what was run", "f8 53 90 90 75 fc 5b c3",
     "0:rsp 8 2:rsp 16 7:rsp 8 | 8 of 8 bytes, 14 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"two jumps into what was run", "f8 53 f8 f8 f8 f8 75 fb 74 fb 5b c3",
     "0:rsp 8 2:rsp 16 b:rsp 8 | 12 of 12 bytes, 22 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"two jumps into it, backwards", "f8 53 f8 f8 f8 f8 75 fd 74 f9 5b c3",
     "0:rsp 8 2:rsp 16 b:rsp 8 | 12 of 12 bytes, 22 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a jump behind one into what was run", "f8 53 f8 f8 74 02 f8 f8 75 fa 5b c3",
     "0:rsp 8 2:rsp 16 b:rsp 8 | 12 of 12 bytes, 21 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a jump into an instruction", "75 01 b8 90 90 90 90 c3",
     "0:none | 0 of 4 bytes, 10 insns, 1 entries, 0+0-1 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a jump over lock", "75 01 f0 0f c1 07 c3",
     "0:rsp 8 | 7 of 7 bytes, 4 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a jump out of the code", "53 e9 00 10 00 00",
     "0:none | 0 of 4 bytes, 2 insns, 1 entries, 0+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a jump to the rest of it", "53 eb 0d @10 90 5b c3",
     "0:rsp 8 1:rsp 16 12:rsp 8 | 6 of 6 bytes, 10 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a jump to a function", "e8 1b 00 00 00 e8 26 00 00 00 c3 @20 53 5b eb 0c @30 90 c3",
     "0:rsp 8 21:rsp 16 22:rsp 8 | 17 of 17 bytes, 14 insns, 3 entries, 3+3-0 of 3 regions, 0 of 0 orphans, 0 again"},
    {"a jump to one that comes first", "e8 2b 00 00 00 e8 16 00 00 00 c3 @20 90 c3 @30 53 5b eb ec",
     "0:rsp 8 31:rsp 16 32:rsp 8 | 17 of 17 bytes, 14 insns, 3 entries, 3+3-0 of 3 regions, 0 of 0 orphans, 0 again"},
    {"a jump to a function with a frame", "e8 1b 00 00 00 e8 26 00 00 00 c3 @20 53 eb 0d @30 90 c3",
     "0:rsp 8 b:none 30:rsp 8 | 13 of 16 bytes, 10 insns, 3 entries, 2+2-1 of 3 regions, 0 of 0 orphans, 0 again"},
    {"two functions with one end", "e8 1b 00 00 00 e8 26 00 00 00 c3 @20 53 eb 0e @30 53 90 90 5b c3",
     "0:rsp 8 21:rsp 16 30:rsp 8 31:rsp 16 34:rsp 8 | 19 of 19 bytes, 36 insns, 3 entries, 2+2-0 of 2 regions, 0 of 0 "
     "orphans, 1 again"},
    {"functions that end in each other", "e8 1b 00 00 00 c3 @20 74 0e c3 @30 74 ee eb ec",
     "0:rsp 8 | 13 of 13 bytes, 20 insns, 2 entries, 2+2-0 of 2 regions, 0 of 0 orphans, 3 again"},
    {"an indirect jump", "e8 0b 00 00 00 c3 @10 ff e0",
     "0:rsp 8 | 8 of 8 bytes, 8 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 0 again"},
    {"an indirect jump with a frame", "e8 0b 00 00 00 c3 @10 53 ff e0",
     "0:rsp 8 6:none | 6 of 9 bytes, 6 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 0 again"},
    {"one that never returns", "e8 0b 00 00 00 90 c3 @10 53 eb fe",
     "0:rsp 8 11:rsp 16 | 10 of 10 bytes, 15 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 0 again"},
    {"a program that never ends", "53 e8 0a 00 00 00 eb f9 @10 90 c3",
     "0:none 10:rsp 8 | 2 of 8 bytes, 18 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 1 again"},
    {"one that calls what is unknown", "53 ff d0 5b c3",
     "0:rsp 8 1:rsp 16 4:rsp 8 | 5 of 5 bytes, 8 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"one that exits", "53 b8 3c 00 00 00 0f 05 @10 53 5b c3",
     "0:none 10:rsp 8? 11:rsp 16? 12:rsp 8? | 3 of 9 bytes, 15 insns, 1 entries, 0+1-0 of 1 regions, 1 of 1 orphans, 0 "
     "again"},
    {"a call of one that exits", "53 e8 0a 00 00 00 90 5b c3 @10 53 b8 3c 00 00 00 0f 05",
     "0:rsp 8 1:rsp 16 8:rsp 8 11:rsp 16 | 17 of 17 bytes, 24 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 0 "
     "again"},
    {"a call of a thread's beginning", "e8 0b 00 00 00 c3 @10 5b b8 3c 00 00 00 0f 05",
     "0:rsp 8 11:end | 14 of 14 bytes, 15 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 0 again"},
    {"a thread's beginning", "5b b8 3c 00 00 00 0f 05",
     "0:none | 0 of 6 bytes, 6 insns, 1 entries, 0+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"its own address", "e8 00 00 00 00 58 c3",
     "0:rsp 8 5:rsp 16 6:rsp 8 | 7 of 7 bytes, 6 insns, 1 entries, 1+1-0 of 1 regions, 0 of 0 orphans, 0 again"},
    {"a call of what follows", "e8 00 00 00 00 90 c3",
     "0:none | 0 of 2 bytes, 12 insns, 1 entries, 0+0-1 of 1 regions, 0 of 0 orphans, 3 again"},
    {"a call at the end", "53 e8 0a 00 00 00 @10 90 c3",
     "0:none 10:rsp 8 | 2 of 6 bytes, 8 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 0 again"},
    {"a helper that keeps rdx", "48 89 e2 48 83 e4 e0 e8 14 00 00 00 48 89 d4 c3 @20 90 c3",
     "0:rsp 8 7:reg 16777224 f:rsp 8 | 18 of 18 bytes, 17 insns, 2 entries, 2+2-0 of 2 regions, 0 of 0 orphans, 1 "
     "again"},
    {"a helper that does not", "48 89 e2 48 83 e4 e0 e8 14 00 00 00 48 89 d4 c3 @20 31 d2 c3",
     "0:none 20:rsp 8 | 3 of 17 bytes, 19 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 1 again"},
    {"an orphan", "c3 @10 53 90 5b c3",
     "0:rsp 8 10:rsp 8? 11:rsp 16? 13:rsp 8? | 5 of 5 bytes, 9 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 orphans, 0 "
     "again"},
    {"the rest of a function", "c3 @10 90 48 83 c4 10 5b 5d c3",
     "0:rsp 8 11:rsp 40/-16,3? 15:rsp 24/-16,3? 16:rsp 16/-16? 17:rsp 8? | 8 of 8 bytes, 9 insns, 1 entries, 1+1-0 of "
     "1 regions, 1 of 1 orphans, 0 again"},
    {"the rest of two", "c3 @10 74 02 5b c3 90 c3",
     "0:rsp 8 1:none | 1 of 6 bytes, 6 insns, 1 entries, 1+1-0 of 1 regions, 0 of 1 orphans, 0 again"},
    {"an orphan without an end", "c3 @10 53 90 06",
     "0:rsp 8 1:none | 1 of 3 bytes, 3 insns, 1 entries, 1+1-0 of 1 regions, 0 of 2 orphans, 0 again"},
    {"an orphan that joins", "53 90 90 5b c3 @10 90 eb ef",
     "0:rsp 8 1:rsp 16 4:rsp 8 11:rsp 16? | 7 of 7 bytes, 11 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 orphans, 0 "
     "again"},
    {"an orphan that joins deeper", "53 90 90 5b c3 @10 53 90 eb ee",
     "0:rsp 8 1:rsp 16 4:rsp 8 10:rsp 8? 11:rsp 16? | 9 of 9 bytes, 16 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 "
     "orphans, 0 again"},
    {"an orphan that joins where rbp is saved", "55 31 ed 90 5d c3 @10 90 eb f0",
     "0:rsp 8 1:rsp 16/-16 5:rsp 8 11:rsp 16/-16? | 8 of 8 bytes, 11 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 "
     "orphans, 0 again"},
    {"an orphan that joins where rbx is saved", "53 31 db 90 5b c3 @10 90 eb f0",
     "0:rsp 8 1:rsp 16,2 5:rsp 8 11:rsp 16,2? | 8 of 8 bytes, 11 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 orphans, "
     "0 again"},
    {"an orphan that joins where rbx is lost", "31 db 90 c3 @10 90 eb ef",
     "0:rsp 8 2:rsp 8,-1 11:rsp 8,-1? | 6 of 6 bytes, 7 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 orphans, 0 again"},
    {"an orphan whose ends disagree", "c3 @10 74 04 5b 90 90 c3 58 90 90 c3",
     "0:rsp 8 10:rsp 16,-1? 13:rsp 8,-1? 16:rsp 16,-1? 17:rsp 8,-1? | 11 of 11 bytes, 18 insns, 1 entries, 1+1-0 of 1 "
     "regions, 1 of 1 orphans, 0 again"},
    {"an orphan whose ends are at two heights", "c3 @10 74 03 5b 90 c3 90 c3",
     "0:rsp 8 1:none | 1 of 6 bytes, 7 insns, 1 entries, 1+1-0 of 1 regions, 0 of 1 orphans, 0 again"},
    {"an orphan that stores where it reads", "c3 @10 48 89 04 24 90 5b c3",
     "0:rsp 8 10:rsp 16,-1? 16:rsp 8,-1? | 8 of 8 bytes, 9 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 orphans, 0 "
     "again"},
    {"an orphan that reads where it stored rbx", "c3 @10 53 31 db 90 5b c3",
     "0:rsp 8 10:rsp 8? 11:rsp 16,2? 15:rsp 8? | 7 of 7 bytes, 11 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 "
     "orphans, 0 again"},
    {"a call of one that calls one that never returns", "e8 1b 00 00 00 c3 @20 53 e8 0a 00 00 00 @30 53 90 eb fd",
     "0:rsp 8 21:rsp 16 30:rsp 8 31:rsp 16 | 16 of 16 bytes, 21 insns, 3 entries, 1+3-0 of 3 regions, 0 of 0 orphans, "
     "0 again"},
    {"a call of one that calls for ever", "e8 1b 00 00 00 c3 @20 53 e8 0a 00 00 00 eb f9 @30 90 c3",
     "0:rsp 8 21:rsp 16 30:rsp 8 | 16 of 16 bytes, 27 insns, 3 entries, 2+3-0 of 3 regions, 0 of 0 orphans, 1 again"},
    {"a call of one that calls for ever who fails", "e8 1b 00 00 00 c3 @20 53 e8 0a 00 00 00 eb f9 @30 53 c3",
     "0:rsp 8 6:none | 6 of 14 bytes, 30 insns, 3 entries, 1+2-1 of 3 regions, 0 of 0 orphans, 3 again"},
    {"a jump to one that never returns", "e8 1b 00 00 00 c3 @20 eb 0e @30 53 eb fe",
     "0:rsp 8 31:rsp 16 | 11 of 11 bytes, 14 insns, 2 entries, 1+2-0 of 2 regions, 0 of 0 orphans, 0 again"},
    {"an orphan that ends in a function", "c3 @10 53 90 5b eb eb",
     "0:rsp 8 10:rsp 8? 11:rsp 16? 13:rsp 8? | 6 of 6 bytes, 9 insns, 1 entries, 1+1-0 of 1 regions, 1 of 1 orphans, 0 "
     "again"},
    {"an orphan behind a call", "e8 0b 00 00 00 c3 @10 eb fe @20 e8 eb ff ff ff 90 5b c3",
     "0:rsp 8 6:none 20:rsp 16,2? 27:rsp 8? | 14 of 16 bytes, 16 insns, 2 entries, 1+2-0 of 2 regions, 1 of 1 orphans, "
     "3 again"},
    {"no code", "06 06", "0:none | 0 of 2 bytes, 0 insns, 1 entries, 0+1-0 of 1 regions, 0 of 1 orphans, 0 again"},
    {"what is no code behind some", "c3 @10 06 06",
     "0:rsp 8 1:none | 1 of 3 bytes, 1 insns, 1 entries, 1+1-0 of 1 regions, 0 of 1 orphans, 0 again"},
};

TEST(flow_of_small_programs)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        u8 code[ROOM], file[CRAFTED_BASE + ROOM];
        size_t n = bytes_of(cases[i].code, code);
        struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
        AUTO_ELF struct elf_file e = {0};
        AUTO_SYNTH struct synth s = {0};
        AUTO_BUF struct buf text = {0};
        limits.max_cpu_ms = 60000;
        crafted_file(file, code, n);
        CHECK_EQ(elf_open_memory(&e, file, CRAFTED_BASE + n), 0);
        CHECK_EQ(synth_read(&e, NULL, 0, &limits, &s), 0);
        CHECK(crafted_is_sound(&s));
        say(&s, &text);
        if (strcmp(text.data, cases[i].says))
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].what, text.data);
    }
}

struct seen {
    u32 n, bytes, rules;
    u64 last;
};

static void note(void *ctx, u64 offset, u32 len, const struct rules *all)
{
    struct seen *s = ctx;
    s->n++;
    s->bytes += len;
    s->rules += all->ncfa > 0;
    s->last = offset;
}

/* Whoever checks is told of each instruction, one behind the other. */
TEST(flow_has_a_witness)
{
    static const u8 code[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0x5b, 0xc9, 0xc3};
    u8 file[CRAFTED_BASE + sizeof(code)];
    struct seen seen = {0};
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    AUTO_ELF struct elf_file e = {0};
    AUTO_SYNTH struct synth s = {0};
    limits.witness = note;
    limits.ctx = &seen;
    crafted_file(file, code, sizeof(code));
    CHECK_EQ(elf_open_memory(&e, file, sizeof(file)), 0);
    CHECK_EQ(synth_read(&e, NULL, 0, &limits, &s), 0);
    CHECK(seen.n == 7 && seen.bytes == sizeof(code) && seen.rules == 7);
    CHECK_EQ(seen.last, CRAFTED_BASE + 8);
}

/* A function calls what has rows, at 0x40; behind the call it is followed only if that may come back. */
TEST(flow_behind_calls_of_covered_code)
{
    static const struct {
        const char *code;
        bool comes_back;
    } rows[] = {{"c3", true},        {"eb fe", false},      {"90 eb fd", false},   {"90 74 fd eb fb", false},
                {"ff e0", true},     {"74 10 eb fc", true}, {"eb 40", true},       {"06", true},
                {"90 90 90", false}, {"75 fe c3", true},    {"ff d0 eb fc", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        u8 code[ROOM], file[CRAFTED_BASE + ROOM];
        bytes_of("53 e8 3a 00 00 00 90 5b c3", code);
        u8 callee[ROOM];
        size_t n = bytes_of(rows[i].code, callee);
        memcpy(code + 0x40, callee, n);
        const struct synth_span covered = {CRAFTED_BASE + 0x40, CRAFTED_BASE + 0x40 + n};
        struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
        struct xp_rule rule = {0};
        AUTO_ELF struct elf_file e = {0};
        AUTO_SYNTH struct synth s = {0};
        crafted_file(file, code, ROOM);
        CHECK_EQ(elf_open_memory(&e, file, sizeof(file)), 0);
        CHECK_EQ(synth_read(&e, &covered, 1, &limits, &s), 0);
        for (size_t k = 0; k < s.rows.n && s.rows.v[k].offset <= CRAFTED_BASE + 6; k++)
            rule = s.rows.v[k].rule;
        bool known = XP_RULE_CFA(rule.kind) == XP_CFA_RSP && rule.cfa_off == 16 && !(rule.rbx & XP_RBX_INFERRED);
        if (known != rows[i].comes_back)
            test_fail(__FILE__, __LINE__, "%s", rows[i].code);
    }
}

/* A jump to code that has rows is a way out, as a return is. */
TEST(flow_leaves_to_covered_code)
{
    static const struct synth_span covered = {CRAFTED_BASE + 0x40, CRAFTED_BASE + ROOM};
    static const struct {
        const char *code;
        u64 claimed;
    } rows[] = {{"53 90 5b eb 3b", 5}, {"53 90 90 eb 3b", 0}, {"53 74 02 5b c3 5b eb 38", 8}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        u8 code[ROOM], file[CRAFTED_BASE + ROOM];
        struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
        AUTO_ELF struct elf_file e = {0};
        AUTO_SYNTH struct synth s = {0};
        bytes_of(rows[i].code, code);
        crafted_file(file, code, ROOM);
        CHECK_EQ(elf_open_memory(&e, file, sizeof(file)), 0);
        CHECK_EQ(synth_read(&e, &covered, 1, &limits, &s), 0);
        CHECK_EQ(s.n.claimed_bytes, rows[i].claimed);
    }
}
