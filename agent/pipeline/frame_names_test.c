#include "pipeline/frame_names.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "runtime/kinds.h"
#include <string.h>

static const u64 words[] = {XP_JAVA_WORD(XP_JAVA_COMPILED, 16), XP_MORE_WORD(1, 4), XP_JAVA_WORD(XP_JAVA_COMPILED, 16),
                            XP_MORE_WORD(1, 8)};

/* The first frame is two calls, the second one has no name. */
static const u32 first[] = {0, 2, 2};
static const struct names_frame frames[] = {{.name = 1, .system_name = 7, .file = 14, .line = 3},
                                            {.name = 7, .line = 5}};
static const struct names view = {first, frames, "\0a.b.c\0d.e.f\0F.java", 2};

struct answer {
    unsigned calls;
    u32 n[2];
    char name[16];
    u32 line;
};

static void use(void *arg, const struct names *names)
{
    struct answer *a = arg;
    a->calls++;
    for (u32 i = 0; i < names->n && i < 2; i++)
        a->n[i] = names->first[i + 1] - names->first[i];
    if (names->n && a->n[0]) {
        snprintf(a->name, sizeof(a->name), "%s", names->strings + names->frames[0].name);
        a->line = names->frames[0].line;
    }
}

static struct answer ask(struct frame_names *r, u32 tgid)
{
    struct answer a = {0};
    frame_names_answer(r, tgid, 1, words, 2, use, &a);
    return a;
}

TEST(frame_names_stay_for_the_interval_after)
{
    CLEANUP(frame_names_free) struct frame_names *r = NULL;
    CHECK_EQ(frame_names_new(&r, true), 0);
    frame_names_add(r, 7, 1, 9, words, 2, &view);
    struct answer a = ask(r, 7);
    CHECK_EQ(a.calls, 1);
    CHECK_EQ(a.n[0], 2);
    CHECK_EQ(a.n[1], 0);
    CHECK_STR(a.name, "a.b.c");
    CHECK_EQ(a.line, 3);
    CHECK_EQ(ask(r, 8).n[0], 0); /* another process */
    for (int interval = 0; interval < 3; interval++) {
        frame_names_age(r);
        CHECK_EQ(ask(r, 7).n[0], 2); /* it was used */
    }
    frame_names_age(r);
    frame_names_age(r);
    CHECK_EQ(ask(r, 7).n[0], 0);
    CHECK_EQ(ask(r, 7).calls, 1);
}

TEST(frame_names_of_one_cgroup_leave_room_for_others)
{
    CLEANUP(frame_names_free) struct frame_names *r = NULL;
    static const u32 one[] = {0, 1};
    const struct names single = {one, frames, view.strings, 1};
    CHECK_EQ(frame_names_new(&r, true), 0);
    for (u32 i = 0; i < 1u << 19; i++) {
        u64 w[] = {words[0], XP_MORE_WORD(1, i)};
        frame_names_add(r, 7, 1, 9, w, 1, &single);
    }
    CHECK(frame_names_stats(r).lost > 1u << 16);
    u64 named = frame_names_stats(r).named;
    frame_names_add(r, 8, 1, 10, words, 2, &view);
    CHECK_EQ(ask(r, 8).n[0], 2);
    CHECK_EQ(frame_names_stats(r).named, named + 1);
    CHECK_EQ(frame_names_stats(r).gone, 0);
    const struct names_frame gone = {.start = RUNTIME_GONE, .name = 1};
    frame_names_add(r, 8, 1, 10, words + 2, 1, &(struct names){one, &gone, view.strings, 1});
    CHECK_EQ(frame_names_stats(r).gone, 1);
}

static struct xp_code_event texts_of(u32 tgid, u64 code, const char *name, const char *file)
{
    struct xp_code_event e = {.tgid = tgid,
                              .start = 1,
                              .cgroup = 9,
                              .word = XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code),
                              .more = XP_MORE_WORD(5, 0),
                              .name_len = (u32)strlen(name),
                              .file_len = (u32)strlen(file)};
    memcpy(e.name, name, e.name_len);
    memcpy(e.file, file, e.file_len);
    return e;
}

/* Both when its owner is another one by now, and when its process is gone: but only the code that had these texts. */
TEST(frame_names_of_code_that_cannot_be_read_any_more)
{
    CLEANUP(frame_names_free) struct frame_names *r = NULL;
    static const u32 one[] = {0, 1};
    static const struct names_frame gone = {.start = RUNTIME_GONE, .name = 1};
    u64 w[] = {XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, 64) | XP_WORD_EXACT, XP_MORE_WORD(5, 12)};
    u64 other[] = {w[0], XP_MORE_WORD(6, 12)};
    struct xp_code_event e = texts_of(7, 64, "<module>", "/a/b.py");
    CHECK_EQ(frame_names_new(&r, true), 0);
    frame_names_code(r, &e);
    frame_names_add(r, 7, 1, 9, w, 1, &(struct names){one, &gone, view.strings, 1});
    frame_names_add(r, 7, 1, 9, other, 1, &(struct names){one, &gone, view.strings, 1});
    CHECK_EQ(frame_names_stats(r).named, 1);
    CHECK_EQ(frame_names_stats(r).gone, 1);
    for (int interval = 0; interval < 3; interval++) { /* it was used */
        struct answer a = {0};
        frame_names_answer(r, 7, 1, w, 1, use, &a);
        CHECK_EQ(a.n[0], 1);
        CHECK_STR(a.name, "<module>");
        CHECK_EQ(a.line, 0);
        frame_names_age(r);
    }
    struct answer a = {0};
    frame_names_answer(r, 8, 1, w, 1, use, &a);
    CHECK_EQ(a.n[0], 0);
}

