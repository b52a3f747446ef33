/* Lines of functions of JavaScript. */
#include "runtime/v8_ask_test.h"
#include "runtime/v8_internal.h"
#include <sys/mman.h>
#include <unistd.h>

/* A function that begins at a place in a source. Returns its line. */
static u32 line_in(struct crafted *c, const struct buf *attached, u32 source, s32 place, s32 line_offset)
{
    u32 script = crafted_script(c, crafted_text(c, "f"), source, line_offset);
    u32 scope = crafted_scope(c, (struct crafted_scope){.start = place});
    return line_at(c, attached, crafted_function(c, scope, crafted_number(0), crafted_pointer(script)), 0);
}

/* Digits: the line of each character. */
static const char *lines_of(const void *chars, u32 n, unsigned bytes)
{
    static char lines[64];
    for (u32 i = 0; i < n; i++) {
        AUTO_BUF struct buf a = {0};
        AUTO_FREE struct crafted *c = malloc(sizeof(*c));
        crafted_make(c, CRAFTED_22);
        if (attach(c, &a))
            return "failed";
        u32 source = bytes == 1 ? crafted_one(c, chars, n) : crafted_two(c, chars, n);
        lines[i] = (char)('0' + line_in(c, &a, source, (s32)i, 0));
        lines[i + 1] = 0;
    }
    return lines;
}

/* ---- From bytecode to the source */

TEST(lines_are_those_of_the_bytecode_at_hand)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        static const u32 at[] = {0, 3, 4, 5, 299, 300, 305, 306, 307, 1000000, 0xfffffffe};
        static const u32 lines[] = {3, 3, 4, 4, 4, 5, 5, 3, 3, 3, 3};
        for (unsigned k = 0; k < sizeof(at) / sizeof(*at); k++)
            CHECK_EQ(line_at(c, &a, c->work, at[k]), lines[k]);
        CHECK_EQ(line_at(c, &a, c->work, NO_POSITION), 2);
    }
}

/* The end of a line is its last character. */
TEST(positions_are_those_of_characters)
{
    static const struct crafted_position close[] = {{0, 7, true}, {1, 8, true}, {2, 0, true}};
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        crafted_put(c, c->array + c->v->array_positions, crafted_pointer(crafted_table(c, close, 3)), 8);
        CHECK_EQ(line_at(c, &a, c->work, 0), 2);
        CHECK_EQ(line_at(c, &a, c->work, 1), 3);
        CHECK_EQ(line_at(c, &a, c->work, 2), 1);
    }
}

/* Positions in front of the first one, and functions of which V8 keeps none. */
TEST(lines_are_those_where_functions_begin_if_there_are_no_others)
{
    static const struct crafted_position late[] = {{10, 14, true}};
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        u64 at = c->array + c->v->array_positions;
        crafted_put(c, at, crafted_pointer(crafted_table(c, late, 1)), 8);
        CHECK_EQ(line_at(c, &a, c->work, 9), 2);
        CHECK_EQ(line_at(c, &a, c->work, 10), 4);
        crafted_put(c, at, crafted_pointer(crafted_table(c, late, 0)), 8);
        CHECK_EQ(line_at(c, &a, c->work, 10), 2);
        crafted_put(c, at, crafted_number(0), 8);
        CHECK_EQ(line_at(c, &a, c->work, 10), 2);
        u32 undefined = crafted_object(c, 131, 32); /* as a number it is NaN */
        crafted_put(c, undefined + 8, 0x7ff8000000000000, 8);
        crafted_put(c, at, crafted_pointer(undefined), 8);
        CHECK_EQ(line_at(c, &a, c->work, 10), 2);
        crafted_put(c, at, crafted_pointer(c->script), 8); /* no array of bytes */
        CHECK_EQ(line_at(c, &a, c->work, 10), 2);
        crafted_put(c, c->work + CRAFTED_SHARED_DATA, crafted_pointer(c->script), 8);
        CHECK_EQ(line_at(c, &a, c->work, 10), 2);
    }
}

/* The function runs bytecode, but has been compiled since: data of the compiler, or code, refer to the bytecode. */
TEST(bytecode_is_found_behind_compiled_code)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++)
        for (u32 field = 8; field <= 24; field += 8) {
            CRAFT(i);
            u32 compiled = crafted_object(c, 300, 32);
            crafted_put(c, compiled + field, crafted_pointer(c->array), 8);
            crafted_put(c, c->work + CRAFTED_SHARED_DATA, crafted_pointer(compiled), 8);
            CHECK_EQ(line_at(c, &a, c->work, 4), field <= 16 ? 4 : 2);
        }
}

