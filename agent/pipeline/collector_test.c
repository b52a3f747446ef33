/* The collector by itself: what it counts, what it hands to the worker, and what it does when there is no room. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "opener/hung.h"
#include "pipeline/collector_internal.h"
#include "pipeline/jobs_test.h"
#include "probe/fake_test.h"
#include "proc/proc.h"
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct desk {
    struct probe *probe;
    struct jobs jobs;
    struct hung *hung;
    struct openings *openings;
    struct collector *c;
};

static void desk_free(struct desk *d)
{
    collector_free(&d->c);
    openings_free(&d->openings);
    hung_free(&d->hung);
    jobs_free(&d->jobs);
    probe_free(&d->probe);
}
#define AUTO_DESK CLEANUP(desk_free) struct desk

static int desk_new(struct desk *d)
{
    char why[256];
    struct probe_config probe = {.table_bytes = 1 << 20, .events = {{.hz = 100, .time = true}}, .nevents = 1};
    int rc = probe_new(&d->probe, &probe, why, sizeof(why));
    rc = rc ? rc : jobs_new(&d->jobs);
    rc = rc ? rc : hung_new(&d->hung);
    rc = rc ? rc : openings_new(&d->openings, d->probe, &d->jobs, d->hung);
    struct collector_config c = {
        .probe = d->probe, .jobs = &d->jobs, .openings = d->openings, .hz = 100, .aggregate_bytes = 1 << 20};
    return rc ? rc : collector_new(&d->c, &c);
}
/* Polls, and waits until what was met is with the worker. */
static void poll_once(struct desk *d)
{
    collector_poll(d->c, 0);
    openings_settle(d->openings, now_ns() + 10 * NS_PER_SEC);
}
#define DESK                   \
    AUTO_DESK d = {.c = NULL}; \
    CHECK_EQ(desk_new(&d), 0)

struct sample {
    struct xp_sample s;
    u64 word;
};

static struct sample sample_at(u64 time, u8 cause)
{
    return (struct sample){.s = {.type = XP_RECORD_SAMPLE,
                                 .cpu = 1,
                                 .time = time,
                                 .weight = 1,
                                 .start = 1,
                                 .tgid = 5,
                                 .tid = 5,
                                 .comm = "x",
                                 .nuser = 1,
                                 .cause = cause},
                           .word = XP_FILE_WORD(XP_WORD_CFI, 7, 0x100)};
}

static void push_sample(struct desk *d, struct sample s)
{
    fake_push(d->probe, &s, sizeof(s));
}

static u64 counted(const struct desk *d)
{
    size_t n;
    u64 sum = 0;
    const struct agg_stack *all = aggregate_stacks(collector_stacks(d->c), &n);
    for (size_t i = 0; i < n; i++)
        sum += all[i].count[0];
    return sum;
}

/* ---- Dumps ---- */

static void push_dump(struct desk *d, u64 time, u32 cpu, u32 len, u32 nmaps)
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
static bool is_deferred(struct desk *d, u64 time, u64 dump_time, u32 cpu, u32 len, u32 nmaps)
{
    size_t waiting = jobs_waiting(&d->jobs);
    u64 before = counted(d);
    push_dump(d, dump_time, cpu, len, nmaps);
    struct sample s = sample_at(time, XP_CAUSE_PENDING);
    s.s.flags = XP_SAMPLE_DUMP;
    push_sample(d, s);
    poll_once(d);
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
    poll_once(&d);
    CHECK_EQ(counted(&d), 4);
    jobs_fill(&d.jobs, JOBS_MAX / 2);
    CHECK(is_deferred(&d, 8, 8, 1, 8, 1));
    CHECK(!is_deferred(&d, 9, 9, 1, 8, 1)); /* the other half is for files */
}

TEST(collector_counts_samples_by_how_their_stacks_end)
{
    DESK;
    struct collector_figures f;
    push_sample(&d, sample_at(1, XP_CAUSE_END));
    push_sample(&d, sample_at(2, XP_CAUSE_STACK_READ));
    push_sample(&d, sample_at(3, XP_CAUSE_KTHREAD));
    struct sample s = sample_at(4, XP_CAUSE_END);
    fake_push(d.probe, &s, sizeof(s) - 1);
    poll_once(&d);
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
        struct sample s = sample_at(i, XP_CAUSE_END);
        s.s.unwind_ns = times[i];
        push_sample(&d, s);
        s.s.unwind_ns = 0; /* not measured */
        push_sample(&d, s);
    }
    poll_once(&d);
    CHECK_EQ(collector_median_unwind(d.c), 300);
    CHECK_EQ(d.c->unwind_ns.n, 5);
}

