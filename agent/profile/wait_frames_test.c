/* What threads wait for is the leaf of their stacks, in all formats. */
#include "profile/encode.h"
#include "profile/fixture_test.h"
#include "profile/formats.h"
#include "profile/frames.h"
#include "profile/subset.h"
#include "profile/wait_frames.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))
#define SCHEDULE     W_KERNEL(0x200010)
#define PIPE         W_KERNEL(0x201010)
#define FOLIO        W_KERNEL(0x202010)
#define DRIVER       W_KERNEL(0x203010)
#define VFS_READ     W_KERNEL(0x3010)

static const struct fixture_sample WAITS[] = {
    {"a", 20, 0, XP_CAUSE_END, 5, 4, 1, {W_WAIT(0), SCHEDULE, PIPE, VFS_READ, W_LEAF(2, 0x1010)}},
    {"a", 20, 0, XP_CAUSE_END, 6, 4, 1, {W_WAIT(XP_WAIT_DEEP), SCHEDULE, PIPE, VFS_READ, W_LEAF(2, 0x1010)}},
    {"b", 30, 0, XP_CAUSE_END, 7, 4, 1, {W_WAIT(0), SCHEDULE, PIPE, VFS_READ, W_LEAF(2, 0x3010)}},
    {"c", 40, 0, XP_CAUSE_END, 1, 4, 1, {W_WAIT(0), SCHEDULE, FOLIO, VFS_READ, W_LEAF(2, 0x1010)}},
    {"d", 50, 0, XP_CAUSE_END, 1, 4, 1, {W_WAIT(0), SCHEDULE, DRIVER, VFS_READ, W_LEAF(2, 0x1010)}},
    {"e", 60, 0, XP_CAUSE_END, 1, 1, 1, {W_WAIT(XP_WAIT_RUNQUEUE), W_LEAF(2, 0x1010)}},
    {"f", 70, 0, XP_CAUSE_END, 1, 1, 1, {W_WAIT(0), W_LEAF(2, 0x1010)}},
    {"g", 80, 0, XP_CAUSE_KTHREAD, 1, 2, 0, {W_WAIT(XP_WAIT_IO), DRIVER}},
    {"h", 90, 0, XP_CAUSE_END, 1, 1, 1, {SCHEDULE, W_LEAF(2, 0x1010)}}, /* no wait */
};

TEST(waits_are_the_leaves_of_their_stacks)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(WAITS, COUNT(WAITS), &p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    buf_char(&b, 0);
    CHECK_STR(b.data,
              "a;main;vfs_read_[k];anon_pipe_read_[k];schedule_[k];[pipe] 11\n"
              "b;leaf;vfs_read_[k];anon_pipe_read_[k];schedule_[k];[pipe] 7\n"
              "c;main;vfs_read_[k];folio_wait_bit.isra.0_[k];schedule_[k];[disk] 1\n"
              "d;main;vfs_read_[k];some_driver_wait.part.0_[k];schedule_[k];[other: some_driver_wait] 1\n"
              "e;main;[run queue] 1\n"
              "f;main;[other] 1\n"
              "g;some_driver_wait.part.0_[k];[disk] 1\n"
              "h;main;schedule_[k] 1\n");
}

TEST(waits_for_the_lock_of_python)
{
    static const struct fixture_sample samples[] = {
        {"a", 20, 0, XP_CAUSE_END, 3, 2, 3, {W_WAIT(XP_WAIT_DEEP), VFS_READ, W(2, 0x4010), W(2, 0x5010), W(2, 0x1010)}},
        {"a", 20, 0, XP_CAUSE_END, 4, 2, 2, {W_WAIT(XP_WAIT_DEEP), VFS_READ, W(2, 0x4010), W(2, 0x1010)}},
    };
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    buf_char(&b, 0);
    CHECK_STR(b.data,
              "a;main;pthread_cond_wait;vfs_read_[k];[lock] 4\n"
              "a;main;take_gil;pthread_cond_wait;vfs_read_[k];[gil] 3\n");
}

