/* Frames of JavaScript, from samples to text. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "profile/runtime_mappings.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"
#include "profile/formats.h"
#include "profile/recorded.h"
#include "profile/runtime_only.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))

/* Of bytecode, and of machine code. */
static const struct fixture_sample SAMPLES[] = {
    {"demo", 20, 0, XP_CAUSE_END, 1, 0, 3, {XP_V8_WORD(XP_V8_BYTECODE, 0x300), XP_MORE_WORD(3, 5), W(2, 0x1010)}},
    {"demo", 20, 0, XP_CAUSE_END, 1, 0, 3, {XP_V8_WORD(XP_V8_COMPILED, 0x400), XP_MORE_WORD(2, 0x500), W(2, 0x1010)}},
};

static int collapsed(const struct profile *p, struct buf *out)
{
    int rc = encoder_by_name("collapsed")->encode(p, out);
    buf_char(out, 0);
    return rc;
}

TEST(javascript_without_names_has_that_of_its_mapping)
{
    static const struct fixture_sample samples[] = {
        /* position 0: the fixture has no name there */
        {"demo", 20, 0, XP_CAUSE_END, 1, 0, 3, {XP_V8_WORD(XP_V8_PLAIN, 0x300), XP_MORE_WORD(3, 0), W(2, 0x1010)}},
    };
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf all = {0}, some = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    CHECK_EQ(collapsed(&p, &all), 0);
    CHECK_STR(all.data, "demo;main;[javascript] 1\n");
    profile_runtime_only(&p);
    CHECK_EQ(collapsed(&p, &some), 0);
    CHECK_STR(some.data, "demo;[javascript] 1\n");
}

TEST(javascript_has_a_mapping_and_addresses)
{
    AUTO_PROFILE struct profile p = {0};
    unsigned found = 0;
    CHECK_EQ(fixture_profile(SAMPLES, COUNT(SAMPLES), &p), 0);
    for (size_t i = 0; i < p.locations.n; i++) {
        const struct prof_location *l = &p.locations.v[i];
        if (l->word_kind != XP_WORD_V8)
            continue;
        found |= l->address == 0x305 ? 1 : l->address == 0x200000500 ? 2 : 4;
        CHECK_EQ(l->origin, FRAME_JIT);
        CHECK_STR(profile_text(&p, p.mappings.v[l->mapping].name), V8_MAPPING);
    }
    CHECK_EQ(found, 3);
}

TEST(javascript_that_was_recorded_still_is_code_of_a_runtime)
{
    AUTO_PROFILE struct profile p = {0}, back = {0};
    AUTO_BUF struct buf plain = {0};
    CLEANUP(recorded_free) struct recorded files = {0};
    char why[200];
    unsigned found = 0;
    CHECK_EQ(fixture_profile(SAMPLES, COUNT(SAMPLES), &p), 0);
    CHECK(!encode_pprof_plain(&p, true, &plain) && !profile_init(&back));
    CHECK_EQ(recorded_read(plain.data, plain.len, &back, &files, why, sizeof(why)), 0);
    for (size_t i = 0; i < back.locations.n; i++)
        found += back.locations.v[i].origin == FRAME_JIT;
    CHECK_EQ(found, 2);
}
