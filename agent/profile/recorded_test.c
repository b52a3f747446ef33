/* Recording without names, and naming that later, is naming at once. */
#include "profile/recorded.h"
#include "base/cleanup.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"
#include "profile/formats.h"
#include "profile/frames.h"
#include <errno.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct fixture_sample samples[] = {
    {"demo",
     20,
     0,
     XP_CAUSE_END,
     10000000,
     1,
     4,
     {W_KERNEL(0x1010), W_LEAF(2, 0x3010), W(2, 0x2105), W(2, 0x2001), W(2, 0x1010)}},
    {"demo", 20, 0, XP_CAUSE_END, 10000000, 0, 2, {W_LEAF(2, 0x3010), XP_FILE_WORD(XP_WORD_INFERRED, 2, 0x1010)}},
    {"other", 30, 0, XP_CAUSE_DEPTH, 10000000, 0, 3, {W_LEAF(3, 0x1234), W_ANON(0x7010), W(2, 0x1234)}},
    {"waits",
     35,
     0,
     XP_CAUSE_END,
     10000000,
     3,
     1,
     {W_WAIT(0), W_KERNEL(0x200010), W_KERNEL(0x201010), W_LEAF(2, 0x1010)}},
    {"waits", 36, 0, XP_CAUSE_NOT_TAKEN, 10000000, 1, 0, {W_WAIT(XP_WAIT_RUNQUEUE)}},
    {"nothing", 40, 0, XP_CAUSE_STACK_READ, 10000000, 0, 0, {0}},
};

static int take(bool raw, struct profile *out)
{
    CLEANUP(aggregate_free) struct aggregate *a = NULL;
    struct fixture_source f;
    fixture_source(&f);
    f.source.raw = raw;
    if (raw)
        f.source.names = NULL;
    int r = aggregate_new(&a, 2, 64 << 20);
    for (size_t i = 0; i < COUNT(samples) && !r; i++)
        r = fixture_add(a, &samples[i]);
    if (!r)
        r = profile_init(out);
    if (!r)
        r = symbolize(a, &f.source, out);
    out->events[0] = event_kind_find("cpu");
    out->period[0] = 10000000;
    out->nevents = 1;
    out->time_ns = 17;
    out->duration_ns = 19;
    *VEC_PUSH(&out->comments) = profile_string(out, "command: demo");
    *VEC_PUSH(&out->comments) = profile_string(out, "host: box");
    return r;
}

/* The fixture's names for the files of a recording, by their paths. */
struct by_path {
    struct fixture_source fixture;
    const struct recorded *recorded;
};
static u32 number_of(const struct by_path *b, u32 id)
{
    return !strcmp(b->recorded->files.v[id - XP_FILE_FIRST].path, "/usr/bin/demo") ? 2 : 3;
}
static bool path_file(void *ctx, u32 id, const char **path, const char **build_id)
{
    struct by_path *b = ctx;
    return b->fixture.source.file(&b->fixture, number_of(b, id), path, build_id);
}
static int path_names(void *ctx, u32 id, const u64 *offsets, size_t n,
                      void (*use)(void *arg, const struct names *names), void *arg)
{
    struct by_path *b = ctx;
    return b->fixture.source.names(&b->fixture, number_of(b, id), offsets, n, use, arg);
}

static int record_and_name(struct profile *out)
{
    CLEANUP(profile_free) struct profile raw = {0};
    CLEANUP(recorded_free) struct recorded recorded = {0};
    AUTO_BUF struct buf file = {0};
    char why[128];
    int r = take(true, &raw);
    if (!r)
        r = encoder_by_name("pprof")->encode(&raw, &file);
    if (!r)
        r = profile_init(out);
    if (!r)
        r = recorded_read(file.data, file.len, out, &recorded, why, sizeof(why));
    struct by_path by = {.recorded = &recorded};
    fixture_source(&by.fixture);
    struct name_source source = {.ctx = &by, .file = path_file, .names = path_names};
    return r ? r : recorded_name(out, &recorded, &source);
}

TEST(recorded_and_named_later_is_the_same)
{
    CLEANUP(profile_free) struct profile now = {0};
    CLEANUP(profile_free) struct profile later = {0};
    AUTO_BUF struct buf a = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(take(false, &now), 0);
    CHECK_EQ(record_and_name(&later), 0);
    CHECK_EQ(encoder_by_name("collapsed")->encode(&now, &a), 0);
    CHECK_EQ(encoder_by_name("collapsed")->encode(&later, &b), 0);
    buf_char(&a, 0);
    buf_char(&b, 0);
    CHECK(strstr(a.data, "inner"));
    CHECK(strstr(a.data, "[cut: depth]"));
    CHECK(strstr(a.data, "jit::other"));
    CHECK(strstr(a.data, "anon_pipe_read_[k];schedule_[k];[pipe] 10000000\n"));
    CHECK(strstr(a.data, "waits;[stack not taken];[run queue] 10000000\n"));
    CHECK_STR(b.data, a.data);
    CHECK_EQ(later.time_ns, 17);
    CHECK_EQ(later.period[0], 10000000);
    CHECK_EQ(later.mappings.n, now.mappings.n);
    unsigned inferred[2] = {0};
    for (size_t i = 0; i < now.stacks.n; i++) {
        inferred[0] += stack_found(&now, &now.stacks.v[i]) == FOUND_INFERRED;
        inferred[1] += stack_found(&later, &later.stacks.v[i]) == FOUND_INFERRED;
    }
    CHECK(inferred[0] == 1 && inferred[1] == 1);
}

