#include "pipeline/backlog.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "base/turns.h"
#include "pipeline/jobs.h"
#include <errno.h>

static struct job *file_of(u64 cgroup, u32 id)
{
    struct job *j = job_new(JOB_FILE);
    if (j)
        j->file.event = (struct xp_file_event){.cgroup = cgroup, .id = id};
    return j;
}

static u32 take(struct backlog *b, const struct turns *t)
{
    struct job *j = backlog_take(b, t);
    u32 id = j ? j->file.event.id : 0;
    job_free(j);
    return id;
}

TEST(backlog_gives_first_the_file_of_who_used_least)
{
    CLEANUP(backlog_free) struct backlog b = {.shares.limit = BACKLOG_MAX};
    CLEANUP(turns_free) struct turns t = {0};
    turns_begin(&t, 1000);
    turns_spend(&t, 7, 500);
    turns_spend(&t, 8, 100);
    CHECK_EQ(backlog_put(&b, file_of(7, 1)), 0);
    CHECK_EQ(backlog_put(&b, file_of(8, 2)), 0);
    CHECK_EQ(backlog_put(&b, file_of(8, 3)), 0);
    CHECK_EQ(take(&b, &t), 2);
    turns_spend(&t, 8, 600);
    CHECK_EQ(take(&b, &t), 1);
    CHECK_EQ(take(&b, &t), 3);
    CHECK_EQ(take(&b, &t), 0);
}

TEST(backlog_has_places_for_whoever_comes_next)
{
    CLEANUP(backlog_free) struct backlog b = {.shares.limit = BACKLOG_MAX};
    CLEANUP(turns_free) struct turns t = {0};
    struct job *more;
    u32 n = 0;
    while (!backlog_put(&b, more = file_of(7, n)))
        n++;
    job_free(more);
    CHECK(n > BACKLOG_MAX * 3 / 4 && n < BACKLOG_MAX);
    CHECK_EQ(backlog_put(&b, file_of(8, 1)), 0);
    while ((more = backlog_take(&b, &t)))
        job_free(more);
    CHECK_EQ(b.shares.used, 0);
}
