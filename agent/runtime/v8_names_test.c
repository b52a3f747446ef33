/* Names of functions of JavaScript, their files and lines. */
#include "runtime/v8_ask_test.h"

#define GONE "7 [javascript: gone] :0"

static const char *scope_name(struct crafted *c, const struct buf *attached, struct crafted_scope s)
{
    u32 shared = crafted_function(c, crafted_scope(c, s), crafted_pointer(c->array), crafted_pointer(c->script));
    return frame_of(c, attached, shared, NO_POSITION);
}

/* ---- Names */

TEST(frames_of_javascript_have_names_files_and_lines)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        CHECK_STR(frame_of(c, &a, c->work, 0), "1 work /app/main.js:3");
        CHECK_STR(frame_of(c, &a, c->work, 4), "1 work /app/main.js:4");
        CHECK_STR(frame_of(c, &a, c->work, NO_POSITION), "1 work /app/main.js:2");
        CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, c->work) | XP_WORD_EXACT,
                            XP_MORE_WORD(crafted_cookie(c, c->work), 4)),
                  "1 work /app/main.js:4");
    }
}

/* What the scope has in front of the name: variables, up to 74 of them with their names, and that of a class. */
TEST(names_are_found_behind_any_number_of_variables)
{
    static const u32 counts[] = {0, 1, 2, 74, 75, 76, 300};
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++)
        for (unsigned k = 0; k < 2 * sizeof(counts) / sizeof(*counts); k++) {
            CRAFT(i);
            struct crafted_scope s = {.locals = counts[k / 2],
                                      .class_variable = k & 1,
                                      .has_name = 1 + k % 3,
                                      .name = crafted_text(c, "own"),
                                      .inferred = crafted_text(c, "Class.inferred"),
                                      .start = 14};
            CHECK_STR(scope_name(c, &a, s), "1 own /app/main.js:4");
            s.inferred = 0;
            CHECK_STR(scope_name(c, &a, s), "1 own /app/main.js:4");
        }
}

TEST(functions_without_a_name_have_the_one_that_v8_inferred)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        struct crafted_scope s = {.locals = 2, .inferred = crafted_text(c, "module.exports.run"), .start = 14};
        CHECK_STR(scope_name(c, &a, s), "1 module.exports.run /app/main.js:4");
        s.has_name = 1; /* but it is the empty string, or none */
        s.name = crafted_text(c, "");
        CHECK_STR(scope_name(c, &a, s), "1 module.exports.run /app/main.js:4");
        s.name = 0;
        CHECK_STR(scope_name(c, &a, s), "1 module.exports.run /app/main.js:4");
        s.inferred = crafted_text(c, "");
        CHECK_STR(scope_name(c, &a, s), "1 (anonymous) /app/main.js:4");
        s = (struct crafted_scope){.start = 14};
        CHECK_STR(scope_name(c, &a, s), "1 (anonymous) /app/main.js:4");
    }
}

/* They have a number in place of bytecode. A function that has not run yet has its name alone, too. */
TEST(functions_of_the_language_have_a_name_alone)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        CHECK_STR(frame_of(c, &a, c->builtin, NO_POSITION), "5 map :0");
        CHECK_STR(frame_of(c, &a, c->builtin, 4), "5 map :0");
        u32 lazy = crafted_function(c, crafted_text(c, "lazy"), crafted_pointer(c->table), crafted_pointer(c->script));
        CHECK_STR(frame_of(c, &a, lazy, 4), "1 lazy /app/main.js:0");
        u32 none = crafted_function(c, crafted_text(c, ""), crafted_number(0), crafted_number(0));
        CHECK_STR(frame_of(c, &a, none, 4), "5 (anonymous) :0");
    }
}

TEST(scripts_may_have_no_name)
{
    CRAFT(CRAFTED_22);
    crafted_put(c, c->script + CRAFTED_NAME, crafted_number(3), 8);
    CHECK_STR(frame_of(c, &a, c->work, 4), "1 work :4");
    crafted_put(c, c->script + CRAFTED_NAME, crafted_pointer(c->table), 8);
    CHECK_STR(frame_of(c, &a, c->work, 4), "1 work :4");
    crafted_put(c, c->work + c->v->shared_script, crafted_pointer(c->table), 8); /* no script */
    CHECK_STR(frame_of(c, &a, c->work, 4), "1 work :0");
}

TEST(texts_are_followed_to_where_they_are_being_moved)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        u32 was = crafted_text(c, "x"), is = crafted_text(c, "/moved.js"), name = crafted_text(c, "y");
        crafted_put(c, was, is, 8); /* in place of its map */
        crafted_put(c, name, crafted_text(c, "lazy"), 8);
        crafted_put(c, c->script + CRAFTED_NAME, crafted_pointer(was), 8);
        CHECK_STR(frame_of(c, &a, c->work, 4), "1 work /moved.js:4");
        u32 lazy = crafted_function(c, name, crafted_pointer(c->table), crafted_pointer(c->script));
        CHECK_STR(frame_of(c, &a, lazy, 4), "1 lazy /moved.js:0");
    }
}

