/* Frames of machine code: of the baseline compiler, and optimised, with what is inlined there. */
#include "runtime/v8_ask_test.h"
#include "runtime/v8_crafted_code.h"
#include "runtime/v8_internal.h"

#define CODE_SIZE 64

/* The frames at an instruction. `exact`: it was interrupted there. */
static const char *frames_at(const struct crafted *c, const struct buf *attached, u64 pc, bool exact)
{
    u32 cookie = XP_V8_MACHINE_COOKIE(crafted_cookie(c, c->work), pc);
    u64 word = XP_V8_WORD(XP_V8_COMPILED, c->work) | (exact ? XP_WORD_EXACT : 0);
    return frames_in(c, attached, word, XP_MORE_WORD(cookie, pc), true);
}

static u32 function_called(struct crafted *c, const char *name, s32 start)
{
    u32 scope = crafted_scope(c, (struct crafted_scope){.has_name = 1, .name = crafted_text(c, name), .start = start});
    return crafted_function(c, scope, crafted_number(0), crafted_pointer(c->script));
}

/* An engine with code, made by `with`, which is looked at. */
#define CODED(i, start, with)                         \
    AUTO_FREE struct crafted *c = malloc(sizeof(*c)); \
    crafted_make(c, i);                               \
    crafted_code_exports(c);                          \
    crafted_sizes_export(c);                          \
    u32 start = with;                                 \
    AUTO_BUF struct buf a = {0};                      \
    CHECK_EQ(attach(c, &a), 0)

/* ---- Optimised code */

static u32 calls_of(struct crafted *c, u32 shared)
{
    static const struct crafted_call calls[] = {{4, 8, -1, 0}, {20, 14, -1, 0}};
    u32 deopt = crafted_deopt(c, shared, crafted_inlined(c, NULL, 0), NULL, 0);
    return crafted_code(c, CODE_SIZE, deopt, crafted_calls(c, calls, 2));
}

TEST(optimised_code_has_the_lines_of_its_calls)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CODED(i, start, calls_of(c, c->work));
        CHECK_STR(frames_at(c, &a, start + 2, false),
                  "9 work /app/main.js:2"); /* in front of the first one: where it begins */
        CHECK_STR(frames_at(c, &a, start + 9, false), "9 work /app/main.js:3");
        CHECK_STR(frames_at(c, &a, start + 20, false), "9 work /app/main.js:3"); /* a return address */
        CHECK_STR(frames_at(c, &a, start + 20, true), "9 work /app/main.js:4");
        CHECK_STR(frames_at(c, &a, start + CODE_SIZE, false), "9 work /app/main.js:4");
    }
}

TEST(code_is_found_by_its_header)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CODED(i, start, calls_of(c, c->work));
        CHECK_STR(frames_at(c, &a, start + CODE_SIZE, true), "1 work /app/main.js:2"); /* behind it */
        CHECK_STR(frames_at(c, &a, start - 1, true), "1 work /app/main.js:2");
        CHECK_STR(frames_at(c, &a, 0, true), "1 work /app/main.js:2");
        CHECK_STR(frames_at(c, &a, 1ull << 40, false), "1 work /app/main.js:2");
        CHECK_STR(frames_at(c, &a, (1ull << 48) - 1, false), "1 work /app/main.js:2");
        crafted_put(c, start - crafted_code_layout(c)->head, crafted_pointer(crafted_map(c, 405)), 8);
        CHECK_STR(frames_at(c, &a, start + 9, false), "1 work /app/main.js:2");
    }
}

TEST(code_of_another_function_is_not_believed)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CODED(i, start, calls_of(c, c->builtin));
        CHECK_STR(frames_at(c, &a, start + 9, false), "1 work /app/main.js:2");
    }
}

/* ---- Inlined calls */

/* work calls first, which calls second; and then the end of first, and of work. */
static u32 inlining(struct crafted *c, u32 own)
{
    const u32 functions[] = {function_called(c, "first", 8), function_called(c, "second", 0)};
    const struct crafted_call calls[] = {{4, 0, 1, 0}, {20, 14, 0, 0}, {40, 19, -1, 0}};
    const struct crafted_call inlined[] = {{0, 19, -1, 0}, {0, 14, 0, own}};
    u32 deopt = crafted_deopt(c, c->work, crafted_inlined(c, inlined, 2), functions, 2);
    return crafted_code(c, CODE_SIZE, deopt, crafted_calls(c, calls, 3));
}

TEST(inlined_functions_are_frames)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CODED(i, start, inlining(c, 1));
        CHECK_STR(frames_at(c, &a, start + 9, false),
                  "4 second /app/main.js:1, 4 first /app/main.js:4, 9 work /app/main.js:5");
        CHECK_STR(frames_at(c, &a, start + 30, false), "4 first /app/main.js:4, 9 work /app/main.js:5");
        CHECK_STR(frames_at(c, &a, start + 50, false), "9 work /app/main.js:5");
    }
}

TEST(leaves_between_calls_are_in_what_both_are_in)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CODED(i, start, inlining(c, 1));
        CHECK_STR(frames_at(c, &a, start + 9, true), "4 first /app/main.js:4, 9 work /app/main.js:5");
        CHECK_STR(frames_at(c, &a, start + 30, true), "9 work /app/main.js:5");
        CHECK_STR(frames_at(c, &a, start + 50, true), "9 work /app/main.js:5");
    }
}

TEST(functions_may_be_inlined_into_themselves)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CODED(i, start, inlining(c, UINT32_MAX));
        CHECK_STR(frames_at(c, &a, start + 9, false),
                  "4 work /app/main.js:1, 4 first /app/main.js:4, 9 work /app/main.js:5");
    }
}

