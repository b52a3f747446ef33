/* Frames of two words, from samples to text. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "profile/runtime_mappings.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"
#include "profile/formats.h"
#include "profile/frames.h"
#include "profile/pprof_decode_test.h"
#include "profile/reason.h"
#include "profile/recorded.h"
#include "profile/runtime_only.h"
#include "runtime/kinds.h"
#include <errno.h>

#define AUTO_PROFILE   __attribute__((cleanup(profile_free)))
#define COUNT(a)       (sizeof(a) / sizeof((a)[0]))
#define JAVA(at)       XP_JAVA_WORD(XP_JAVA_COMPILED, at)
#define MORE(id, line) XP_MORE_WORD(id, line)
#define FROZEN         XP_JAVA_WORD(XP_JAVA_FROZEN, 0x900), MORE(0, 0)

static const struct fixture_sample SAMPLES[] = {
    {"demo@pool-1",
     20,
     0,
     XP_CAUSE_END,
     1,
     0,
     5,
     {JAVA(0x100) | XP_WORD_EXACT, MORE(1, 7), JAVA(0x200), MORE(2, 120), W(2, 0x1010)}},
    {"demo", 20, 0, XP_CAUSE_END, 1, 0, 5, {JAVA(0x100) | XP_WORD_EXACT, MORE(1, 8), FROZEN, W(2, 0x1010)}},
    {"demo", 20, 0, XP_CAUSE_END, 1, 0, 3, {JAVA(0x100), MORE(3, 0), W(2, 0x1010)}},
    {"demo", 21, 0, XP_CAUSE_END, 1, 0, 3, {JAVA(0x100), MORE(1, 7), W(2, 0x1010)}},
};

static int collapsed(const struct fixture_sample *s, size_t n, struct buf *out)
{
    AUTO_PROFILE struct profile p = {0};
    int rc = fixture_profile(s, n, &p);
    return rc ? rc : encoder_by_name("collapsed")->encode(&p, out);
}

TEST(runtime_frames_have_the_names_of_their_two_words)
{
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(collapsed(SAMPLES, COUNT(SAMPLES), &b), 0);
    buf_char(&b, 0);
    CHECK_STR(b.data,
              "demo;main;[java] 1\n"
              "demo;main;[virtual thread: frozen callers];p.Demo.m1 1\n"
              "demo;main;p.Demo.m1 1\n"
              "demo;main;p.Demo.m2;p.Small.get;p.Demo.m1 1\n");
}

/* Places of one method that differ in their second words alone are locations of their own; those of another process,
 * too. */
TEST(runtime_frames_are_locations)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(SAMPLES, COUNT(SAMPLES), &p), 0);
    CHECK_EQ(p.locations.n, 7); /* m1:7, m2, m1:8, frozen, m3, main, m1:7 of process 21 */
    for (size_t i = 0; i < p.stacks.n; i++)
        CHECK(p.stacks.v[i].n == 2 || p.stacks.v[i].n == 3);
}

TEST(runtime_frames_of_scripts)
{
    static const char *const names[] = {PYTHON_MAPPING, RUBY_MAPPING, PHP_MAPPING, PERL_MAPPING};
    for (u32 language = 0; language < COUNT(names); language++) {
        const struct fixture_sample samples[] = {
            {"demo", 20, 0, XP_CAUSE_END, 1, 0, 3, {XP_SCRIPT_WORD(language, 0x300), MORE(3, 0), W(2, 0x1010)}},
        };
        AUTO_PROFILE struct profile p = {0};
        AUTO_BUF struct buf b = {0}, expected = {0};
        bool found = false;
        CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
        CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
        buf_char(&b, 0);
        buf_printf(&expected, "demo;main;%s 1\n", names[language]);
        CHECK_STR(b.data, expected.data);
        for (size_t i = 0; i < p.mappings.n; i++) {
            found |= !strcmp(profile_text(&p, p.mappings.v[i].name), names[language]);
            CHECK(strcmp(profile_text(&p, p.mappings.v[i].name), JAVA_MAPPING) != 0);
        }
        CHECK(found && is_runtime_mapping(names[language]));
    }
}

TEST(runtime_frames_take_the_place_of_trampolines)
{
    static const struct fixture_sample samples[] = {
        {"demo",
         20,
         0,
         XP_CAUSE_END,
         1,
         0,
         4,
         {XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, 0x300), MORE(3, 0), 0x6010, W(2, 0x1010)}},
        {"demo", 20, 0, XP_CAUSE_END, 1, 0, 2, {0x6010, W(2, 0x1010)}}, /* nothing was known of Python yet */
    };
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    buf_char(&b, 0);
    CHECK_STR(b.data,
              "demo;main;[python] 1\n"
              "demo;main;py::work:/work.py 1\n");
}

