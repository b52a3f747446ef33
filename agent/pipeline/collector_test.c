/* The collector by itself: what it counts, what it hands to the worker, and what it does when there is no room. */
#include "base/clock.h"
#include "base/test.h"
#include "pipeline/collector_test.h"
#include "pipeline/jobs_test.h"
#include <stdlib.h>
#include <unistd.h>

static u64 counted(const struct collector_desk *d)
{
    size_t n;
    u64 sum = 0;
    const struct agg_stack *all = aggregate_stacks(collector_stacks(d->c), &n);
    for (size_t i = 0; i < n; i++)
        sum += all[i].values[0].count;
    return sum;
}

/* ---- Dumps ---- */

static void push_dump(struct collector_desk *d, u64 time, u32 cpu, u32 len, u32 nmaps)
{
    struct xp_dump *dump = calloc(1, sizeof(*dump));
    dump->type = XP_RECORD_DUMP;
    dump->cpu = cpu;
    dump->time = time;
    dump->len = len;
    dump->nmaps = nmaps;
    fake_push(d->probe, dump, sizeof(*dump));
    free(dump);
}

/* The sample behind it on the same CPU. Is it handed to the worker? */
static bool is_deferred(struct collector_desk *d, u64 time, u64 dump_time, u32 cpu, u32 len, u32 nmaps)
{
    size_t waiting = jobs_waiting(&d->jobs);
    u64 before = counted(d);
    push_dump(d, dump_time, cpu, len, nmaps);
    struct collector_sample s = collector_sample_at(time, XP_CAUSE_PENDING);
    s.s.flags = XP_SAMPLE_DUMP;
    collector_desk_push(d, s);
    collector_desk_poll(d);
    bool handed = jobs_waiting(&d->jobs) == waiting + 1;
    return handed != (counted(d) == before + 1) ? handed : !handed;
}

TEST(collector_defers_samples_with_their_dumps)
{
    DESK;
    CHECK(is_deferred(&d, 1, 1, 1, XP_DUMP_BYTES, XP_DUMP_MAPS));
    struct job *j = jobs_get(&d.jobs, 0);
    CHECK(j && j->kind == JOB_DEFERRED && j->deferred.sample->time == 1 && j->deferred.dump->time == 1);
    job_free(j);
    CHECK(d.c->postponed_ns > 0 && d.c->postponed_ns <= now_ns());
    CHECK(!is_deferred(&d, 2, 3, 1, 8, 1)); /* another sample's */
    CHECK(!is_deferred(&d, 4, 4, 2, 8, 1)); /* another CPU's */
    CHECK(!is_deferred(&d, 5, 5, 1, XP_DUMP_BYTES + 1, 1));
    CHECK(!is_deferred(&d, 6, 6, 1, 8, XP_DUMP_MAPS + 1));
    push_dump(&d, 7, 4, 8, 1); /* there are four CPUs */
    collector_desk_poll(&d);
    CHECK_EQ(counted(&d), 4);
    jobs_fill(&d.jobs, JOBS_MAX / 2);
    CHECK(is_deferred(&d, 8, 8, 1, 8, 1));
    CHECK(!is_deferred(&d, 9, 9, 1, 8, 1)); /* the other half is for files */
}

TEST(collector_counts_samples_by_how_their_stacks_end)
{
    DESK;
    struct collector_figures f;
    collector_desk_push(&d, collector_sample_at(1, XP_CAUSE_END));
    collector_desk_push(&d, collector_sample_at(2, XP_CAUSE_STACK_READ));
    collector_desk_push(&d, collector_sample_at(3, XP_CAUSE_KTHREAD));
    struct collector_sample s = collector_sample_at(4, XP_CAUSE_END);
    fake_push(d.probe, &s, sizeof(s) - 1);
    collector_desk_poll(&d);
    collector_figures(d.c, &f);
    CHECK(f.seen == 3 && f.user == 2 && f.complete == 1 && f.malformed == 1 && f.queue_full == 0 && f.dropped == 0);
    CHECK_EQ(counted(&d), 3);
}

TEST(collector_median_of_unwinding)
{
    DESK;
    CHECK_EQ(collector_median_unwind(d.c), 0);
    const u32 times[] = {400, 100, 300, 200, 500};
    for (size_t i = 0; i < 5; i++) {
        struct collector_sample s = collector_sample_at(i, XP_CAUSE_END);
        s.s.unwind_ns = times[i];
        collector_desk_push(&d, s);
        s.s.unwind_ns = 0; /* not measured */
        collector_desk_push(&d, s);
    }
    collector_desk_poll(&d);
    CHECK_EQ(collector_median_unwind(d.c), 300);
    CHECK_EQ(d.c->unwind_ns.n, 5);
}

/* ---- Time and rates ---- */