TEST(waits_of_one_cause_share_a_location)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(WAITS, COUNT(WAITS), &p), 0);
    size_t locations = 0, mappings = 0;
    for (size_t i = 0; i < p.locations.n; i++) {
        const struct prof_location *l = &p.locations.v[i];
        bool wait = !strcmp(profile_text(&p, p.mappings.v[l->mapping].name), WAIT_MAPPING);
        CHECK_EQ(wait, l->origin == FRAME_WAIT);
        CHECK(!wait || (l->nlines == 1 && !l->address && l->word_kind == XP_WORD_WAIT));
        locations += wait;
    }
    for (size_t i = 0; i < p.mappings.n; i++)
        if (!strcmp(profile_text(&p, p.mappings.v[i].name), WAIT_MAPPING)) {
            CHECK(p.mappings.v[i].has_functions && !p.mappings.v[i].lo && !p.mappings.v[i].hi);
            mappings++;
        }
    CHECK_EQ(locations, 5); /* pipe, disk, other: some_driver_wait, run queue, other */
    CHECK_EQ(mappings, 1);
}

TEST(waits_do_not_depend_on_the_order_of_samples)
{
    struct fixture_sample turned[COUNT(WAITS)];
    for (size_t i = 0; i < COUNT(WAITS); i++)
        turned[i] = WAITS[COUNT(WAITS) - 1 - i];
    AUTO_PROFILE struct profile p = {0};
    AUTO_PROFILE struct profile q = {0};
    AUTO_BUF struct buf a = {0}, b = {0};
    CHECK_EQ(fixture_profile(WAITS, COUNT(WAITS), &p), 0);
    CHECK_EQ(fixture_profile(turned, COUNT(WAITS), &q), 0);
    CHECK_EQ(encoder_by_name("pprof")->encode(&p, &a), 0);
    CHECK_EQ(encoder_by_name("pprof")->encode(&q, &b), 0);
    CHECK(a.len == b.len && !memcmp(a.data, b.data, a.len));
}

TEST(waits_have_a_kind_of_their_own_where_they_are_drawn)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(WAITS, 1, &p), 0);
    AUTO_BUF struct buf speedscope = {0}, svg = {0}, top = {0};
    CHECK_EQ(encoder_by_name("speedscope")->encode(&p, &speedscope), 0);
    CHECK(strstr(speedscope.data, "{\"name\":\"[pipe]\",\"file\":\"[wait]\"}"));
    CHECK_EQ(encoder_by_name("svg")->encode(&p, &svg), 0);
    const char *rect = strstr(svg.data, "<title>[pipe] ([wait])");
    CHECK(rect && (rect = strstr(rect, "fill=\"hsl(")));
    CHECK(strtol(rect + strlen("fill=\"hsl("), NULL, 10) / 10 == 19 || strstr(rect, "fill=\"hsl(20") == rect);
    CHECK_EQ(encode_top(&p, 10, &top), 0);
    CHECK(strstr(top.data, "[pipe]") && strstr(top.data, "  [wait]\n"));
}