TEST(tables_of_positions_may_be_bad)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        u64 length = c->table + 8;
        u32 bytes = (u32)(crafted_get(c, length) >> 32);
        crafted_put(c, length, crafted_number(2), 8); /* too short */
        CHECK_EQ(line_at(c, &a, c->work, 4), 3);
        crafted_put(c, length, crafted_number(3), 8); /* in an entry */
        CHECK_EQ(line_at(c, &a, c->work, 4), 3);
        crafted_put(c, length, crafted_number(1 << 20), 8); /* the longest one */
        CHECK_EQ(line_at(c, &a, c->work, 4), 4);
        crafted_put(c, length, crafted_number((1 << 20) + 1), 8);
        CHECK_EQ(line_at(c, &a, c->work, 4), 2);
        crafted_put(c, length, crafted_number(-1), 8);
        CHECK_EQ(line_at(c, &a, c->work, 4), 2);
        crafted_put(c, length, crafted_number((s32)bytes) | 1, 8); /* no number */
        CHECK_EQ(line_at(c, &a, c->work, 4), 2);
        crafted_put(c, length, crafted_number((s32)bytes), 8);
        memset(c->bytes + c->table + 16, 0xff, bytes); /* numbers without end */
        CHECK_EQ(line_at(c, &a, c->work, 4), 2);
    }
}

TEST(lines_need_no_type_of_bytecode)
{
    CRAFT(CRAFTED_22);
    struct v8 v = v8_of(&a);
    v.machine.array_type = 0;
    memcpy(a.data + sizeof(struct runtime_attached), &v, sizeof(v));
    CHECK_EQ(line_at(c, &a, c->work, 4), 2);
}

/* ---- From the source to lines */

TEST(lines_of_a_source_end_with_any_of_five)
{
    static const u16 wide[] = {'a', 0x2028, 'b', 0x2029, 'c', '\r', '\n', 0x0a00, 0x2028};
    static const char latin[] = {'a', (char)0x28, (char)0x20, (char)0x85, '\n'};
    CHECK_STR(lines_of("a\nb\n\nc", 6, 1), "112234");
    CHECK_STR(lines_of("a\rb\r\rc", 6, 1), "112234");
    CHECK_STR(lines_of("a\r\nb\r\n\r\nc", 9, 1), "111222334");
    CHECK_STR(lines_of("a\n\rb\r\n\nc", 8, 1), "11233345");
    CHECK_STR(lines_of(wide, 9, 2), "112233344");
    CHECK_STR(lines_of(latin, 5, 1), "11111");
}

/* A piece of a source ends between the two characters of an end of a line. */
TEST(lines_may_end_in_two_parts_of_a_source)
{
    CRAFT(CRAFTED_18);
    u32 source = crafted_cons(c, crafted_text(c, "a\r"), crafted_text(c, "\nb\n"));
    CHECK_EQ(line_in(c, &a, source, 2, 0), 1);
    CHECK_EQ(line_in(c, &a, source, 3, 0), 2);
    CHECK_EQ(line_in(c, &a, source, 5, 0), 3);
}

/* Of a script inside of a page, say. */
TEST(scripts_may_begin_on_a_later_line)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        u32 source = crafted_text(c, CRAFTED_LINES);
        CHECK_EQ(line_in(c, &a, source, 4, 0), 2);
        CHECK_EQ(line_in(c, &a, source, 4, 10), 12);
        CHECK_EQ(line_in(c, &a, source, 4, -1), 1);
        CHECK_EQ(line_in(c, &a, source, 4, -2), 0);
        CHECK_EQ(line_in(c, &a, source, 4, INT32_MIN), 0);
        CHECK_EQ(line_in(c, &a, source, 4, INT32_MAX), 0);
        CHECK_EQ(line_in(c, &a, source, 4, INT32_MAX - 2), INT32_MAX);
    }
}

TEST(sources_that_cannot_be_read_have_no_lines)
{
    CRAFT(CRAFTED_22);
    u32 source = crafted_text(c, CRAFTED_LINES);
    crafted_put(c, source + CRAFTED_LENGTH, UINT32_MAX, 4);
    CHECK_EQ(line_in(c, &a, source, 4, 0), 2); /* no more is read than what is needed */
    CHECK_EQ(line_in(c, &a, c->script, 4, 0), 0);
    CHECK_EQ(line_in(c, &a, crafted_other(c, CRAFTED_EXTERNAL | CRAFTED_ONE, 100, 0, 0), 4, 0), 0);
    crafted_put(c, c->script + CRAFTED_SOURCE, crafted_number(0), 8); /* it has been thrown away */
    CHECK_STR(frame_of(c, &a, c->work, 4), "1 work /app/main.js:0");
}