TEST(runtime_frames_alone)
{
    static const struct fixture_sample samples[] = {
        {"demo", 20, 0, XP_CAUSE_END, 1, 0, 4, {W(2, 0x1010), JAVA(0x200), MORE(2, 120), W(2, 0x1010)}},
        {"demo", 20, 0, XP_CAUSE_END, 1, 0, 1, {W(2, 0x1010)}},
    };
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    profile_runtime_only(&p);
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    buf_char(&b, 0);
    CHECK_STR(b.data,
              "demo;main 1\n"
              "demo;p.Demo.m2;p.Small.get 1\n");
}

/* A sample is of the kind of its innermost frame of the runtime, and still is when it was read back. */
TEST(runtime_frames_say_what_code_they_are)
{
    AUTO_PROFILE struct profile p = {0}, back = {0};
    AUTO_BUF struct buf text = {0}, plain = {0};
    struct decoded d AUTO_DECODED;
    CLEANUP(recorded_free) struct recorded files = {0};
    char why[200];
    CHECK_EQ(fixture_profile(SAMPLES, COUNT(SAMPLES), &p), 0);
    pprof_decode(&p, &d);
    pprof_samples_text(&d, &text);
    buf_char(&text, 0);
    CHECK(strstr(text.data, "runtime=c2") && !strstr(text.data, "runtime=interpreted"));
    CHECK(!encode_pprof_plain(&p, true, &plain) && !profile_init(&back));
    CHECK_EQ(recorded_read(plain.data, plain.len, &back, &files, why, sizeof(why)), 0);
    CHECK_EQ(back.stacks.n, p.stacks.n);
    CHECK(strstr(text.data, "thread=pool-1"));
    for (size_t i = 0; i < p.stacks.n; i++) {
        const struct prof_stack *was = &p.stacks.v[i], *is = &back.stacks.v[i];
        CHECK_EQ(stack_code(&back, is), stack_code(&p, was));
        CHECK_STR(profile_text(&back, is->thread), profile_text(&p, was->thread));
    }
}

TEST(runtime_frames_of_one_method_are_one_frame)
{
    AUTO_PROFILE struct profile p = {0};
    struct frames f = {0};
    struct frame_table t = {0};
    u8 codes = 0;
    CHECK_EQ(fixture_profile(SAMPLES, COUNT(SAMPLES), &p), 0);
    for (size_t i = 0; i < p.stacks.n; i++) {
        CHECK_EQ(frames_of(&p, &p.stacks.v[i], &f), 0);
        for (size_t k = 0; k < f.n; k++)
            frame_table_add(&t, &f.v[k]);
    }
    for (size_t i = 0; i < t.rows.n; i++)
        codes |= t.rows.v[i].codes;
    CHECK_EQ(codes, 1 << RUNTIME_C2 | 1 << RUNTIME_INTERPRETED | 1 << RUNTIME_INLINED);
    frame_table_free(&t);
    vec_free(&f);
}

static int add(const u64 *words, unsigned n)
{
    CLEANUP(aggregate_free) struct aggregate *a = NULL;
    struct fixture_sample s = {"demo", 20, 0, XP_CAUSE_END, 1, 0, n, {0}};
    memcpy(s.words, words, n * sizeof(*words));
    return aggregate_new(&a, 1, 1 << 20) ? -ENOMEM : fixture_add(a, &s);
}

TEST(runtime_frames_are_whole)
{
    CHECK_EQ(add((u64[]){JAVA(1), MORE(1, 1)}, 2), 0);
    CHECK_EQ(add((u64[]){JAVA(1)}, 1), -EBADMSG);
    CHECK_EQ(add((u64[]){MORE(1, 1)}, 1), -EBADMSG);
    CHECK_EQ(add((u64[]){JAVA(1), W(2, 3)}, 2), -EBADMSG);
    CHECK_EQ(add((u64[]){JAVA(1), JAVA(2), MORE(1, 1)}, 3), -EBADMSG);
    CHECK_EQ(add((u64[]){JAVA(1), MORE(1, 1), MORE(1, 1)}, 3), -EBADMSG);
}

/* Of a waker: root first, but each frame's words in their order. */
TEST(runtime_frames_of_wakers)
{
    const u64 name[] = {(u64)XP_WORD_NAME << 60 | 'w', (u64)XP_WORD_NAME << 60, (u64)XP_WORD_NAME << 60};
    const struct fixture_sample s = {"demo",
                                     20,
                                     0,
                                     XP_CAUSE_END,
                                     1,
                                     8,
                                     1,
                                     {XP_WAIT_WORD(XP_WAIT_WOKEN | XP_WAIT_OWN, 7), name[0], name[1], name[2],
                                      W(2, 0x1010), JAVA(0x100), MORE(1, 7), W_KERNEL(0x201010), W(2, 0x1010)}};
    AUTO_BUF struct buf b = {0};
    CHECK(reason_valid(s.words, 8));
    CHECK_EQ(collapsed(&s, 1, &b), 0);
    CHECK(strstr(b.data, "main") && strstr(b.data, "p.Demo.m1"));
    u64 cut[8];
    memcpy(cut, s.words, sizeof(cut));
    cut[0] = XP_WAIT_WORD(XP_WAIT_WOKEN | XP_WAIT_OWN, 6);
    CHECK(!reason_valid(cut, 8));
}