TEST(many_frames_are_named_at_once)
{
    CRAFT(CRAFTED_18);
    AUTO_BUF struct buf out = {0};
    struct names v;
    const u64 work = XP_V8_WORD(XP_V8_BYTECODE, c->work), cookie = crafted_cookie(c, c->work);
    const u64 words[] = {work,
                         XP_MORE_WORD(cookie, 4),
                         work,
                         XP_MORE_WORD(cookie + 1, 4),
                         work,
                         XP_MORE_WORD(0, 300),
                         XP_V8_WORD(XP_V8_PLAIN, c->work),
                         XP_MORE_WORD(cookie, 0)};
    CHECK_EQ(names_of(c, &a, words, 8, &out), 0);
    CHECK_EQ(names_view(out.data, out.len, 4, &v), 0);
    CHECK_EQ(v.first[4], 4);
    CHECK(v.frames[0].line == 4 && v.frames[2].line == 5 && v.frames[3].line == 2);
    CHECK_STR(v.strings + v.frames[1].name, "[javascript: gone]");
    CHECK_EQ(v.frames[0].name, v.frames[3].name);
}

/* ---- What is not there any more */

TEST(frames_whose_function_is_another_one_are_gone)
{
    CRAFT(CRAFTED_22);
    u32 shared = c->work, cookie = crafted_cookie(c, shared);
    CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, shared), XP_MORE_WORD(cookie, 0)), "1 work /app/main.js:3");
    CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, shared), XP_MORE_WORD(0, 0)), "1 work /app/main.js:3");
    CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, shared), XP_MORE_WORD(cookie + 1, 0)), GONE);
    for (u32 i = 0; i < 3; i++) { /* another script, another place in it, another number in it */
        static const u32 bytes[] = {1, 8 + 4, 16 + 4};
        u8 *at = c->bytes + shared + c->v->shared_script + bytes[i];
        ++*at;
        CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, shared), XP_MORE_WORD(cookie, 0)), GONE);
        --*at;
    }
    crafted_put(c, shared, crafted_get(c, c->script), 8); /* what has taken its place is no function */
    CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, shared), XP_MORE_WORD(cookie, 0)), GONE);
    CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, shared), XP_MORE_WORD(0, 0)), GONE);
}

TEST(what_is_no_function_is_gone)
{
    CRAFT(CRAFTED_18);
    const u64 bad[] = {0, c->script, c->scope, CRAFTED_SIZE - 8, CRAFTED_SIZE, 1ull << 55, (1ull << 56) - 1};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, bad[i]), XP_MORE_WORD(0, 0)), GONE);
        CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, bad[i]), XP_MORE_WORD(1, 0)), GONE);
    }
}

TEST(words_of_others_are_javascript_without_a_name)
{
    CRAFT(CRAFTED_18);
    u32 cookie = crafted_cookie(c, c->work);
    CHECK_STR(pair_name(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, c->work), XP_MORE_WORD(cookie, 0)),
              "1 [javascript] :0");
    CHECK_STR(pair_name(c, &a, XP_V8_WORD(XP_V8_BYTECODE, c->work), XP_V8_WORD(XP_V8_BYTECODE, c->work)),
              "1 [javascript] :0");
    CHECK_STR(pair_name(c, &a, 0, 0), "1 [javascript] :0");
}

/* ---- Hostile scopes */

TEST(scopes_may_be_nonsense)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        u64 locals = c->scope + 8 + 16;
        crafted_put(c, locals, crafted_number(65537), 8); /* too many */
        CHECK_STR(frame_of(c, &a, c->work, NO_POSITION), "1 (anonymous) /app/main.js:0");
        crafted_put(c, locals, crafted_number(-1), 8);
        CHECK_STR(frame_of(c, &a, c->work, NO_POSITION), "1 (anonymous) /app/main.js:0");
        crafted_put(c, locals, crafted_number(65535), 8); /* beyond the memory */
        CHECK_STR(frame_of(c, &a, c->work, NO_POSITION), "1 (anonymous) /app/main.js:0");
        CHECK_STR(frame_of(c, &a, c->work, 4), "1 (anonymous) /app/main.js:4");
        u32 end = CRAFTED_SIZE - 16; /* it is at the end of the memory */
        memcpy(c->bytes + end, c->bytes + c->scope, 16);
        crafted_put(c, c->work + c->v->shared_name, crafted_pointer(end), 8);
        CHECK_STR(frame_of(c, &a, c->work, NO_POSITION), "1 (anonymous) /app/main.js:0");
    }
}

TEST(places_of_functions_may_be_nonsense)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        struct crafted_scope s = {.has_name = 1, .name = crafted_text(c, "f"), .start = -1};
        CHECK_STR(scope_name(c, &a, s), "1 f /app/main.js:0");
        s.start = INT32_MIN;
        CHECK_STR(scope_name(c, &a, s), "1 f /app/main.js:0");
        s.start = INT32_MAX; /* behind the source */
        CHECK_STR(scope_name(c, &a, s), "1 f /app/main.js:0");
    }
}