/* Whatever a process sends, no text of it is believed that could not be one. */
TEST(frame_names_of_crafted_texts)
{
    CLEANUP(frame_names_free) struct frame_names *r = NULL;
    u64 w[] = {XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, 64), XP_MORE_WORD(5, 12)};
    struct xp_code_event bad[] = {texts_of(7, 64, "a\x1b[2J", "f"), texts_of(7, 64, "", "f"),
                                  texts_of(7, 64, "a", "f")};
    bad[2].name_len = XP_CODE_NAME + 1;
    CHECK_EQ(frame_names_new(&r, true), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct answer a = {0};
        frame_names_code(r, &bad[i]);
        frame_names_answer(r, 7, 1, w, 1, use, &a);
        CHECK_EQ(a.n[0], 0);
    }
    struct xp_code_event e = texts_of(7, 64, "a", "\xff");
    e.file_len = ~0u; /* the name is good */
    struct answer a = {0};
    frame_names_code(r, &e);
    frame_names_answer(r, 7, 1, w, 1, use, &a);
    CHECK_STR(a.name, "a");
}

/* What is kept for the next interval counts as well, so that it cannot fill up, interval by interval. */
TEST(frame_names_that_are_kept_leave_room_for_others)
{
    CLEANUP(frame_names_free) struct frame_names *r = NULL;
    static char text[1024 + 1];
    static const u32 one[] = {0, 1};
    static const struct names_frame long_frame[] = {{.name = 1}};
    const struct names single = {one, long_frame, text, 1};
    struct answer a = {0};
    CHECK_EQ(frame_names_new(&r, true), 0);
    memset(text + 1, 'x', sizeof(text) - 2);
    for (u32 interval = 0; interval < 8; interval++) {
        frame_names_age(r);
        for (u32 i = 0; i < 1u << 16; i++) {
            u64 w[] = {words[0], XP_MORE_WORD(1, i)};
            snprintf(text + 1, 8, "%06u", i);
            text[7] = 'x';
            frame_names_answer(r, 7, 1, w, 1, use, &a);
            frame_names_add(r, 7, 1, 9, w, 1, &single);
        }
        CHECK(frame_names_stats(r).lost > interval << 15);
    }
    u64 lost = frame_names_stats(r).lost;
    for (u32 i = 0; i < 1000; i++) {
        u64 w[] = {words[0], XP_MORE_WORD(1, i)};
        snprintf(text + 1, 8, "%06u", i);
        text[7] = 'y';
        frame_names_add(r, 8, 1, 10, w, 1, &single);
    }
    CHECK_EQ(frame_names_stats(r).lost, lost);
}

/* Names of 64 KiB, as a crafted process may have them. */
TEST(frame_names_are_limited_by_their_bytes)
{
    CLEANUP(frame_names_free) struct frame_names *r = NULL;
    static char text[65536 + 1];
    static const u32 one[] = {0, 1};
    static const struct names_frame long_frame[] = {{.name = 1}};
    const struct names single = {one, long_frame, text, 1};
    CHECK_EQ(frame_names_new(&r, false), 0);
    memset(text + 1, 'x', sizeof(text) - 2);
    for (u32 i = 0; i < 1000; i++) {
        u64 w[] = {words[0], XP_MORE_WORD(1, i)};
        text[1] = (char)('a' + i % 26);
        text[2] = (char)('a' + i / 26);
        frame_names_add(r, 7, 1, 9, w, 1, &single);
    }
    CHECK_EQ(frame_names_stats(r).lost, 489);
}

TEST(frame_names_of_one_cgroup_are_limited_though_there_is_room)
{
    CLEANUP(frame_names_free) struct frame_names *r = NULL;
    static char text[65536 + 1];
    static const u32 one[] = {0, 1};
    static const struct names_frame long_frame[] = {{.name = 1}};
    const struct names single = {one, long_frame, text, 1};
    CHECK_EQ(frame_names_new(&r, true), 0);
    memset(text + 1, 'x', sizeof(text) - 2);
    for (u32 i = 0; i < 256; i++) {
        u64 w[] = {words[0], XP_MORE_WORD(1, i)};
        text[1] = (char)('a' + i % 26);
        text[2] = (char)('a' + i / 26);
        frame_names_add(r, 7, 1, 9 + i / 200, w, 1, &single);
    }
    CHECK_EQ(frame_names_stats(r).lost, 200 - 127);
}
