/* The tables of what already runs, before sampling. */
#include "base/clock.h"
#include "base/test.h"
#include "pipeline/collector_test.h"
#include "pipeline/jobs_test.h"
#include <linux/magic.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void map_file(struct collector_desk *d, u32 tgid, u32 file)
{
    struct xp_mapping m = {.tgid = tgid, .file = file, .start = 0x1000, .end = 0x2000};
    fake_map(d->probe, &m);
}

static void announce(struct collector_desk *d, u32 file)
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
    collector_desk_poll(&d);
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
    collector_desk_poll(&d);
    CHECK_EQ(jobs_waiting(&d.jobs), JOBS_MAX);
    CHECK_EQ(fake_forgotten(d.probe), 1);
    collector_poll(d.c, 0);
    collector_figures(d.c, &f);
    CHECK_EQ(f.queue_full, 1);
}
