/* Chunks, and what happens when there are too many. */
#include "timeline/story_test.h"
#include <stdlib.h>

static u32 next_random(u32 *seed)
{
    return *seed = *seed * 1664525u + 1013904223u;
}

static struct tl_event made_up(u32 *seed, u64 time, u32 current)
{
    struct tl_event e = {
        .type = (u8)(next_random(seed) >> 16) % 3 + 1, .time = time, .thread = next_random(seed) >> 12};
    e.other = next_random(seed) >> (e.thread % 32);
    e.running = (u16)(next_random(seed) >> 16);
    if (e.type == XP_TL_SWITCH) {
        e.flags = (next_random(seed) >> 16) & 15;
        e.thread = next_random(seed) & (1u << 20) ? current : e.thread;
        e.stack = e.flags & (XP_TL_RUNNABLE | XP_TL_DEAD) ? 0 : next_random(seed) >> 19;
        e.ran = e.thread == current ? 0 : next_random(seed);
    } else if (e.type == XP_TL_WAKING) {
        e.flags = next_random(seed) & (1u << 20) ? XP_TL_INTERRUPT : 0;
        e.running = 0;
    }
    return e;
}

TEST(timeline_chunks_keep_events_as_they_are)
{
    struct tl_chunk *c = calloc(1, sizeof(*c));
    struct tl_event *all = calloc(TL_CHUNK_BYTES, sizeof(*all)), e;
    size_t n = 0, at = 0;
    u32 seed = 1, current = 0;
    u64 time = 1000;
    CHECK(c && all);
    for (bool more = true; more; time += next_random(&seed) >> (seed % 32)) {
        all[n] = made_up(&seed, time, current);
        current = all[n].type == XP_TL_SWITCH ? all[n].other : current;
        more = chunk_add(c, &all[n]);
        n += more;
    }
    CHECK(n > 500 && c->used <= TL_CHUNK_BYTES);
    for (struct tl_cursor cursor = chunk_start(c, 0); chunk_next(&cursor, true, &e); at++)
        CHECK(at < n && !memcmp(&e, &all[at], sizeof(e)));
    CHECK_EQ(at, n);
    free(all);
    free(c);
}

struct sums {
    u64 ran, slices, last;
    bool disorder;
};
static void add(void *ctx, const struct tl_slice *s)
{
    struct sums *sums = ctx;
    sums->ran += s->doing == TL_RUNNING ? s->end - s->begin : 0;
    sums->slices++;
    sums->disorder |= s->begin > s->end;
}

TEST(timeline_the_oldest_goes_when_memory_is_used_up)
{
    struct tl_store *s = NULL;
    struct sums sums = {0};
    struct tl_visitor v = {.ctx = &sums, .slice = add};
    u64 us = 0;
    CHECK(!store_new(&s, 2, STORY_BEGIN, 256 << 10));
    story_thread(s, 10, 10, "a", true);
    story_thread(s, 11, 11, "b", false);
    store_all_listed(s);
    for (u32 i = 0; i < 100000; i++, us += 2)
        story_event(s, XP_TL_SWITCH, 0, us, i % 2 ? 11 : 10, i % 2 ? 10 : 11, XP_TL_RUNNABLE);
    struct tl_figures f = store_figures(s);
    CHECK_EQ(f.switches, 100000);
    CHECK(f.dropped > 1000 && f.dropped < 100000 && f.bytes <= 256 << 10);
    CHECK(!store_replay(s, STORY_BEGIN + us * 1000, &v));
    CHECK(store_machine(s)->begin > STORY_BEGIN && !sums.disorder);
    CHECK_EQ(sums.ran,
             STORY_BEGIN + us * 1000 - store_machine(s)->begin); /* one of the two, all the time that is left */
    store_free(&s);
}

TEST(timeline_threads_are_bounded)
{
    struct tl_store *s = NULL;
    CHECK(!store_new(&s, 1, STORY_BEGIN, 256 << 10));
    store_all_listed(s);
    for (u32 i = 1; i < 10000; i++)
        story_event(s, XP_TL_SWITCH, 0, i, i, i + 1, XP_TL_RUNNABLE);
    struct tl_figures f = store_figures(s);
    CHECK(f.left_out > 1000 && f.bytes <= 256 << 10);
    store_free(&s);
}

TEST(timeline_records_that_make_no_sense_are_left_out)
{
    struct tl_store *s = NULL;
    CHECK(!store_new(&s, 2, STORY_BEGIN, 1 << 20));
    story_event(s, XP_TL_SWITCH, 2, 1, 10, 11, 0);
    story_event(s, XP_TL_WAKEUP, 0, 1, 10, 2, 0);
    story_event(s, 77, 0, 1, 10, 11, 0);
    CHECK_EQ(store_figures(s).switches + store_figures(s).wakeups, 0);
    store_free(&s);
}

static void keep_begin(void *ctx, const struct tl_slice *slice)
{
    u64 *begins = ctx;
    begins[0]++;
    begins[1] = slice->begin;
}

/* Births are told from before the list on: who is born meanwhile, is in both. */
TEST(timeline_threads_that_are_born_while_all_are_listed_are_there_once)
{
    struct tl_store *s = NULL;
    struct xp_tl_listed l = {.task = {.tid = 13, .time = STORY_BEGIN + 30000}, .flags = XP_TL_RUNNABLE};
    u64 begins[2] = {0};
    CHECK(!store_new(&s, 1, STORY_BEGIN, 1 << 20));
    u32 row = store_thread(s, 13, l.task.time);
    store_listed(s, row, &l);
    store_all_listed(s);
    CHECK_EQ(store_born(s, 13, STORY_BEGIN + 20000), row);
    story_event(s, XP_TL_WAKEUP, 0, 21, 13, 0, 0);
    CHECK(!store_replay(s, STORY_END, &(struct tl_visitor){.ctx = begins, .slice = keep_begin}));
    CHECK_EQ(begins[0], 1);
    CHECK_EQ(begins[1], STORY_BEGIN + 21000);
    CHECK(store_born(s, 13, STORY_BEGIN + 40000) != row);
    store_free(&s);
}
