/* What a sample tells the worker about. */
#include "base/clock.h"
#include "base/test.h"
#include "pipeline/collector_test.h"
#include "pipeline/jobs_test.h"
#include "proc/proc.h"
#include <unistd.h>

/* A gap in that file. */
static void push_gap(struct collector_desk *d, u32 file)
{
    struct collector_sample s = collector_sample_at(1, XP_CAUSE_NO_RULE);
    s.word = XP_FILE_WORD(XP_WORD_CFI, file, 0x100);
    collector_desk_push(d, s);
}

static size_t gaps_of(struct collector_desk *d, u32 file)
{
    size_t n = 0;
    collector_desk_poll(d);
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

static void push_runtime(struct collector_desk *d, u32 tgid, u64 start)
{
    struct collector_sample s = collector_sample_at(1, XP_CAUSE_FP_ANON_END);
    s.s.tgid = tgid;
    s.s.start = start;
    s.word = 0x123460 | XP_WORD_EXACT;
    collector_desk_push(d, s);
}

static size_t runtimes_of(struct collector_desk *d)
{
    size_t n = 0;
    collector_desk_poll(d);
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
    collector_desk_push(&d, collector_sample_at(1, XP_CAUSE_END)); /* nothing of the kind */
    CHECK_EQ(runtimes_of(&d), 0);
}

/* Whether a sample makes the process be reported for its generated code. */
static bool is_reported(struct collector_desk *d, u64 time, u8 cause, u8 flags, u64 word)
{
    struct collector_sample s = collector_sample_at(time, cause);
    s.s.tgid = 0x7fffffff; /* nobody, who is not read */
    s.s.flags = flags;
    s.word = word;
    collector_desk_push(d, s);
    collector_desk_poll(d);
    for (size_t i = 0; i < d->c->code_seen.cap; i++)
        if (d->c->code_seen.slots[i].used && d->c->code_seen.slots[i].value == time)
            return true;
    return false;
}

/* Only where frames of no file had to be unwound without rows, and not all the time. */
TEST(collector_reports_generated_code_without_rows)
{
    DESK;
    u64 anon = 0x123460 | XP_WORD_EXACT, file = XP_FILE_WORD(XP_WORD_CFI, 7, 0x100), t = NS_PER_SEC;
    CHECK(!is_reported(&d, t, XP_CAUSE_END, 0, anon));
    CHECK(!is_reported(&d, t, XP_CAUSE_END, XP_SAMPLE_FP_USED, file));
    CHECK(is_reported(&d, t, XP_CAUSE_FP_ANON, 0, anon));
    CHECK(!is_reported(&d, t + 40000000, XP_CAUSE_FP_ANON, 0, anon));
    CHECK(is_reported(&d, t + 100000000, XP_CAUSE_FP_ANON_END, 0, anon));
    CHECK(is_reported(&d, t + 200000000, XP_CAUSE_END, XP_SAMPLE_FP_USED, anon));
    CHECK(is_reported(&d, t + 300000000, XP_CAUSE_END, XP_SAMPLE_RUNTIME, file));
}
