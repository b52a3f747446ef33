#include "container/init.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "container/processes_test.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder stands for a group: what counts is its list of processes. */
struct group {
    struct hierarchy h;
    char file[600];
    pid_t inside; /* a process whose root directory is the folder */
};

static void group_free(struct group *g)
{
    process_end(&g->inside);
    unlink(g->file);
    rmdir(g->h.mount);
}
#define AUTO_GROUP CLEANUP(group_free) struct group

static bool make_group(struct group *g)
{
    snprintf(g->h.mount, sizeof(g->h.mount), "/tmp/xprof-init-XXXXXX");
    if (!mkdtemp(g->h.mount))
        return false;
    snprintf(g->file, sizeof(g->file), "%s/cgroup.procs", g->h.mount);
    return true;
}

static bool list(const struct group *g, const char *pids)
{
    AUTO_CLOSE int fd = open(g->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, pids, strlen(pids)) == (ssize_t)strlen(pids);
}

/* False: this machine does not let us. */
static bool start_inside(struct group *g)
{
    g->inside = process_with_root(g->h.mount);
    return g->inside > 0;
}

TEST(init_is_not_a_process_with_the_hosts_root)
{
    AUTO_GROUP g = {.inside = 0};
    struct init in = {.pid = 77};
    char pids[32];
    CHECK(make_group(&g));
    CHECK_EQ(init_find(&in, &g.h, ""), -ENOENT); /* no such group */
    CHECK(list(&g, ""));
    CHECK_EQ(init_find(&in, &g.h, ""), -ENOENT); /* nobody in it */
    CHECK(list(&g, "2147483647\n0\n"));
    CHECK_EQ(init_find(&in, &g.h, ""), -ENOENT); /* gone; and 0 is one of another namespace */
    snprintf(pids, sizeof(pids), "2147483647\n%d\n", (int)getpid());
    CHECK(list(&g, pids));
    CHECK_EQ(init_find(&in, &g.h, ""), -EAGAIN);
    CHECK_EQ(in.pid, 77);
}

TEST(init_has_a_root_of_its_own)
{
    AUTO_GROUP g = {.inside = 0};
    struct init in, again;
    struct stat ns;
    char pids[32];
    CHECK(make_group(&g));
    if (!start_inside(&g))
        SKIP("no process may change its root directory here");
    snprintf(pids, sizeof(pids), "%d\n", (int)g.inside);
    CHECK(list(&g, pids));
    CHECK_EQ(init_find(&in, &g.h, ""), 0);
    CHECK_EQ(in.pid, g.inside);
    CHECK(!stat("/proc/self/ns/pid", &ns) && ns.st_ino == in.pid_ns);
    CHECK_EQ(init_of_process(&again, (u32)g.inside), 0);
    CHECK_EQ(again.start, in.start);
}

/* Of several processes the oldest is meant. */
TEST(init_is_the_oldest)
{
    AUTO_GROUP g = {.inside = 0};
    struct init in;
    char pids[64];
    CHECK(make_group(&g));
    usleep(30000); /* some clock ticks after ourselves */
    if (!start_inside(&g))
        SKIP("no process may change its root directory here");
    snprintf(pids, sizeof(pids), "%d\n%d\n", (int)g.inside, (int)getpid());
    CHECK(list(&g, pids));
    CHECK_EQ(init_find(&in, &g.h, ""), -EAGAIN); /* that is us, with the host's root */
}

TEST(init_reads_proc)
{
    u64 start = 0;
    u32 parent = 0;
    const char *stat = "7 (a) b) S 5 7 7 0 -1 4194304 1 0 0 0 3 4 0 0 20 0 1 0 987654 100 2 184 1";
    CHECK_EQ(init_parse_stat(stat, &start, &parent), 0);
    CHECK(start == 987654 && parent == 5);
    CHECK_EQ(init_parse_stat("7 (a", &start, &parent), -EBADMSG);
    CHECK_EQ(init_parse_nspid("Name:\tx\nNSpid:\t18546\t1\nNSpgid:\t3\n"), 1);
    CHECK_EQ(init_parse_nspid("Name:\tx\nNSpid:\t18546\n"), 18546);
    CHECK_EQ(init_parse_nspid("Name:\tx\n"), 0);
}

/* This process has its parent's root: it is not a container's first process, whatever its group says. */
TEST(init_with_the_hosts_root)
{
    struct init in = {.pid = 3};
    CHECK_EQ(init_of_process(&in, (u32)getpid()), -EAGAIN);
    CHECK_EQ(init_of_process(&in, 0x7fffffff), -ENOENT);
    CHECK_EQ(in.pid, 3);
}
