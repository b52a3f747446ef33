/* The stack of a process that sleeps: a child of this one. */
#include "pipeline/sleepers.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "opener/hung.h"
#include "proc/proc.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM (1u << 15)

static char *marked; /* shared by address with the child */

/* A child that has written its mark and sleeps. */
static pid_t sleeping_child(void)
{
    int ends[2];
    char c;
    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (!pid) {
        memcpy(marked, "on its stack", 13);
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(ends[0], &c, 1) != 1)
        return -1;
    close(ends[0]);
    close(ends[1]);
    for (u64 last = 0, now = 1; now != last; usleep(20000)) { /* until it does not run any more */
        last = now;
        now = proc_switches((u32)pid, (u32)pid);
    }
    return pid;
}

TEST(sleepers_have_their_memory_read)
{
    marked = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t pid = sleeping_child();
    struct xp_sleeper z = {.key = 9,
                           .start = 5,
                           .cgroup = 6,
                           .switches = proc_switches((u32)pid, (u32)pid),
                           .tgid = (u32)pid,
                           .tid = (u32)pid,
                           .comm = "child"};
    struct xp_mapping map = {.start = 1, .end = 2, .file = 3};
    z.regs.r[7] = (u64)(uintptr_t)marked;
    CLEANUP(deferred_job_free) struct deferred_job job = {0};
    CHECK(pid > 0);
    CHECK_EQ(sleepers_job(&job, &z, &map, 1), 0);
    CHECK(job.sample->type == XP_RECORD_STACK && job.sample->weight == 9 && job.sample->start == 5);
    CHECK(job.sample->cgroup == 6 && job.sample->cause == XP_CAUSE_NOT_TAKEN && !strcmp(job.sample->comm, "child"));
    CHECK(job.dump->nmaps == 1 && job.dump->maps[0].file == 3 && !job.dump->len);
    CHECK_EQ(sleepers_read(&job, NULL, NULL), 0);
    CHECK_EQ(job.dump->len, XP_DUMP_BYTES);
    CHECK_STR((const char *)job.dump->stack, "on its stack");
    CHECK(sleepers_sleep(job.sample, job.dump));
    job.sample->flags |= XP_SAMPLE_DUMP; /* taken by its own thread, as it went to sleep */
    CHECK(sleepers_sleep(job.sample, job.dump));
    job.dump->switches--; /* it has run since */
    CHECK(!sleepers_sleep(job.sample, job.dump));
    job.dump->switches++;
    job.sample->type = XP_RECORD_SAMPLE; /* of a thread that ran */
    CHECK(!sleepers_sleep(job.sample, job.dump));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap(marked, 2 * ROOM);
}

TEST(sleepers_that_have_run_since_are_left_alone)
{
    CLEANUP(deferred_job_free) struct deferred_job job = {0};
    char here = 0;
    struct xp_sleeper z = {.switches = 1, .tgid = (u32)getpid(), .tid = (u32)getpid()};
    z.regs.r[7] = (u64)(uintptr_t)&here;
    CHECK_EQ(sleepers_job(&job, &z, NULL, 0), 0);
    CHECK_EQ(sleepers_read(&job, NULL, NULL), -EAGAIN);
    job.dump->regs.r[7] = 4096;
    CHECK(sleepers_read(&job, NULL, NULL) < 0);
}

TEST(sleepers_have_so_many_mappings_at_most)
{
    static struct xp_mapping maps[XP_DUMP_MAPS + 1];
    CLEANUP(deferred_job_free) struct deferred_job job = {0};
    struct xp_sleeper z = {.key = 1};
    CHECK_EQ(sleepers_job(&job, &z, maps, XP_DUMP_MAPS + 1), 0);
    CHECK_EQ(job.dump->nmaps, XP_DUMP_MAPS);
}
