/* Kinds one of whose values is what is left: it is kept beyond the end of an interval, and never less than nothing. */
#include "base/cleanup.h"
#include "base/test.h"
#include "pipeline/waits.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT = 3 };
static const struct wait_events EVENTS = {-1, -1, -1, -1, 1u << EVENT, 0, 0};

static void keep(struct waits *w, u64 key, u32 tgid)
{
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 8);
    if (!s)
        return;
    s->weight = key;
    s->tgid = tgid;
    s->nuser = 1;
    s->words[0] = key;
    waits_keep(w, s, false);
}

struct totals { /* of a profile interval */
    struct xp_amount all, left;
    u64 samples;
};

static void add(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
    struct totals *t = ctx;
    CHECK(s->event == EVENT && n == XP_MAX_VALUES);
    t->all.count += values[0].count;
    t->all.value += values[0].value;
    t->left.count += values[1].count;
    t->left.value += values[1].value;
    t->samples += s->count;
}

static void take(struct waits *w, u64 key, struct xp_amount got, struct xp_amount gone, struct totals *t)
{
    struct probe_sum sum = {.key = {.stack = key}, .sum.of = {got, gone}, .event = EVENT};
    struct probe_waits rows = {.kinds = {.v = &sum, .n = key != 0, .cap = 1}};
    CHECK_EQ(waits_take(w, &rows, &EVENTS, add, t), 0);
}

#define AMOUNT(c, v) ((struct xp_amount){c, v})

TEST(levels_are_what_came_less_what_went)
{
    CLEANUP(waits_free) struct waits w;
    struct totals t = {0};
    waits_init(&w);
    keep(&w, 11, 42);
    take(&w, 11, AMOUNT(5, 500), AMOUNT(2, 150), &t);
    CHECK(t.left.count == 3 && t.left.value == 350 && t.samples == 5);
    take(&w, 11, AMOUNT(1, 50), AMOUNT(4, 400), &t);
    CHECK(t.all.count == 6 && t.all.value == 550 && !t.left.count && !t.left.value);
    CHECK_EQ(w.lost, 0);
}

TEST(levels_are_never_below_nothing)
{
    CLEANUP(waits_free) struct waits w;
    struct totals t = {0};
    waits_init(&w);
    keep(&w, 11, 42);
    take(&w, 11, AMOUNT(1, 10), AMOUNT(3, 90), &t);
    CHECK(!t.left.count && !t.left.value);
    CHECK_EQ(w.lost, 2);
}

static bool odd_ones_live(u32 tgid)
{
    return tgid & 1;
}

TEST(levels_outlive_intervals_and_end_with_their_process)
{
    CLEANUP(waits_free) struct waits w;
    struct totals t = {0}, next = {0}, last = {0};
    waits_init(&w);
    keep(&w, 11, 41);
    keep(&w, 12, 42);
    take(&w, 11, AMOUNT(2, 20), AMOUNT(0, 0), &t);
    take(&w, 12, AMOUNT(3, 30), AMOUNT(0, 0), &t);
    for (unsigned i = 0; i < 4; i++) /* nobody refers to them */
        take(&w, 0, AMOUNT(0, 0), AMOUNT(0, 0), &t);
    CHECK_EQ(w.stacks.n, 2);
    CHECK_EQ(waits_carry(&w, odd_ones_live, add, &next), 0);
    CHECK(next.left.count == 2 && next.left.value == 20 && !next.samples && !next.all.count);
    take(&w, 11, AMOUNT(0, 0), AMOUNT(2, 20), &next);
    CHECK(!next.left.count && !next.left.value);
    CHECK_EQ(waits_carry(&w, odd_ones_live, add, &last), 0);
    CHECK(!last.left.count);
    for (unsigned i = 0; i < 4; i++)
        take(&w, 0, AMOUNT(0, 0), AMOUNT(0, 0), &t);
    CHECK_EQ(w.stacks.n, 0);
}

/* Values of a kind that has what became of it in the first two, and what came in the third. */
static const struct wait_events OPEN = {-1, -1, -1, -1, 0, 1u << EVENT, 0};

struct decided {
    u64 used, unused, open;
};

static void add_decided(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
    struct decided *d = ctx;
    CHECK(s->event == EVENT && n == XP_MAX_VALUES);
    d->used += values[0].value;
    d->unused += values[1].value;
    d->open += values[2].value;
}

static void decide(struct waits *w, u64 used, u64 unused, u64 came, struct decided *d)
{
    struct probe_sum sum = {.key = {.stack = 11}, .event = EVENT};
    struct probe_waits rows = {.kinds = {.v = &sum, .n = 1, .cap = 1}};
    sum.sum.of[0] = AMOUNT(used, used);
    sum.sum.of[1] = AMOUNT(unused, unused);
    sum.sum.of[2] = AMOUNT(came, came);
    CHECK_EQ(waits_take(w, &rows, &OPEN, add_decided, d), 0);
}

