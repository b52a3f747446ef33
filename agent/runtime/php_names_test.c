#include "runtime/php_ask_test.h"
#include <errno.h>

TEST(php_functions_have_their_names)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, i % 2);
        CHECK_STR(frame_of(c, &a, c->method, 7), "1 Space\\Class::method /srv/app.php:7");
        CHECK_STR(frame_of(c, &a, c->method, 7 | XP_PHP_MAIN), "1 Space\\Class::method /srv/app.php:7");
        CHECK_STR(frame_of(c, &a, c->native, 0), "5 zend_version :0");
        crafted_put(c, c->native + 16, c->class, 8);
        CHECK_STR(frame_of(c, &a, c->native, 0), "5 Space\\Class::zend_version :0");
    }
}

static const char *code_with(struct crafted *c, const struct buf *a, const char *file, u32 position)
{
    crafted_put(c, c->main + c->v->file, crafted_string(c, file), 8);
    return frame_of(c, a, c->main, position);
}

TEST(php_code_of_files_is_named_by_what_runs_it)
{
    CRAFT(CRAFTED_8_2, false);
    CHECK_STR(frame_of(c, &a, c->main, 7 | XP_PHP_MAIN), "1 {main} /srv/app.php:7");
    CHECK_STR(frame_of(c, &a, c->main, 7), "1 include /srv/app.php:7");
    CHECK_STR(code_with(c, &a, "/srv/a.php(3) : eval()'d code", 7), "1 eval /srv/a.php(3) : eval()'d code:7");
    CHECK_STR(code_with(c, &a, "Command line code", 7 | XP_PHP_MAIN), "1 {main} Command line code:7");
    CHECK_STR(code_with(c, &a, "/a/file/with/a/long/name.php", 7), "1 include /a/file/with/a/long/name.php:7");
    CHECK_STR(code_with(c, &a, "", 7), "1 [php] :0");
}

/* Where its function was, another one may be; the name of its file often stays. */
TEST(php_code_of_files_is_gone_with_the_name_of_its_file)
{
    static const char gone[] = "7 [php: gone] :0", there[] = "1 include /srv/some/folder/index.php:7";
    CRAFT(CRAFTED_8_2, false);
    u32 file = crafted_string(c, "/srv/some/folder/index.php");
    u64 word = XP_SCRIPT_WORD(XP_LANGUAGE_PHP, file | XP_PHP_CODE),
        more = XP_MORE_WORD(crafted_code_cookie(c, file), 7);
    memset(c->bytes + c->main, 0xff, 256);
    CHECK_STR(frames_in(c, &a, word, more, true), there);
    c->bytes[file + 24 + 6]++; /* near the end of the name */
    CHECK_STR(frames_in(c, &a, word, more, true), gone);
    c->bytes[file + 24 + 6]--;
    crafted_put(c, file + 16, 25, 8);
    CHECK_STR(frames_in(c, &a, word, more, true), gone);
    crafted_put(c, file + 16, (1u << 20) + 1, 8);
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(0, 7), true), gone);
    CHECK_STR(frames_in(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, XP_PHP_CODE), XP_MORE_WORD(0, 7), true), gone);
    crafted_put(c, file + 16, 26, 8);
    crafted_put(c, file + 4, 7, 4); /* it is no string any more */
    CHECK_STR(frames_in(c, &a, word, more, true), "1 [php] :0");
}

/* The name of an anonymous class has its file behind a NUL. */
TEST(php_classes_may_be_anonymous)
{
    static const char name[] = "Base@anonymous\0/srv/app.php:3$0";
    CRAFT(CRAFTED_8_2, false);
    crafted_put(c, c->class + 8, crafted_string_of(c, name, sizeof(name) - 1), 8);
    CHECK_STR(frame_of(c, &a, c->method, 7), "1 Base@anonymous::method /srv/app.php:7");
}

static const char *name_with(struct crafted *c, const struct buf *a, u32 name)
{
    static char text[8192];
    crafted_put(c, c->main + 8, name, 8);
    snprintf(text, sizeof(text), "%s", frame_of(c, a, c->main, 7));
    return text;
}

TEST(php_texts_become_utf8)
{
    char many[5000];
    CRAFT(CRAFTED_8_2, false);
    memset(many, 'm', sizeof(many));
    CHECK_STR(name_with(c, &a, crafted_string(c, "f\u00fcr_\u6f22")), "1 f\u00fcr_\u6f22 /srv/app.php:7");
    CHECK_STR(name_with(c, &a, crafted_string(c, "f\xfcr")), "1 f\ufffdr /srv/app.php:7");
    const char *whole = name_with(c, &a, crafted_string_of(c, many, 4096));
    CHECK_EQ(strlen(whole), 2 + 4096 + strlen(" /srv/app.php:7"));
    const char *cut = name_with(c, &a, crafted_string_of(c, many, 4097));
    CHECK(strlen(cut) == 2 + 4096 + 3 + strlen(" /srv/app.php:7") && !strcmp(cut + 4096, "mm... /srv/app.php:7"));
}

