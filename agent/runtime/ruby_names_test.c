#include "runtime/ruby_ask_test.h"

#define EACH_VERSION for (unsigned v = 0; v < CRAFTED_VERSIONS; v++)

TEST(ruby_frames_have_names_files_and_lines)
{
    static const struct {
        u32 word, line; /* the instruction before it is executed */
    } lines[] = {{0, 10}, {1, 10}, {5, 10}, {6, 12}, {54, 12}, {60, 12}, {61, 200}, {128, 200}, {129, 0}};
    EACH_VERSION
    {
        CRAFT(v, CRAFTED_GLIBC);
        for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
            char want[64];
            snprintf(want, sizeof(want), "1 run dir/file.rb:%u", lines[i].line);
            CHECK_STR(frame_by(c, &a, c->method, c->method, lines[i].word), want);
        }
        CHECK_STR(frame_by(c, &a, c->block, c->block, 0), "1 block in run dir/file.rb:10");
    }
}

TEST(ruby_frames_of_methods_have_classes)
{
    EACH_VERSION
    {
        CRAFT(v, CRAFTED_GLIBC);
        CHECK_STR(frame_by(c, &a, c->entry, c->method, 6), "1 Object#run dir/file.rb:12");
        CHECK_STR(frame_by(c, &a, c->entry, c->block, 6), "1 block in Object#run dir/file.rb:12");
        CHECK_STR(frame_by(c, &a, c->entry, c->rescue, 61), "1 rescue in Object#run dir/file.rb:200");
        CHECK_STR(frame_by(c, &a, c->singleton_entry, c->block, 6), "1 block in Object.run dir/file.rb:12");
        CHECK_STR(native_frame(c, &a, c->native_entry), "5 Object#each :0");
    }
}

TEST(ruby_classes_may_have_no_name)
{
    EACH_VERSION
    {
        CRAFT(v, CRAFTED_GLIBC);
        crafted_put(c, c->entry + 32, c->path, 8);
        CHECK_STR(frame_by(c, &a, c->entry, c->method, 6), "1 run dir/file.rb:12");
        crafted_put(c, c->native_entry + 32, 0, 8);
        CHECK_STR(native_frame(c, &a, c->native_entry), "5 each :0");
        u32 module = crafted_object(c, 28, 0x20); /* what has a module in the ancestors of a class */
        crafted_put(c, module + 8, c->object, 8);
        crafted_put(c, c->entry + 32, module, 8);
        CHECK_STR(frame_by(c, &a, c->entry, c->method, 6), "1 Object#run dir/file.rb:12");
    }
    CRAFT(CRAFTED_3_3, CRAFTED_GLIBC);
    crafted_put(c, c->object + 0x90, crafted_text(c, "#<Class:0x1>"), 8);
    CHECK_STR(frame_by(c, &a, c->entry, c->method, 6), "1 run dir/file.rb:12");
}

TEST(ruby_code_that_is_another_one_is_gone)
{
    EACH_VERSION
    {
        CRAFT(v, CRAFTED_GLIBC);
        u64 word = XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->entry), more = XP_MORE_WORD(crafted_cookie(c, c->block), 48);
        CHECK_STR(frames_in(c, &a, word, more ^ 1ull << 32, true), "7 [ruby: gone] :0");
        CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(0, 48), true), "1 Object#run dir/file.rb:12"); /* not read */
        crafted_put(c, crafted_body(c, c->block) + c->v->info + 48, c->rescue, 8); /* not within the method */
        CHECK_STR(frames_in(c, &a, word, more, true), "7 [ruby: gone] :0");
        crafted_put(c, c->entry, 0x701b, 8);
        CHECK_STR(frame_by(c, &a, c->entry, c->method, 6), "7 [ruby: gone] :0");
        u32 cookie = crafted_entry_cookie(c, c->native_entry);
        crafted_put(c, c->native_entry + 24, 0x999, 8);
        CHECK_STR(frames_in(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->native_entry),
                            XP_MORE_WORD(cookie, XP_RUBY_NATIVE), true),
                  "7 [ruby: gone] :0");
    }
}

TEST(ruby_names_may_not_be_readable)
{
    CRAFT(CRAFTED_3_3, CRAFTED_GLIBC);
    u32 body = crafted_body(c, c->block);
    crafted_put(c, body + 80, c->object, 8);
    CHECK_STR(frame_by(c, &a, c->block, c->block, 0), "1 [ruby] :0");
    crafted_put(c, c->symbols, c->object, 8);
    CHECK_STR(native_frame(c, &a, c->native_entry), "5 [ruby] :0");
    CHECK_STR(frames_in(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->block), XP_MORE_WORD(0, 0), true), "1 [ruby] :0");
    CHECK_STR(frames_in(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, 8), XP_MORE_WORD(0, 0), true), "7 [ruby: gone] :0");
    crafted_put(c, body + 64, c->object, 8);
    crafted_put(c, body + 80, crafted_text(c, "x"), 8);
    crafted_put(c, body + c->v->info + 16, 0, 4);
    CHECK_STR(frame_by(c, &a, c->block, c->block, 0), "1 x :0"); /* neither file nor lines */
}

TEST(strings_of_ruby)
{
    static char text[5000];
    EACH_VERSION
    {
        CRAFT(v, CRAFTED_GLIBC);
        u32 body = crafted_body(c, c->method);
        memset(text, 'x', sizeof(text));
        crafted_put(c, body + 64, crafted_string(c, "a.rb", 4, false), 8); /* without a real path */
        crafted_put(c, body + 80, crafted_string(c, "caf\xc3\xa9\xff", 6, false), 8);
        CHECK_STR(frame_by(c, &a, c->method, c->method, 0), "1 caf\xc3\xa9\xef\xbf\xbd a.rb:10");
        crafted_put(c, body + 80, crafted_string(c, text, 5000, true), 8);
        const char *got = frame_by(c, &a, c->method, c->method, 0);
        CHECK_EQ(strlen(got), strlen("1 ") + 4096 + strlen("... a.rb:10"));
        u32 lying = crafted_string(c, "ab", 2, true);
        crafted_put(c, lying + 24, ~7ull, 8);
        crafted_put(c, body + 80, lying, 8);
        CHECK_STR(frame_by(c, &a, c->method, c->method, 0), "1 [ruby] :0");
    }
}

/* Code whose blocks are in each other, in a circle. */
TEST(blocks_of_ruby_may_never_end)
{
    CRAFT(CRAFTED_3_3, CRAFTED_GLIBC);
    u32 code = (u32)crafted_get(c, crafted_body(c, c->block) + 8);
    for (u32 i = 0; i < CRAFTED_CODE; i++)
        crafted_put(c, code + 8 * i, c->block, 8);
    crafted_put(c, crafted_body(c, c->block) + c->v->info + 48, c->block, 8);
    crafted_put(c, crafted_body(c, c->method) + c->v->info + 48, c->block, 8);
    CHECK_STR(frames_in(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->entry), XP_MORE_WORD(5, 0), true),
              "7 [ruby: gone] :0");
}