TEST(waits_keep_kernel_frames_without_names)
{
    AUTO_PROFILE struct profile p = {0};
    static const struct fixture_sample s[] = {
        {"a", 20, 0, XP_CAUSE_END, 5, 2, 1, {W_WAIT(0), W_KERNEL(0x50000), W_LEAF(2, 0x1010)}}};
    CHECK_EQ(fixture_profile(s, 1, &p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    buf_char(&b, 0);
    CHECK_STR(b.data, "a;main;[kernel]_[k];[other] 5\n");
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

/* A recording of cpu and off-CPU time: 3 waits of 4 s together, and one that goes on, 10 s until now. */
static int recording(bool waits_first, struct profile *p)
{
    static const struct event_kind off_cpu = {
        .name = "offcpu", .values = {{"off_cpu", "nanoseconds", NULL}}, .help = "time off a CPU"};
    const u8 waits = waits_first ? 0 : 1, cpu = !waits;
    const struct fixture_sample s[] = {
        {"a", 20, cpu, XP_CAUSE_END, 10000000, 0, 1, {W_LEAF(2, 0x1010)}},
        {"a", 20, waits, XP_CAUSE_END, 1000000000, 3, 1, {W_WAIT(0), SCHEDULE, PIPE, W_LEAF(2, 0x1010)}},
        {"a", 20, waits, XP_CAUSE_END, 1000000000, 3, 1, {W_WAIT(0), SCHEDULE, PIPE, W_LEAF(2, 0x1010)}},
        {"a", 20, waits, XP_CAUSE_NOT_TAKEN, 2000000000, 3, 0, {W_WAIT(0), SCHEDULE, FOLIO}},
        {"b", 30, waits, XP_CAUSE_END, 10000000000, 3, 1, {W_WAIT(0), SCHEDULE, DRIVER, W_LEAF(2, 0x1010)}},
    };
    int r = fixture_profile(s, COUNT(s), p);
    p->events[cpu] = event_kind_find("cpu");
    p->period[cpu] = 10000000;
    p->events[waits] = &off_cpu;
    p->period[waits] = 1;
    p->nevents = 2;
    for (size_t i = 0; i < p->stacks.n; i++)
        if (p->stacks.v[i].value[0] == 10000000000)
            p->stacks.v[i].count[0] = 0;
    return r;
}

TEST(waits_are_time_in_the_static_graph)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf svg = {0};
    CHECK_EQ(recording(true, &p), 0);
    CHECK_EQ(encoder_by_name("svg")->encode(&p, &svg), 0);
    CHECK(strstr(svg.data,
                 ">time off a CPU: 14.0 s in 3 samples over 2.00 s; 85.7 % of the stacks are whole, "
                 "most others were not taken</text>"));
    CHECK(strstr(svg.data, "<title>[pipe] ([wait])\n2.00 s, 14.29 %, 2 samples; self 2.00 s</title>"));
    CHECK(strstr(svg.data, "<title>[other: some_driver_wait] ([wait])\n10.0 s, 71.43 %, 0 samples; self 10.0 s<"));
}

TEST(waits_have_values_of_their_own)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf speedscope = {0}, top = {0}, pprof = {0};
    CHECK_EQ(recording(false, &p), 0);
    CHECK_EQ(encoder_by_name("speedscope")->encode(&p, &speedscope), 0);
    CHECK(strstr(speedscope.data,
                 "\"name\":\"offcpu\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":14000000000"));
    CHECK(strstr(speedscope.data, "\"weights\":[10000000]}"));
    CHECK_EQ(encode_pprof_plain(&p, false, &pprof), 0);
    CHECK(memmem(pprof.data, pprof.len, "\x12\x07\x00\x00\x80\xc8\xaf\xa0\x25", 9)); /* no sample, no CPU, 10 s */
    AUTO_PROFILE struct profile waits = {0};
    CHECK_EQ(recording(true, &waits), 0);
    CHECK_EQ(encode_top(&waits, 1, &top), 0);
    CHECK(strstr(top.data, " 71.43 %        10.0 s   71.43 %  [other: some_driver_wait]"));
}

TEST(waits_that_go_on_are_in_a_part_of_the_profile)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(recording(false, &p), 0);
    struct profile part;
    u32 rows[8];
    for (u32 i = 0; i < p.stacks.n; i++)
        rows[i] = i;
    CHECK_EQ(profile_init(&part), 0);
    CHECK_EQ(profile_subset(&p, &(struct subset){.stacks = rows, .n = p.stacks.n, .event = 1}, &part), 0);
    u64 sum = 0;
    for (size_t i = 0; i < part.stacks.n; i++)
        sum += part.stacks.v[i].value[0];
    CHECK_EQ(part.stacks.n, 3);
    CHECK_EQ(sum, 14000000000);
    profile_free(&part);
}