/* Numbers, and what is said about the recording, are in the file, too. */
TEST(recorded_keeps_values_and_comments)
{
    CLEANUP(profile_free) struct profile now = {0};
    CLEANUP(profile_free) struct profile later = {0};
    u64 sum[2][2] = {{0}};
    CHECK_EQ(take(false, &now), 0);
    CHECK_EQ(record_and_name(&later), 0);
    CHECK_EQ(now.stacks.n, later.stacks.n);
    for (size_t i = 0; i < now.stacks.n; i++)
        for (int k = 0; k < 2; k++) {
            const struct prof_stack *s = k ? &later.stacks.v[i] : &now.stacks.v[i];
            sum[k][0] += s->count[0];
            sum[k][1] += s->value[0];
        }
    CHECK(sum[0][0] && sum[0][1]);
    CHECK_EQ(sum[1][0], sum[0][0]);
    CHECK_EQ(sum[1][1], sum[0][1]);
    CHECK_EQ(later.nevents, now.nevents);
    CHECK_STR(later.events[0]->name, now.events[0]->name);
    CHECK_EQ(later.duration_ns, now.duration_ns);
    CHECK(now.comments.n == 2 && later.comments.n == 2);
    for (size_t i = 0; i < now.comments.n; i++)
        CHECK_STR(profile_text(&later, later.comments.v[i]), profile_text(&now, now.comments.v[i]));
}

TEST(recorded_without_names_has_none)
{
    CLEANUP(profile_free) struct profile raw = {0};
    CHECK_EQ(take(true, &raw), 0);
    size_t unnamed = 0;
    for (size_t i = 0; i < raw.locations.n; i++)
        unnamed += !raw.locations.v[i].nlines;
    CHECK_EQ(unnamed, raw.locations.n - 6); /* but the kernel's, the runtime's and causes, whom nobody can ask later */
}

TEST(recorded_refuses_what_is_no_profile)
{
    static const char *const texts[] = {"", "text", "\x1f\x8b no gzip", "\x0a\x04\x08\x01\x10\x02\x32\x00"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        CLEANUP(profile_free) struct profile p = {0};
        CLEANUP(recorded_free) struct recorded r = {0};
        char why[128] = "";
        CHECK_EQ(profile_init(&p), 0);
        CHECK(recorded_read(texts[i], strlen(texts[i]), &p, &r, why, sizeof(why)) < 0);
        CHECK(why[0]);
    }
}

/* Any byte of a profile may be another one. */
TEST(recorded_with_a_wrong_byte_does_no_harm)
{
    CLEANUP(profile_free) struct profile raw = {0};
    AUTO_BUF struct buf plain = {0};
    char why[128];
    CHECK_EQ(take(true, &raw), 0);
    CHECK_EQ(encode_pprof_plain(&raw, true, &plain), 0);
    for (size_t i = 0; i < plain.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            CLEANUP(profile_free) struct profile p = {0};
            CLEANUP(recorded_free) struct recorded r = {0};
            plain.data[i] ^= (char)(1 << bit);
            CHECK_EQ(profile_init(&p), 0);
            struct name_source none = {.ctx = NULL};
            if (!recorded_read(plain.data, plain.len, &p, &r, why, sizeof(why)))
                CHECK_EQ(recorded_name(&p, &r, &none), 0);
            plain.data[i] ^= (char)(1 << bit);
        }
}

/* Samples are those of the event that they have a value of; a wait that goes on has only its value. */
TEST(recorded_samples_are_of_their_events)
{
    static const struct fixture_sample both[] = {
        {"cpu", 1, 0, XP_CAUSE_END, 20, 0, 1, {W_LEAF(2, 0x1010)}},
        {"cpu", 1, 0, XP_CAUSE_END, 20, 0, 1, {W_LEAF(2, 0x1010)}},
        {"faults", 2, 1, XP_CAUSE_END, 7, 0, 1, {W_LEAF(2, 0x1010)}},
        {"faults", 2, 1, XP_CAUSE_END, 7, 0, 1, {W_LEAF(2, 0x1010)}},
        {"more", 3, 0, XP_CAUSE_END, 20, 0, 1, {W_LEAF(2, 0x1010)}},
        {"more", 3, 0, XP_CAUSE_END, 20, 0, 1, {W_LEAF(2, 0x1010)}},
        {"more", 3, 1, XP_CAUSE_END, 7, 0, 1, {W_LEAF(2, 0x1010)}},
        {"none", 4, 1, XP_CAUSE_END, 9, 1, 0, {W_WAIT(0)}},
    };
    CLEANUP(profile_free) struct profile p = {0};
    CLEANUP(profile_free) struct profile q = {0};
    CLEANUP(recorded_free) struct recorded recorded = {0};
    AUTO_BUF struct buf file = {0};
    char why[128];
    CHECK_EQ(fixture_profile(both, COUNT(both), &p), 0);
    p.events[1] = event_kind_find("page-faults");
    p.nevents = 2;
    CHECK_EQ(p.stacks.n, 5);
    p.stacks.v[4].count[0] = 0;
    CHECK_EQ(encoder_by_name("pprof")->encode(&p, &file), 0);
    CHECK_EQ(profile_init(&q), 0);
    CHECK_EQ(recorded_read(file.data, file.len, &q, &recorded, why, sizeof(why)), 0);
    CHECK_EQ(q.stacks.n, 5);
    for (size_t i = 0; i < 5; i++) {
        CHECK_EQ(q.stacks.v[i].event, p.stacks.v[i].event);
        CHECK_EQ(q.stacks.v[i].count[0], p.stacks.v[i].count[0]);
        CHECK_EQ(q.stacks.v[i].value[0], p.stacks.v[i].value[0]);
    }
}