/* A request reads so many characters of sources, whatever the number of scripts; the end of a line counts as 8 more. */
TEST(a_source_is_followed_to_where_it_is_being_moved)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        u32 was = crafted_text(c, "x"), is = crafted_text(c, "a\nb\nc");
        crafted_put(c, was, is, 8); /* in place of its map */
        CHECK_EQ(line_in(c, &a, was, 4, 0), 3);
        crafted_put(c, was, 1 << 30, 8);
        CHECK_EQ(line_in(c, &a, was, 4, 0), 0);
    }
}

/* What was read of the script before is of no use once the source has another address. */
TEST(a_source_that_was_moved_is_looked_for_once_more)
{
    CRAFT(CRAFTED_22);
    CLEANUP(memory_free) struct memory m = {0};
    AUTO_CLOSE int fd = memfd_create("mem", MFD_CLOEXEC);
    struct v8 v = v8_of(&a);
    struct v8_query q = {.m = &m, .v8 = &v, .source_left = 1 << 20};
    u32 gone = crafted_alloc(c, 64), is = crafted_text(c, "a\nb\nc");
    struct v8_function f = {.script = crafted_script(c, crafted_text(c, "f"), gone, 0)};
    CHECK_EQ(pwrite(fd, c->bytes, sizeof(c->bytes), 0), sizeof(c->bytes));
    CHECK_EQ(memory_open(&m, fd, -1), 0);
    CHECK_EQ(v8_line(&q, &f, 4), 0);
    v8_lines_free(&q);
    u64 source = crafted_pointer(is);
    CHECK_EQ(pwrite(fd, &source, sizeof(source), (off_t)f.script + v.layout.script_source), sizeof(source));
    CHECK_EQ(v8_line(&q, &f, 4), 3);
    v8_lines_free(&q);
}

/* What was read around it before is of no use once it has another address. */
TEST(a_text_that_was_moved_is_looked_for_once_more)
{
    CRAFT(CRAFTED_22);
    CLEANUP(memory_free) struct memory m = {0};
    AUTO_CLOSE int fd = memfd_create("mem", MFD_CLOEXEC);
    struct v8 v = v8_of(&a);
    struct v8_query q = {.m = &m, .v8 = &v};
    u64 place = c->script + CRAFTED_NAME, file = crafted_pointer(crafted_text(c, "/moved.js"));
    crafted_put(c, (u32)place, crafted_pointer(crafted_alloc(c, 64)), 8);
    CHECK_EQ(pwrite(fd, c->bytes, sizeof(c->bytes), 0), sizeof(c->bytes));
    CHECK_EQ(memory_open(&m, fd, -1), 0);
    v8_type(&m, &v, c->script); /* keeps the page */
    CHECK_EQ(pwrite(fd, &file, sizeof(file), (off_t)place), sizeof(file));
    const struct v8_function *f = v8_function(&q, c->work);
    CHECK(f && f->file);
    CHECK_STR(f ? q.reply.texts.data + f->file : "", "/moved.js");
    vec_free(&q.known);
    map_free(&q.functions);
    buf_free(&q.reply.texts);
}

TEST(sources_are_read_up_to_a_limit)
{
    CRAFT(CRAFTED_26);
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    u32 cost = sizeof(CRAFTED_LINES) - 1 + 5 * 8;
    for (u32 left = cost - 1; left <= 2 * cost; left++) {
        CLEANUP(memory_free) struct memory m = {0};
        CHECK_EQ(memory_open(&m, mem, -1), 0);
        struct v8 v = v8_of(&a);
        struct v8_query q = {.m = &m, .v8 = &v, .source_left = left};
        struct v8_function f = {.start = 4, .script = c->script, .shared = c->work};
        u32 first = v8_line(&q, &f, 14), second = v8_line(&q, &f, 4); /* it is not read again */
        v8_lines_free(&q);
        CHECK_EQ(first, left < cost ? 0 : 4);
        CHECK_EQ(second, left < cost ? 0 : 2);
        CHECK_EQ(q.source_left, left < cost ? 7 : left - cost);
    }
}