TEST(collector_looks_at_cpus_and_rate_once_a_second)
{
    DESK;
    collector_begin(d.c);
    collector_set_rate(d.c, 50);
    collector_desk_poll(&d);
    CHECK_EQ(fake_rescans(d.probe), 0);
    CHECK_EQ(collector_rate(d.c), 100);
    d.c->rescan_ns -= NS_PER_SEC + 1;
    collector_desk_poll(&d);
    CHECK_EQ(fake_rescans(d.probe), 1);
    CHECK_EQ(collector_rate(d.c), 50);
    collector_set_rate(d.c, 1);
    collector_desk_poll(&d);
    CHECK_EQ(fake_rescans(d.probe), 1);
    d.c->rescan_ns = 0;
    collector_desk_poll(&d);
    CHECK_EQ(collector_rate(d.c), 1);
    CHECK_EQ(fake_rate(d.probe), 1);
}

TEST(collector_spans_follow_one_another)
{
    DESK;
    u64 began = now_ns();
    collector_begin(d.c);
    collector_desk_push(&d, collector_sample_at(1, XP_CAUSE_END));
    collector_desk_poll(&d);
    struct span first = collector_take_span(d.c), second = collector_take_span(d.c);
    u64 passed = now_ns() - began, wall = clock_ns(CLOCK_REALTIME);
    size_t n;
    CHECK(first.stacks && second.stacks);
    aggregate_stacks(first.stacks, &n);
    CHECK_EQ(n, 1);
    aggregate_stacks(second.stacks, &n);
    CHECK_EQ(n, 0);
    aggregate_free(&first.stacks);
    aggregate_free(&second.stacks);
    CHECK(first.duration_ns > 0 && first.duration_ns + second.duration_ns <= passed);
    CHECK(first.hz == 100 && second.hz == 100);
    CHECK(first.time_ns <= wall - passed + first.duration_ns + NS_PER_SEC);
    CHECK(first.time_ns < second.time_ns + passed); /* other programs may run between the readings of two clocks */
}

/* The lane of intervals has no room afterwards, and gets none: its thread holds an interval that waits for the worker.
 */
static void fill_lane(struct collector_desk *d)
{
    jobs_fill(&d->jobs, JOBS_MAX);
    collector_rotate(d->c);
    for (size_t n = 0; n < OPENINGS_MAX;) { /* as many fit behind the interval only when the thread has taken it */
        struct job *j = job_new(JOB_GAP);
        if (!openings_put(d->openings, j)) {
            n++;
        } else {
            job_free(j);
            usleep(1000);
        }
    }
}

TEST(collector_interval_goes_on_without_a_place_in_the_queue)
{
    DESK;
    collector_begin(d.c);
    fill_lane(&d);
    u64 began = d.c->span_ns;
    collector_desk_push(&d, collector_sample_at(1, XP_CAUSE_END));
    collector_poll(d.c, 0);
    CHECK_EQ(collector_rotate(d.c), 0);
    CHECK_EQ(d.c->span_ns, began);
    CHECK_EQ(counted(&d), 1);
    while (jobs_empty(&d.jobs), collector_rotate(d.c), counted(&d))
        usleep(1000);
}

static void nothing(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
}

/* What is left of an interval is part of the next one, and of no other. */
TEST(collector_counts_levels_once)
{
    DESK;
    const struct wait_events events = {-1, -1, -1, -1, 1, 0, 0};
    struct probe_sum sum = {.key = {.stack = 77}, .sum.of = {{1, 100}}};
    struct probe_waits rows = {.kinds = {.v = &sum, .n = 1, .cap = 1}};
    AUTO_FREE struct xp_sample *stack = calloc(1, sizeof(*stack) + 8);
    size_t n;
    CHECK(stack);
    *stack = (struct xp_sample){.weight = 77, .tgid = (u32)getpid(), .nuser = 1};
    collector_begin(d.c);
    fill_lane(&d);
    waits_keep(&d.c->waits, stack, false);
    CHECK_EQ(waits_take(&d.c->waits, &rows, &events, nothing, NULL), 0);
    CHECK_EQ(collector_rotate(d.c), 0);
    aggregate_stacks(d.c->live, &n);
    CHECK_EQ(n, 0); /* the interval goes on */
    while (jobs_empty(&d.jobs), collector_rotate(d.c), aggregate_stacks(d.c->live, &n), n != 1)
        usleep(1000);
}

/* It waits for a place with the worker, behind the files of its stacks. */
TEST(collector_hands_over_intervals)
{
    DESK;
    collector_begin(d.c);
    u64 began = d.c->span_ns;
    collector_desk_push(&d, collector_sample_at(1, XP_CAUSE_END));
    collector_poll(d.c, 0);
    jobs_fill(&d.jobs, JOBS_MAX);
    CHECK_EQ(collector_rotate(d.c), 0);
    CHECK_EQ(counted(&d), 0);
    struct job *j;
    while ((j = jobs_get(&d.jobs, 10000)) && j->kind != JOB_SPAN)
        job_free(j);
    CHECK(j && j->kind == JOB_SPAN && j->span.stacks);
    CHECK(j->span.duration_ns <= now_ns() - began);
    job_free(j);
}