TEST(levels_may_be_what_is_not_decided_yet)
{
    CLEANUP(waits_free) struct waits w;
    struct decided d = {0}, next = {0};
    waits_init(&w);
    keep(&w, 11, 41);
    decide(&w, 10, 0, 32, &d);
    CHECK(d.used == 10 && d.open == 22);
    decide(&w, 4, 8, 0, &d);
    CHECK(d.used == 14 && d.unused == 8 && d.open == 10); /* together what came */
    CHECK_EQ(waits_carry(&w, odd_ones_live, add_decided, &next), 0);
    CHECK(!next.used && next.open == 10);
    decide(&w, 10, 0, 0, &next);
    CHECK(next.used == 10 && !next.open);
    CHECK_EQ(w.lost, 0);
}

TEST(levels_of_ended_processes_may_be_decided_without_a_loss)
{
    CLEANUP(waits_free) struct waits w;
    struct decided d = {0};
    waits_init(&w);
    keep(&w, 11, 42);
    decide(&w, 0, 0, 5, &d);
    CHECK_EQ(waits_carry(&w, odd_ones_live, add_decided, &d), 0);
    decide(&w, 0, 3, 0, &d);
    CHECK(d.unused == 3 && d.open == 5);
    CHECK_EQ(w.lost, 0);
}

/* Memory of the kernel is freed when its process has ended, by others. */
TEST(levels_of_what_outlives_processes_end_without_a_loss)
{
    static const struct wait_events lent = {-1, -1, -1, -1, 1u << EVENT, 0, 1u << EVENT};
    CLEANUP(waits_free) struct waits w;
    struct totals t = {0};
    struct probe_sum sum = {.key = {.stack = 11}, .sum.of = {AMOUNT(4, 400)}, .event = EVENT};
    struct probe_waits rows = {.kinds = {.v = &sum, .n = 1, .cap = 1}};
    waits_init(&w);
    keep(&w, 11, 42);
    CHECK_EQ(waits_take(&w, &rows, &lent, add, &t), 0);
    CHECK(t.left.count == 4 && t.left.value == 400);
    CHECK_EQ(waits_carry(&w, odd_ones_live, add, &t), 0);
    sum.sum = (struct xp_sum){.of = {[1] = AMOUNT(3, 300)}};
    CHECK_EQ(waits_take(&w, &rows, &lent, add, &t), 0);
    sum.key.stack = 12; /* of which nothing is known any longer */
    CHECK_EQ(waits_take(&w, &rows, &lent, add, &t), 0);
    CHECK_EQ(w.lost, 0);
    sum.sum.of[0] = AMOUNT(2, 200); /* what came is lost */
    CHECK_EQ(waits_take(&w, &rows, &lent, add, &t), 0);
    CHECK_EQ(w.lost, 2);
}

static void add_third(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
    u64 *sum = ctx;
    CHECK(s->event == EVENT && (s->tgid | 3) == 43 && n == XP_MAX_VALUES && !values[0].value && !s->count);
    *sum += values[2].value;
}

TEST(waits_add_values_to_stacks_that_they_know)
{
    CLEANUP(waits_free) struct waits w;
    const struct xp_amount values[XP_MAX_VALUES] = {[2] = {1, 100}};
    u64 sum = 0;
    waits_init(&w);
    keep(&w, 11, 42);
    CHECK_EQ(waits_add(&w, 11, EVENT, values, add_third, &sum), 0);
    CHECK_EQ(waits_add(&w, 12, EVENT, values, add_third, &sum), -ENODATA);
    CHECK_EQ(sum, 100);
}

static void keep_always(struct waits *w, u64 key, u32 tgid)
{
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 8);
    if (!s)
        return;
    *s = (struct xp_sample){.weight = key, .tgid = tgid, .nuser = 1, .flags = XP_SAMPLE_KEPT};
    waits_keep(w, s, false);
}

TEST(waits_keep_stacks_that_others_may_refer_to)
{
    CLEANUP(waits_free) struct waits w;
    struct totals t = {0};
    waits_init(&w);
    keep(&w, 11, 41);
    keep_always(&w, 12, 41);
    keep(&w, 13, 41);
    keep_always(&w, 13, 41); /* told by two kinds */
    for (unsigned i = 0; i < 4; i++)
        take(&w, 0, AMOUNT(0, 0), AMOUNT(0, 0), &t);
    CHECK(w.stacks.n == 2 && !waits_add(&w, 12, EVENT, (struct xp_amount[XP_MAX_VALUES]){{0}}, add_third, &t.samples));
}

TEST(waits_keep_stacks_as_long_as_their_processes_live)
{
    CLEANUP(waits_free) struct waits w;
    struct totals t = {0};
    waits_init(&w);
    keep_always(&w, 11, 41);
    keep_always(&w, 12, 42);
    CHECK_EQ(waits_carry(&w, odd_ones_live, add, &t), 0);
    for (unsigned i = 0; i < 4; i++)
        take(&w, 0, AMOUNT(0, 0), AMOUNT(0, 0), &t);
    CHECK(w.stacks.n == 1 && !waits_add(&w, 11, EVENT, (struct xp_amount[XP_MAX_VALUES]){{0}}, add_third, &t.samples));
}
