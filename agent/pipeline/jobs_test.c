/* The queue by itself: what it holds, when it is full, and how its memory for copies of stacks is divided. */
#include "pipeline/jobs_test.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE                                  \
    CLEANUP(jobs_free) struct jobs jobs = {0}; \
    CHECK_EQ(jobs_new(&jobs), 0)

void jobs_fill(struct jobs *jobs, size_t n)
{
    while (jobs_waiting(jobs) < n) {
        struct job *j = job_new(JOB_GAP);
        if (jobs_put(jobs, j)) {
            job_free(j);
            return;
        }
    }
}

void jobs_empty(struct jobs *jobs)
{
    for (struct job *j; (j = jobs_get(jobs, 0));)
        job_free(j);
}

TEST(jobs_free_what_they_hold)
{
    QUEUE;
    struct job *file = job_new(JOB_FILE), *deferred = job_new(JOB_DEFERRED), *span = job_new(JOB_SPAN);
    CHECK(file && deferred && span);
    CHECK_EQ(file->file.fd, -1);
    file->file.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    file->file.path = strdup("/x");
    int fd = file->file.fd;
    deferred->deferred =
        (struct deferred_job){.sample = calloc(1, sizeof(struct xp_sample)), .dump = calloc(1, sizeof(struct xp_dump))};
    CHECK_EQ(aggregate_new(&span->span.stacks, 1, 1 << 16), 0);
    job_free(NULL);
    job_free(deferred);
    CHECK_EQ(jobs_put(&jobs, file), 0);
    CHECK_EQ(jobs_put(&jobs, span), 0);
    jobs_free(&jobs); /* and what was never taken out */
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
    CHECK_EQ(jobs_new(&jobs), 0);
}

/* A copy of a stack of this cgroup is put into the queue until there is no room for one more. Returns how many. */
static size_t put_copies(struct jobs *jobs, u64 cgroup)
{
    for (size_t n = 0;; n++) {
        struct job *j = job_new(JOB_DEFERRED);
        j->deferred.sample = calloc(1, sizeof(struct xp_sample));
        j->deferred.sample->cgroup = cgroup;
        if (jobs_put(jobs, j)) {
            job_free(j);
            return n;
        }
    }
}

TEST(jobs_bound_the_memory_of_stacks)
{
    QUEUE;
    size_t all = JOBS_DUMP_BYTES / sizeof(struct xp_dump);
    CHECK_EQ(put_copies(&jobs, 7), all);
    CHECK_EQ(put_copies(&jobs, 8), 0);
    job_free(jobs_get(&jobs, 0));
    CHECK_EQ(put_copies(&jobs, 8), 1);
    jobs_fill(&jobs, all + 1); /* what has no copy needs no such room */
    CHECK_EQ(jobs_waiting(&jobs), all + 1);
    jobs_close(&jobs);
    job_free(jobs_get(&jobs, 0));
    CHECK_EQ(put_copies(&jobs, 8), 0);
    CHECK_EQ(jobs.dumps.used, (all - 1) * sizeof(struct xp_dump)); /* what was refused holds nothing */
}

TEST(jobs_share_the_memory_of_stacks)
{
    QUEUE;
    jobs_share(&jobs);
    size_t all = JOBS_DUMP_BYTES / sizeof(struct xp_dump), hog = put_copies(&jobs, 7), victim = put_copies(&jobs, 8);
    CHECK(hog >= all * 3 / 4 && hog < all);
    CHECK(victim >= all / 8);
    CHECK_EQ(put_copies(&jobs, 7), 0);
    job_free(jobs_get(&jobs, 0)); /* the hog's */
    CHECK(put_copies(&jobs, 9) > 0);
}

static bool put_code(struct jobs *jobs, u64 cgroup, size_t len)
{
    struct job *j = job_new(JOB_CODE);
    j->code.cgroup = cgroup;
    j->code.reply.len = len; /* its bytes do not matter here */
    int rc = jobs_put(jobs, j);
    if (rc)
        free(j);
    return !rc;
}

TEST(jobs_share_the_memory_of_generated_code)
{
    QUEUE;
    jobs_share(&jobs);
    size_t n = 0;
    while (put_code(&jobs, 7, 1 << 20))
        n++;
    CHECK(n > 48 && n < 64);
    CHECK(put_code(&jobs, 8, 1 << 20));
    for (struct job *j; (j = jobs_get(&jobs, 0));)
        free(j);
    CHECK_EQ(jobs.code.used, 0);
}

/* An interval with n different stacks. */
static struct job *interval(unsigned n)
{
    struct {
        struct xp_sample s;
        u64 words[64];
    } one = {.s = {.cgroup = 7, .nuser = 64, .count = 1, .weight = 1, .cause = XP_CAUSE_END}};
    struct job *j = job_new(JOB_SPAN);
    if (!j || aggregate_new(&j->span.stacks, 1, 64 << 20))
        return NULL;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned w = 0; w < 64; w++)
            one.words[w] = (u64)XP_WORD_CFI << 60 | (u64)i << 16 | w;
        aggregate_add(j->span.stacks, &one.s);
    }
    return j;
}

TEST(jobs_bound_the_memory_of_intervals)
{
    QUEUE;
    struct job *first = interval(50000), *second = interval(50000), *third = interval(50000);
    CHECK(aggregate_bytes(first->span.stacks) > JOBS_SPAN_BYTES / 3);
    CHECK(aggregate_bytes(first->span.stacks) < JOBS_SPAN_BYTES / 2);
    CHECK(jobs_reserve_span(&jobs, &first->span));
    CHECK(jobs_reserve_span(&jobs, &second->span));
    CHECK(!jobs_reserve_span(&jobs, &third->span));
    CHECK_EQ(jobs_put(&jobs, first), 0);
    CHECK(!jobs_reserve_span(&jobs, &third->span)); /* where it waits does not matter */
    job_free(jobs_get(&jobs, 0));
    CHECK(jobs_reserve_span(&jobs, &third->span));
    CHECK(!jobs_reserve_span(&jobs, &third->span));
    jobs_release_span(&jobs, &third->span);
    jobs_release_span(&jobs, &second->span);
    CHECK_EQ(jobs.span_bytes, 0);
    job_free(second);
    job_free(third);
}

TEST(jobs_have_room_for_one_interval_of_any_size)
{
    QUEUE;
    struct job *large = interval(90000), *small = interval(30000);
    CHECK(jobs_reserve_span(&jobs, &large->span));
    CHECK(!jobs_reserve_span(&jobs, &small->span));
    jobs_release_span(&jobs, &large->span);
    jobs.span_bytes = 0;
    job_free(large);
    job_free(small);
}

TEST(jobs_end)
{
    QUEUE;
    CHECK(!jobs_done(&jobs) && !jobs_ended(&jobs) && !jobs_too_late(&jobs, ~0ull) && !jobs_crowded(&jobs));
    jobs_fill(&jobs, JOBS_MAX / 2);
    CHECK(!jobs_crowded(&jobs));
    jobs_fill(&jobs, JOBS_MAX / 2 + 1);
    CHECK(jobs_crowded(&jobs));
    jobs_end_by(&jobs, 1000);
    CHECK(jobs_ended(&jobs));
    CHECK(!jobs_too_late(&jobs, 999) && jobs_too_late(&jobs, 1000));
    jobs_close(&jobs);
    CHECK(!jobs_done(&jobs)); /* there are some left */
    jobs_empty(&jobs);
    CHECK(jobs_done(&jobs));
}