/* ---- Time and rates ---- */

TEST(collector_looks_at_cpus_and_rate_once_a_second)
{
    DESK;
    collector_begin(d.c);
    collector_set_rate(d.c, 50);
    poll_once(&d);
    CHECK_EQ(fake_rescans(d.probe), 0);
    CHECK_EQ(collector_rate(d.c), 100);
    d.c->rescan_ns -= NS_PER_SEC + 1;
    poll_once(&d);
    CHECK_EQ(fake_rescans(d.probe), 1);
    CHECK_EQ(collector_rate(d.c), 50);
    collector_set_rate(d.c, 1);
    poll_once(&d);
    CHECK_EQ(fake_rescans(d.probe), 1);
    d.c->rescan_ns = 0;
    poll_once(&d);
    CHECK_EQ(collector_rate(d.c), 1);
    CHECK_EQ(fake_rate(d.probe), 1);
}

TEST(collector_spans_follow_one_another)
{
    DESK;
    u64 began = now_ns();
    collector_begin(d.c);
    push_sample(&d, sample_at(1, XP_CAUSE_END));
    poll_once(&d);
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

/* Puts jobs of no consequence until the lane of intervals has no room: one interval waits for the worker there. */
static void fill_lane(struct desk *d)
{
    struct job *j;
    jobs_fill(&d->jobs, JOBS_MAX);
    while (collector_rotate(d->c), j = job_new(JOB_GAP), !openings_put(d->openings, j))
        ;
    job_free(j);
}

TEST(collector_interval_goes_on_without_a_place_in_the_queue)
{
    DESK;
    collector_begin(d.c);
    fill_lane(&d);
    u64 began = d.c->span_ns;
    push_sample(&d, sample_at(1, XP_CAUSE_END));
    collector_poll(d.c, 0);
    CHECK_EQ(collector_rotate(d.c), 0);
    CHECK_EQ(d.c->span_ns, began);
    CHECK_EQ(counted(&d), 1);
    while (jobs_empty(&d.jobs), collector_rotate(d.c), counted(&d))
        usleep(1000);
}

/* It waits for a place with the worker, behind the files of its stacks. */
TEST(collector_hands_over_intervals)
{
    DESK;
    collector_begin(d.c);
    u64 began = d.c->span_ns;
    push_sample(&d, sample_at(1, XP_CAUSE_END));
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

/* ---- Announcements ---- */

/* A gap in that file. */
static void push_gap(struct desk *d, u32 file)
{
    struct sample s = sample_at(1, XP_CAUSE_NO_RULE);
    s.word = XP_FILE_WORD(XP_WORD_CFI, file, 0x100);
    push_sample(d, s);
}

static size_t gaps_of(struct desk *d, u32 file)
{
    size_t n = 0;
    poll_once(d);
    for (struct job *j; (j = jobs_get(&d->jobs, 0));) {
        n += j->kind == JOB_GAP && j->gap.file == file;
        job_free(j);
    }
    return n;
}

TEST(collector_announces_a_gap_once)
{
    DESK;
    push_gap(&d, 7);
    push_gap(&d, 7);
    push_gap(&d, 8);
    CHECK_EQ(gaps_of(&d, 7), 1);
    push_gap(&d, 7);
    CHECK_EQ(gaps_of(&d, 7), 0);
    jobs_fill(&d.jobs, JOBS_MAX);
    push_gap(&d, 9);
    CHECK_EQ(gaps_of(&d, 9), 0); /* there was no room */
    push_gap(&d, 9);
    CHECK_EQ(gaps_of(&d, 9), 1);
    for (u32 file = 1000; file < 1000 + 4096; file++) { /* more than are remembered */
        push_gap(&d, file);
        if (file % 64 == 0)
            CHECK_EQ(gaps_of(&d, file), 1);
    }
    jobs_empty(&d.jobs);
    push_gap(&d, 7);
    CHECK_EQ(gaps_of(&d, 7), 1);
}

static void push_runtime(struct desk *d, u32 tgid, u64 start)
{
    struct sample s = sample_at(1, XP_CAUSE_FP_ANON_END);
    s.s.tgid = tgid;
    s.s.start = start;
    s.word = 0x123460 | XP_WORD_EXACT;
    push_sample(d, s);
}

static size_t runtimes_of(struct desk *d)
{
    size_t n = 0;
    poll_once(d);
    for (struct job *j; (j = jobs_get(&d->jobs, 0));) {
        n += j->kind == JOB_RUNTIME;
        job_free(j);
    }
    return n;
}

/* A process with code of its own is opened once, if it is still the one that was sampled. */
TEST(collector_announces_a_process_once)
{
    DESK;
    u64 start = proc_start_ticks((u32)getpid()) * (NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
    push_runtime(&d, (u32)getpid(), start);
    push_runtime(&d, (u32)getpid(), start);
    CHECK_EQ(runtimes_of(&d), 1);
    push_runtime(&d, (u32)getpid(), start);
    push_runtime(&d, (u32)getpid(), start + 3600 * NS_PER_SEC);
    push_runtime(&d, 0x7fffffff, start);
    push_sample(&d, sample_at(1, XP_CAUSE_END)); /* nothing of the kind */
    CHECK_EQ(runtimes_of(&d), 0);
}

/* ---- Before sampling ---- */

struct built {
    u32 ids[8];
    size_t n;
};

static void build(void *ctx, struct job *j)
{
    struct built *b = ctx;
    if (b->n < 8)
        b->ids[b->n++] = j->file.event.id;
    job_free(j);
}

static void map_file(struct desk *d, u32 tgid, u32 file)
{
    struct xp_mapping m = {.tgid = tgid, .file = file, .start = 0x1000, .end = 0x2000};
    fake_map(d->probe, &m);
}

static void announce(struct desk *d, u32 file)
{
    struct xp_file_event e = {
        .type = XP_RECORD_FILE, .id = file, .tgid = 0x7fffffff, .magic = TMPFS_MAGIC, .key = {.ino = file}};
    fake_push(d->probe, &e, sizeof(e));
}

/* Takes some clock ticks of CPU time. */
static void be_busy(void)
{
    struct rusage u;
    do
        getrusage(RUSAGE_SELF, &u);
    while (u.ru_utime.tv_sec + u.ru_stime.tv_sec == 0 && u.ru_utime.tv_usec + u.ru_stime.tv_usec < 50000);
}

TEST(collector_prepares_files_of_busy_processes_first)
{
    DESK;
    struct built b = {.n = 0};
    be_busy();
    pid_t idle = fork();
    if (!idle) {
        pause();
        _exit(0);
    }
    map_file(&d, (u32)getpid(), 3);
    map_file(&d, (u32)getpid(), 2);
    map_file(&d, (u32)idle, 1);
    map_file(&d, (u32)idle, 3); /* of both */
    map_file(&d, (u32)idle, 0); /* none */
    for (u32 file = 1; file <= 4; file++)
        announce(&d, file);
    int rc = collector_prepare(d.c, build, &b, now_ns() + 60 * NS_PER_SEC);
    kill(idle, SIGKILL);
    waitpid(idle, NULL, 0);
    CHECK_EQ(rc, 0);
    CHECK_EQ(b.n, 4);
    CHECK(b.ids[0] + b.ids[1] == 2 + 3); /* in whichever order */
    CHECK(b.ids[2] + b.ids[3] == 1 + 4);
    CHECK_EQ(jobs_waiting(&d.jobs), 0);
    CHECK(!d.c->gathering && !d.c->gathered.n);
    announce(&d, 5); /* from now on the worker builds them */
    poll_once(&d);
    CHECK_EQ(jobs_waiting(&d.jobs), 1);
}

/* Who finds no place is forgotten, so that it is announced again. */
TEST(collector_forgets_files_without_a_place)
{
    DESK;
    struct built b = {.n = 0};
    struct collector_figures f;
    announce(&d, 1);
    announce(&d, 2);
    jobs_fill(&d.jobs, JOBS_MAX - 1);
    CHECK_EQ(collector_prepare(d.c, build, &b, 0), 0); /* too late to build any */
    CHECK_EQ(b.n, 0);
    poll_once(&d);
    CHECK_EQ(jobs_waiting(&d.jobs), JOBS_MAX);
    CHECK_EQ(fake_forgotten(d.probe), 1);
    collector_poll(d.c, 0);
    collector_figures(d.c, &f);
    CHECK_EQ(f.queue_full, 1);
}