static u32 inlined_as(struct crafted *c, const struct crafted_call inlined[2])
{
    static const struct crafted_call call = {4, 0, 1, 0};
    const u32 functions[] = {function_called(c, "first", 8), function_called(c, "second", 0)};
    u32 deopt = crafted_deopt(c, c->work, crafted_inlined(c, inlined, 2), functions, 2);
    return crafted_code(c, CODE_SIZE, deopt, crafted_calls(c, &call, 1));
}

/* Calls that are in later ones, or in none that there is; functions that are none. */
TEST(inlined_calls_may_be_nonsense)
{
    static const struct crafted_call bad[][2] = {
        {{0, 19, 1, 0}, {0, 14, 0, 0}}, {{0, 19, -1, 0}, {0, 14, 1, 0}}, {{0, 19, 7, 0}, {0, 14, 5000, 0}}};
    for (unsigned i = 0; i < 3 * CRAFTED_VERSIONS; i++) {
        CODED(i / 3, start, inlined_as(c, bad[i % 3]));
        const char *text = frames_at(c, &a, start + 9, false), *inlined = strstr(text, "4 ");
        CHECK(strstr(text, "9 work") && (!inlined || !strstr(inlined + 1, "4 ")));
    }
}

/* ---- Baseline code */

/* Two bytecodes, of 4 bytes and of 2, whose lines are 3 and 4: see crafted_make. `wide`: the first one has a prefix. */
static u32 baseline(struct crafted *c, u32 data, bool wide)
{
    static const u8 table[] = {10, 6, 8};
    c->bytes[c->array + data] = wide ? 0 : 2;
    c->bytes[c->array + data + 1] = 3;
    c->bytes[c->array + data + 4] = 3;
    return crafted_code(c, CODE_SIZE, c->array, crafted_bytes(c, table, sizeof(table)));
}

TEST(baseline_code_has_the_lines_of_its_bytecode)
{
    for (unsigned i = 0; i < 2 * CRAFTED_VERSIONS; i++) {
        CODED(i / 2, start, baseline(c, i / 2 == CRAFTED_18 ? 56 : 54, i % 2));
        CHECK_STR(frames_at(c, &a, start + 4, true), "8 work /app/main.js:3"); /* the entry */
        CHECK_STR(frames_at(c, &a, start + 12, true), "8 work /app/main.js:3");
        CHECK_STR(frames_at(c, &a, start + 16, false), "8 work /app/main.js:3");
        CHECK_STR(frames_at(c, &a, start + 16, true), "8 work /app/main.js:4");
    }
}

TEST(bytecodes_of_unknown_size_have_no_lines)
{
    CODED(CRAFTED_22, start, baseline(c, 54, false));
    c->bytes[c->array + 54] = CRAFTED_BYTECODES;
    CHECK_STR(frames_at(c, &a, start + 16, true), "8 work /app/main.js:2");
    CHECK_STR(frames_at(c, &a, start + 12, true), "8 work /app/main.js:3");
}

/* Node.js 26 does not export sizes: they are those of its version. */
TEST(sizes_of_bytecodes_that_are_known_by_version)
{
    for (unsigned wide = 0; wide < 2; wide++) {
        AUTO_FREE struct crafted *c = malloc(sizeof(*c));
        AUTO_BUF struct buf a = {0};
        crafted_make(c, CRAFTED_26);
        crafted_code_exports(c);
        u32 start = baseline(c, 54, false);
        c->bytes[c->array + 54] = wide ? 0 : 7; /* with three operands */
        c->bytes[c->array + 55] = 5;            /* with one */
        c->bytes[c->array + 58] = 5;
        CHECK_EQ(attach(c, &a), 0);
        CHECK_STR(frames_at(c, &a, start + 12, true), "8 work /app/main.js:3");
        CHECK_STR(frames_at(c, &a, start + 16, true), "8 work /app/main.js:4");
    }
    CHECK(!v8_bytecodes_of("12.4.254") && !v8_bytecodes_of("") && v8_bytecodes_of("13.6.233.17-node.53") == 1);
    CHECK(!v8_bytecodes_size(0, 5, 1) && !v8_bytecodes_size(1, 250, 1) && !v8_bytecodes_size(100, 5, 1));
}

/* What a process may cost. */
TEST(searches_for_code_and_in_tables_have_limits)
{
    CODED(CRAFTED_22, start, calls_of(c, c->work));
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    struct v8 v = v8_of(&a);
    const struct v8_function f = {.start = 4, .script = c->script, .shared = c->work};
    u32 bytes = (u32)(crafted_get(c, c->table + 8) >> 32);
    for (u32 left = 0; left < 40; left++) {
        CLEANUP(memory_free) struct memory m = {0};
        CHECK_EQ(memory_open(&m, mem, -1), 0);
        struct v8_query q = {.m = &m, .v8 = &v, .search_left = left, .table_left = left};
        bool found = v8_code_at(&q, start + CODE_SIZE - 1); /* one step back */
        u32 place = v8_place(&q, &f, 1000);                 /* the last entry */
        vec_free(&q.codes);
        CHECK_EQ(found, left >= 2);
        CHECK(left >= bytes ? place == 8 : left > 1 || place == V8_NOWHERE);
    }
}

TEST(crafted_code_does_no_harm)
{
    u64 seed = 1;
    for (unsigned i = 0; i < 300; i++) {
        CODED(i % CRAFTED_VERSIONS, start, i & 1 ? inlining(c, 1) : baseline(c, 54, i & 2));
        crafted_spoil(c, start - 400, 400, 1 + i % 16, &seed);
        for (u32 pc = 0; pc < CODE_SIZE; pc += 3)
            CHECK(frames_at(c, &a, start + pc, pc & 1)[0] != 'f');
    }
}
