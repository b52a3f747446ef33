#include "runtime/python_ask_test.h"

static u32 line_at(const struct crafted *c, const struct buf *attached, s32 position)
{
    u32 code = c->thread[0].code;
    const char *s = frame_of(c, attached, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code),
                             XP_MORE_WORD(crafted_cookie(c, code), position));
    return strchr(s, ':') ? (u32)atoi(strchr(s, ':') + 1) : UINT32_MAX;
}

/* The name of the first thread's function, with another text instead. */
static const char *name_with(struct crafted *c, const struct buf *attached, u32 str)
{
    static char name[8192];
    bool is_old = c->v->hex < 0x030b0000;
    u32 code = c->thread[0].code;
    crafted_put(c, code + c->v->code_names + (is_old ? 8 : 16), str, 8);
    const char *s =
        frame_of(c, attached, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code), XP_MORE_WORD(crafted_cookie(c, code), 0));
    if (strncmp(s, "1 ", 2) != 0)
        return s;
    snprintf(name, sizeof(name), "%s", s + 2);
    if (strchr(name, ' '))
        *strchr(name, ' ') = 0;
    return name;
}

TEST(frames_of_python_have_names_and_lines)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, CRAFTED_GLIBC);
        u32 code = c->thread[1].code;
        u64 more = XP_MORE_WORD(crafted_cookie(c, code), i == CRAFTED_3_10 ? 2 : 4);
        CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code), more),
                  "1 outer.<locals>.second dir/file.py:11");
        CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code) | XP_WORD_EXACT, more),
                  "1 outer.<locals>.second dir/file.py:11");
        bool none = i >= CRAFTED_3_10;
        unsigned unit = i == CRAFTED_3_10 ? 2 : 1;
        CHECK_EQ(line_at(c, &a, 0), 10);
        CHECK_EQ(line_at(c, &a, 2 / (int)unit), 10);
        CHECK_EQ(line_at(c, &a, (s32)(6 / unit)), 11);
        CHECK_EQ(line_at(c, &a, (s32)(10 / unit)), none ? 0 : 11);
        CHECK_EQ(line_at(c, &a, (s32)(12 / unit)), 111);
        CHECK_EQ(line_at(c, &a, (s32)(18 / unit)), 108);
        CHECK_EQ(line_at(c, &a, (s32)(20 / unit)), 10);
        CHECK_EQ(line_at(c, &a, -2), 10);
        CHECK_EQ(line_at(c, &a, INT32_MIN), 10);
        CHECK_EQ(line_at(c, &a, INT32_MAX), 10);
    }
}

/* Without a GIL, each thread may run its own copy. */
TEST(lines_are_found_in_copies_of_code)
{
    CRAFT(CRAFTED_3_14T, CRAFTED_GLIBC);
    u32 code = c->thread[0].code, start = code + c->v->code_start;
    u32 list = crafted_alloc(c, 40), copies[] = {crafted_alloc(c, 32), crafted_alloc(c, 32)};
    const u64 words[] = {4, start, copies[0], 0, copies[1]};
    memcpy(c->bytes + list, words, sizeof(words));
    crafted_put(c, code + c->v->code_copies, list, 8);
    CHECK_EQ(line_at(c, &a, (s32)(copies[0] + 12 - start)), 111);
    CHECK_EQ(line_at(c, &a, (s32)(copies[1] + 6 - start)), 11);
    CHECK_EQ(line_at(c, &a, (s32)(copies[1] + 20 - start)), 10);
    crafted_put(c, list, UINT64_MAX, 8);
    CHECK_EQ(line_at(c, &a, (s32)(copies[1] + 20 - start)), 10);
}

TEST(tables_of_lines_may_be_bad)
{
    CRAFT(CRAFTED_3_12, CRAFTED_GLIBC);
    u32 at = c->thread[0].code + c->v->code_names + 24, table = (u32)crafted_get(c, at);
    crafted_put(c, at, c->thread[0].name, 8); /* no bytes */
    CHECK_EQ(line_at(c, &a, 12), 10);
    crafted_put(c, at, table, 8);
    crafted_put(c, table + c->v->header, (u64)1 << 30, 8); /* too long */
    CHECK_EQ(line_at(c, &a, 12), 10);
    crafted_put(c, table + c->v->header, 5, 8); /* too short */
    CHECK_EQ(line_at(c, &a, 4), 11);
    CHECK_EQ(line_at(c, &a, 12), 10);
    memset(c->bytes + table + c->v->header + 16, 0xff, 5); /* numbers without end */
    CHECK_EQ(line_at(c, &a, 12), 0);
    crafted_put(c, c->thread[0].code + c->v->code_first, UINT32_MAX, 4);
    CHECK_EQ(line_at(c, &a, -1), 0);
}

