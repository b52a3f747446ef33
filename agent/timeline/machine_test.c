/* What threads and CPUs do, as events say it, also where some are missing. */
#include "timeline/story_test.h"
#include "base/buf.h"

static const char LETTERS[] = {'?', 'r', 'q', 'b', 'x'};

static void on_slice(void *ctx, const struct tl_slice *s)
{
    buf_printf(ctx, "%u%c%llu-%llu ", s->thread, LETTERS[s->doing], (unsigned long long)(s->begin - STORY_BEGIN) / 1000,
               (unsigned long long)(s->end - STORY_BEGIN) / 1000);
    if (s->from >= 0)
        buf_printf(ctx, "from%d ", s->from);
}
static void on_wake(void *ctx, const struct tl_wake *w)
{
    buf_printf(ctx, "%u>%u%s ", w->waker, w->thread, w->interrupt ? "!" : "");
}
static void on_run(void *ctx, u32 cpu, u32 thread, u64 begin, u64 end)
{
    buf_printf(ctx, "cpu%u:%u:%llu ", cpu, thread, (unsigned long long)(end - begin) / 1000);
}

static const char *told(const struct tl_store *s, struct buf *out, bool cpus)
{
    struct tl_visitor v = {out, on_slice, on_wake, cpus ? on_run : NULL, NULL};
    out->len = 0;
    return store_replay(s, STORY_END, &v) || !out->data ? "" : out->data;
}

TEST(timeline_tells_who_ran_waited_and_woke_up_whom)
{
    AUTO_BUF struct buf out = {0};
    struct tl_store *s = story();
    CHECK(s);
    CHECK_STR(told(s, &out, true),
              "2b0-16 1>2 cpu0:1:20 1r0-20 2q16-20 1b20-51 0>1! 1q51-60 cpu1:1:30 1r60-90 from0 "
              "2r20-100 3b0-100 cpu0:2:80 ");
    store_free(&s);
}

TEST(timeline_a_switch_without_a_word_is_found_by_the_time_that_the_thread_ran)
{
    AUTO_BUF struct buf out = {0};
    struct tl_store *s = NULL;
    CHECK(!store_new(&s, 1, STORY_BEGIN, 1 << 20));
    story_thread(s, 10, 10, "a", true);
    story_thread(s, 11, 11, "b", false);
    story_thread(s, 12, 12, "c", false);
    store_all_listed(s);
    story_event(s, XP_TL_WAKEUP, 0, 10, 11, 0, 0);
    story_event(s, XP_TL_WAKEUP, 0, 10, 12, 0, 0);
    story_event(s, XP_TL_SWITCH, 0, 20, 10, 11, XP_TL_RUNNABLE);
    struct xp_tl_event e = {.type = XP_TL_SWITCH, .time = STORY_BEGIN + 50000, .thread = 12, .other = 10, .ran = 20000};
    store_event(s, &e); /* from 11 to 12 at 30 us: nobody said so */
    story_event(s, XP_TL_SWITCH, 0, 60, 10, 11, XP_TL_RUNNABLE);
    told(s, &out, true); /* CPU 0 has a thread all the time */
    CHECK(strstr(out.data, "cpu0:1:20 ") && strstr(out.data, "cpu0:2:10 ") && strstr(out.data, "cpu0:3:20 "));
    CHECK_STR(told(s, &out, false),
              "2b0-10 0>2 3b0-10 0>3 1r0-20 2q10-20 2r20-30 3q10-30 3r30-50 1q20-50 1r50-60 "
              "2q30-60 1q60-100 2r60-100 3b50-100 ");
    store_free(&s);
}

/* Its arrival was before anything was seen of that CPU. */
TEST(timeline_has_no_gap_where_a_thread_leaves_that_nobody_saw_arrive)
{
    AUTO_BUF struct buf out = {0};
    struct tl_store *s = NULL;
    CHECK(!store_new(&s, 2, STORY_BEGIN, 1 << 20));
    story_thread(s, 10, 10, "a", false);
    store_all_listed(s);
    story_event(s, XP_TL_WAKEUP, 0, 12, 10, 1, 0);
    struct xp_tl_event e = {.type = XP_TL_SWITCH, .cpu = 1, .time = STORY_BEGIN + 20000, .thread = 10, .ran = 3000};
    e.flags = XP_TL_RUNNABLE;
    store_event(s, &e);
    CHECK_STR(told(s, &out, true), "1b0-12 0>1 1q12-17 cpu1:1:3 1r17-20 1q20-100 ");
    store_free(&s);
}

TEST(timeline_a_thread_id_may_be_anothers_later)
{
    AUTO_BUF struct buf out = {0};
    struct tl_store *s = NULL;
    CHECK(!store_new(&s, 1, STORY_BEGIN, 1 << 20));
    story_thread(s, 10, 10, "first", true);
    store_all_listed(s);
    story_event(s, XP_TL_SWITCH, 0, 20, 10, 0, XP_TL_DEAD);
    u32 row = store_born(s, 10, STORY_BEGIN + 30000);
    story_event(s, XP_TL_WAKING, 0, 31, 10, 0, 0);
    story_event(s, XP_TL_WAKEUP, 0, 32, 10, 0, 0);
    story_event(s, XP_TL_SWITCH, 0, 40, 0, 10, 0);
    CHECK_EQ(row, 2);
    CHECK_STR(told(s, &out, false), "1r0-20 0>2 2q32-40 2r40-100 ");
    store_free(&s);
}
