/* Waits as the collector gets them: stacks out of the ring, sums at the end of an interval. */
#include "base/clock.h"
#include "base/test.h"
#include "pipeline/collector_test.h"
#include <stdlib.h>

#define KEY 77

static void push_stack(struct collector_desk *d, u64 time, u8 flags)
{
    struct collector_sample s = collector_sample_at(time, XP_CAUSE_END);
    s.s.type = XP_RECORD_STACK;
    s.s.weight = KEY;
    s.s.flags = flags;
    collector_desk_push(d, s);
}

static void add_sum(struct collector_desk *d, u64 count, u64 ns)
{
    struct probe_wait w = {.key = {.user = KEY, .flags = XP_WAIT_IO}, .sum = {count, ns}};
    fake_wait(d->probe, &w);
}

/* The only stack of the interval that ends; *span is owned. */
static const struct agg_stack *only(struct collector_desk *d, struct span *span)
{
    size_t n;
    *span = collector_take_span(d->c);
    const struct agg_stack *s = span->stacks ? aggregate_stacks(span->stacks, &n) : NULL;
    return s && n == 1 ? s : NULL;
}

TEST(collector_joins_waits_with_their_stacks)
{
    DESK;
    struct span span;
    push_stack(&d, 1, 0);
    collector_desk_poll(&d);
    add_sum(&d, 3, 5000);
    const struct agg_stack *s = only(&d, &span);
    CHECK(s && s->event == 1 && s->values[0].count == 3 && s->values[0].value == 5000);
    CHECK(s->nkernel == 1 && s->words[0] == XP_WAIT_WORD(XP_WAIT_IO, 1) && s->nuser == 1);
    CHECK_EQ(s->cause, XP_CAUSE_END);
    CHECK_EQ(d.c->own.waits, 3);
    aggregate_free(&span.stacks);
    add_sum(&d, 0, 700); /* it goes on */
    s = only(&d, &span);
    CHECK(s && s->values[0].count == 0 && s->values[0].value == 700);
    aggregate_free(&span.stacks);
}

/* It is complete once the worker has unwound it. */
TEST(collector_has_stacks_of_waits_unwound)
{
    DESK;
    struct span span;
    struct xp_dump *dump = calloc(1, sizeof(*dump));
    dump->type = XP_RECORD_DUMP;
    dump->cpu = 1;
    dump->time = 1;
    fake_push(d.probe, dump, sizeof(*dump));
    free(dump);
    push_stack(&d, 1, XP_SAMPLE_DUMP);
    collector_desk_poll(&d);
    struct job *j = jobs_get(&d.jobs, 0);
    CHECK(j && j->kind == JOB_DEFERRED && j->deferred.sample->type == XP_RECORD_STACK);
    CHECK_EQ(waits_open(&d.c->waits), 1);
    j->deferred.sample->cause = XP_CAUSE_END_FP; /* as if it were another one now */
    jobs_return_stack(&d.jobs, TAKE_PTR(j->deferred.sample));
    job_free(j);
    add_sum(&d, 1, 5000);
    const struct agg_stack *s = only(&d, &span);
    CHECK(s && s->cause == XP_CAUSE_END_FP);
    CHECK_EQ(waits_open(&d.c->waits), 0);
    aggregate_free(&span.stacks);
}

/* What cannot be read is said to be missing. */
TEST(collector_counts_sleepers_without_a_stack)
{
    DESK;
    struct span span;
    struct xp_sleeper z = {.key = KEY, .start = 1, .tgid = 0x7ffffffe, .tid = 0x7ffffffe, .comm = "gone"};
    fake_sleeper(d.probe, &z);
    CHECK(!only(&d, &span));
    aggregate_free(&span.stacks);
    collector_desk_poll(&d);
    add_sum(&d, 1, 5000);
    const struct agg_stack *s = only(&d, &span);
    CHECK(s && s->cause == XP_CAUSE_NOT_TAKEN && s->nuser == 0 && s->values[0].value == 5000);
    CHECK_EQ(waits_open(&d.c->waits), 0);
    aggregate_free(&span.stacks);
}

TEST(collector_counts_waits_that_belong_to_nobody)
{
    DESK;
    struct span span;
    add_sum(&d, 4, 5000);
    CHECK(!only(&d, &span));
    CHECK_EQ(d.c->own.waits_lost, 4);
    aggregate_free(&span.stacks);
}

/* The kernel side has room for so many distinct stacks of an interval: it is emptied before they are there. */
TEST(collector_looks_earlier_where_there_are_many_stacks)
{
    DESK;
    const unsigned many = XP_MAX_SUMS / 4;
    for (unsigned i = 0; i < many; i++) {
        d.c->waits_ns = d.c->rescan_ns = now_ns() - NS_PER_SEC / 2;
        if (i + 1 == many)
            add_sum(&d, 3, 5000);
        push_stack(&d, i + 1, 0);
        collector_poll(d.c, 0);
        CHECK_EQ(d.c->own.waits, i + 1 == many ? 3 : 0);
    }
    CHECK_EQ(d.c->told, 0);
}