TEST(php_names_that_cannot_be_read)
{
    static const char none[] = "1 [php] :0";
    CRAFT(CRAFTED_8_2, false);
    u32 name = crafted_string(c, "name");
    CHECK_STR(name_with(c, &a, crafted_string(c, "")), none);
    crafted_put(c, name + 4, 7, 4); /* an array */
    CHECK_STR(name_with(c, &a, name), none);
    crafted_put(c, name + 4, 6, 4);
    crafted_put(c, name + 16, (1u << 20) + 1, 8);
    CHECK_STR(name_with(c, &a, name), none);
    crafted_put(c, name + 16, UINT64_MAX, 8);
    CHECK_STR(name_with(c, &a, name), none);
    crafted_put(c, name + 16, 4, 8);
    CHECK_STR(name_with(c, &a, name), "1 name /srv/app.php:7");
    u32 end = CRAFTED_SIZE - 32; /* it goes on beyond the memory */
    memcpy(c->bytes + end, c->bytes + name, 32);
    crafted_put(c, end + 16, 9, 8);
    CHECK_STR(name_with(c, &a, end), none);
    crafted_put(c, c->class + 8, 0, 8);
    CHECK_STR(frame_of(c, &a, c->method, 7), none);
    crafted_put(c, c->method + 16, 1ull << 60, 8);
    CHECK_STR(frame_of(c, &a, c->method, 7), none);
    crafted_put(c, c->native + 8, 0, 8); /* the engine's own */
    CHECK_STR(frame_of(c, &a, c->native, 7), none);
}

static const char *frame_with(const struct crafted *c, const struct buf *a, u64 function, u32 cookie)
{
    return frames_in(c, a, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, function), XP_MORE_WORD(cookie, 7), true);
}

TEST(php_frames_whose_function_is_another_one_are_gone)
{
    static const char gone[] = "7 [php: gone] :0", there[] = "1 Space\\Class::method /srv/app.php:7";
    CRAFT(CRAFTED_8_2, false);
    u32 cookie = crafted_cookie(c, c->method);
    CHECK_STR(frame_with(c, &a, c->method, cookie), there);
    CHECK_STR(frame_with(c, &a, c->method, 0), there);
    CHECK_STR(frame_with(c, &a, c->method, cookie ^ 1), gone);
    CHECK_STR(frame_with(c, &a, c->main, cookie), gone);
    CHECK_STR(frame_with(c, &a, 0, 0), gone);
    CHECK_STR(frame_with(c, &a, 1ull << 55, cookie), gone);
    c->bytes[c->method] = 3; /* no kind of function */
    CHECK_STR(frame_with(c, &a, c->method, 0), gone);
    c->bytes[c->method] = 2;
    crafted_put(c, crafted_get(c, c->method + 8) + 24, 'M', 1); /* another name in the same place */
    CHECK_STR(frame_with(c, &a, c->method, cookie), gone);
    crafted_put(c, crafted_get(c, c->method + 8) + 24, 'm', 1);
    CHECK_STR(frame_with(c, &a, c->method, cookie), there);
    crafted_put(c, c->method + c->v->file + 8, 3 | 10ull << 32, 8); /* other code of the same file */
    CHECK_STR(frame_with(c, &a, c->method, cookie), gone);
}

TEST(php_gives_no_names_to_words_of_others)
{
    CRAFT(CRAFTED_8_2, false);
    u32 cookie = crafted_cookie(c, c->method);
    CHECK_STR(frames_in(c, &a, XP_JAVA_WORD(0, c->method), XP_MORE_WORD(cookie, 7), true), "1 [php] :0");
    CHECK_STR(frames_in(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->method), XP_MORE_WORD(cookie, 7), true),
              "1 [php] :0");
    CHECK_STR(frames_in(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->method), XP_JAVA_WORD(0, 1), true), "1 [php] :0");
}

TEST(php_names_many_frames_at_once)
{
    CRAFT(CRAFTED_8_2, false);
    AUTO_BUF struct buf out = {0};
    struct names v;
    u64 words[2 * 100];
    for (u32 i = 0; i < 100; i++) {
        words[2 * i] = XP_SCRIPT_WORD(XP_LANGUAGE_PHP, crafted_address(c, i % 2 ? c->method : c->main));
        words[2 * i + 1] = XP_MORE_WORD(crafted_cookie(c, i % 2 ? c->method : c->main), i);
    }
    CHECK_EQ(names_of(c, &a, words, 200, &out), 0);
    CHECK_EQ(names_view(out.data, out.len, 100, &v), 0);
    CHECK_EQ(v.frames[v.first[99]].line, 99);
    CHECK_STR(v.strings + v.frames[v.first[98]].name, "include");
    CHECK_EQ(names_of(c, &a, words, 199, &out), -EBADMSG);
}