TEST(frames_whose_code_is_another_one_are_gone)
{
    static const char gone[] = "7 [python: gone] :0";
    CRAFT(CRAFTED_3_11, CRAFTED_GLIBC);
    u32 code = c->thread[0].code, cookie = crafted_cookie(c, code);
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code), XP_MORE_WORD(cookie, 0)),
              "1 Class.first dir/file.py:10");
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code), XP_MORE_WORD(0, 0)),
              "1 Class.first dir/file.py:10");
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code), XP_MORE_WORD(cookie + 1, 0)), gone);
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, c->thread[0].name), XP_MORE_WORD(cookie, 0)), gone);
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, 0), XP_MORE_WORD(0, 0)), gone);
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, 1ull << 55), XP_MORE_WORD(cookie, 0)), gone);
    u64 file = crafted_get(c, code + c->v->code_names);
    crafted_put(c, file + c->v->ascii, 'x', 1); /* another file's code, with its names in the same places */
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code), XP_MORE_WORD(cookie, 0)), gone);
    crafted_put(c, file + c->v->ascii, 'd', 1);
    crafted_put(c, code + 8, c->str_type, 8);
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code), XP_MORE_WORD(cookie, 0)), gone);
}

TEST(words_of_others_get_no_name)
{
    CRAFT(CRAFTED_3_11, CRAFTED_GLIBC);
    u32 code = c->thread[0].code, cookie = crafted_cookie(c, code);
    CHECK_STR(frame_of(c, &a, XP_JAVA_WORD(0, code), XP_MORE_WORD(cookie, 0)), "1 [python] :0");
    CHECK_STR(frame_of(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code), XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code)),
              "1 [python] :0");
    CHECK_STR(name_with(c, &a, code), "[python]");
    CHECK_STR(name_with(c, &a, crafted_ascii(c, "")), "[python]");
}

TEST(texts_of_python_become_utf8)
{
    static const u16 wide[] = {0x6f22, 'x', 0xdc80, 0x7f0}; /* a byte that was no UTF-8 */
    static const u32 wider[] = {0x1f600, '.', 0x110000};
    static const char latin[] = {'d', (char)0xe9, 'f'};
    char many[5000];
    memset(many, 'm', sizeof(many));
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, CRAFTED_GLIBC);
        CHECK_STR(name_with(c, &a, crafted_str(c, latin, 3, 1, false)), "d\u00e9f");
        CHECK_STR(name_with(c, &a, crafted_str(c, wide, 4, 2, false)), "\u6f22x\ufffd\u07f0");
        CHECK_STR(name_with(c, &a, crafted_str(c, wider, 3, 4, false)), "\U0001f600.\ufffd\ufffd\ufffd\ufffd");
        CHECK_EQ(strlen(name_with(c, &a, crafted_str(c, many, 4096, 1, true))), 4096);
        const char *cut = name_with(c, &a, crafted_str(c, many, 4097, 1, true));
        CHECK(strlen(cut) == 4096 + 3 && !strcmp(cut + 4094, "mm..."));
        u32 huge = crafted_str(c, many, 4097, 1, true);
        crafted_put(c, huge + c->v->header, (u64)1 << 40, 8);
        CHECK_EQ(strlen(name_with(c, &a, huge)), 4096 + 3);
        u32 end = CRAFTED_SIZE - 128; /* it goes on beyond the memory */
        memcpy(c->bytes + end, c->bytes + huge, 128);
        CHECK_STR(name_with(c, &a, end), "[python]");
        u32 loose = crafted_ascii(c, "loose");
        crafted_put(c, loose + c->v->header + 16, 1 << c->v->kind_shift, 4);
        CHECK_STR(name_with(c, &a, loose), "[python]");
    }
}
