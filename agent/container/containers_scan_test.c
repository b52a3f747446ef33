/* What scans find: groups below, first processes, and who is gone, with the tree in sight or without. */
#include "base/fs.h"
#include "container/containers_bench_test.h"
#include "container/processes_test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without the tree one look is no proof: a group may have no process for a moment, a pod's own has never one. */
TEST(containers_out_of_sight_are_missed_for_some_scans)
{
    CLEANUP(fake_processes_free) struct fake_processes p = {.dir = ""};
    CLEANUP(bench_free) struct bench b = {0};
    struct containers_stats st;
    CHECK_EQ(fake_process(&p, 7, "/"), 0);
    CHECK_EQ(bench_new(&b, false, p.dir), 0);
    containers_cgroup_made(b.c, 0, 10, POD, 2 * SEC);
    containers_cgroup_made(b.c, 0, 11, "/docker/" C1, 2 * SEC);
    CHECK_EQ(containers_due(b.c), 2 * SEC); /* its first process is looked for at once */
    u64 now = 4 * SEC;
    containers_tick(b.c, now - 1);
    containers_stats(b.c, &st);
    CHECK_EQ(st.rescans, 1);
    for (int scan = 1; scan <= 10; scan++, now += 60 * SEC) {
        containers_tick(b.c, now); /* the first one two seconds after the groups were made */
        containers_stats(b.c, &st);
        CHECK_EQ(st.rescans, (u64)scan + 1);
        CHECK_EQ(st.containers, scan < 2);
        CHECK_EQ(st.pods, scan < 10);
        CHECK_EQ(st.lost_late, (u64)(scan >= 2) + (scan >= 10));
    }
}

TEST(containers_learn_from_the_process_of_a_sample)
{
    CLEANUP(fake_processes_free) struct fake_processes p = {.dir = ""};
    CLEANUP(bench_free) struct bench b = {0};
    CHECK_EQ(fake_process(&p, 7, "/docker/" C1 "/below"), 0);
    CHECK_EQ(fake_process(&p, 8, "/user.slice"), 0);
    CHECK_EQ(bench_new(&b, false, p.dir), 0);
    const struct container *c = containers_learn(b.c, 20, 7, 2 * SEC); /* its word is all there is */
    CHECK(c && c == containers_find(b.c, 20));
    CHECK_STR(c->is.id, C1);
    CHECK_STR(c->path, "/docker/" C1);
    CHECK(containers_learn(b.c, 20, 99, 2 * SEC) == c); /* nobody is asked again */
    CHECK(!containers_learn(b.c, 21, 8, 2 * SEC));
    CHECK(!containers_learn(b.c, 22, 99, 2 * SEC));
    struct containers_stats st;
    containers_stats(b.c, &st);
    CHECK_EQ(st.found_late, 1);
}

/* Where the tree can be seen, a process is believed as far as the tree confirms it. */
TEST(containers_learn_what_the_tree_confirms)
{
    CLEANUP(fake_processes_free) struct fake_processes p = {.dir = ""};
    CLEANUP(containers_free) struct containers *c = NULL;
    struct stat group, below;
    char path[256];
    CHECK_EQ(fake_process(&p, 7, "/docker/" C1 "/below"), 0);
    CHECK_EQ(fake_process(&p, 8, "/docker/" C2), 0); /* which is gone */
    snprintf(path, sizeof(path), "%s/docker/" C1 "/below", p.dir);
    CHECK_EQ(fs_mkdirs(path), 0);
    CHECK_EQ(stat(path, &below), 0);
    *strrchr(path, '/') = 0;
    CHECK_EQ(stat(path, &group), 0);
    struct containers_config config = {
        .hierarchy = {.mode = HIERARCHY_V2, .unified = true, .whole = true, .proc = p.dir}, .cri_socket = "none"};
    snprintf(config.hierarchy.mount, sizeof(config.hierarchy.mount), "%s", p.dir);
    CHECK_EQ(containers_new(&c, &config, &(struct containers_handlers){0}), 0);
    CHECK(!containers_learn(c, 1, 7, 2 * SEC)); /* it has moved since */
    CHECK(!containers_learn(c, 1, 8, 2 * SEC));
    const struct container *one = containers_learn(c, below.st_ino, 7, 2 * SEC);
    CHECK(one);
    CHECK_EQ(one->cgroup, group.st_ino); /* the container's own group, which nobody has reported */
    CHECK(containers_find(c, group.st_ino) == one && containers_find(c, below.st_ino) == one);
}

/* ---- First processes ---- */

static int put_group(const struct bench *b, const char *group, const char *pids)
{
    char path[256];
    snprintf(path, sizeof(path), "%s%s", b->dir, group);
    int rc = fs_mkdirs(path);
    snprintf(path, sizeof(path), "%s%s/cgroup.procs", b->dir, group);
    return rc ? rc : fs_replace_file(path, pids, strlen(pids), 0600);
}

TEST(containers_look_for_first_processes_ever_more_seldom)
{
    BENCH(false);
    char pid[32];
    snprintf(pid, sizeof(pid), "%d\n", (int)getpid()); /* with the host's root: no container's */
    CHECK_EQ(put_group(&b, "/docker/" C1, pid), 0);
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_cgroup_made(b.c, 0, 13, POD, 2 * SEC); /* has none */
    CHECK_EQ(containers_due(b.c), 2 * SEC);
    u64 now = 2 * SEC, wait = 20 * MS;
    for (int i = 0; i < 4; i++, wait *= 2) {
        containers_tick(b.c, now);
        u64 next = containers_due(b.c);
        CHECK(next > now && next <= now + wait);
        if (next < now + wait) /* a name's turn */
            containers_tick(b.c, now + wait - 1);
        CHECK_EQ(containers_find(b.c, 12)->init_pid, 0);
        now += wait;
    }
}

/* Its own namespace shows a path that climbs; once the whole one is seen, that stays. */
TEST(containers_whole_paths_replace_those_that_climb)
{
    BENCH(false);
    containers_cgroup_made(b.c, 0, 12, "/../../docker/" C1, 2 * SEC);
    CHECK_STR(containers_find(b.c, 12)->path, "/../../docker/" C1);
    containers_cgroup_made(b.c, 0, 12, "/../docker/" C1, 2 * SEC);
    CHECK_STR(containers_find(b.c, 12)->path, "/../../docker/" C1); /* no better */
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    CHECK_STR(containers_find(b.c, 12)->path, "/docker/" C1);
    CHECK_EQ(containers_find(b.c, 12)->is.own, strlen("/docker/" C1));
    containers_cgroup_made(b.c, 0, 12, "/elsewhere/" C1, 2 * SEC);
    CHECK_STR(containers_find(b.c, 12)->path, "/docker/" C1);
    containers_stats(b.c, &st);
    CHECK(st.containers == 1 && !st.ended);
}

TEST(containers_are_found_by_a_scan)
{
    BENCH(false);
    static const char *const groups[] = {"/docker/" C1, "/docker/" C2, "/system.slice/x.service", POD, "/user.slice"};
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
        CHECK_EQ(put_group(&b, groups[i], ""), 0);
    containers_tick(b.c, 62 * SEC);
    containers_stats(b.c, &st);
    CHECK(st.containers == 2 && st.units == 1 && st.pods == 1 && st.found_late == 4 && st.lost_late == 0);
    CHECK_EQ(b.seen.changed, 4);
    containers_tick(b.c, 123 * SEC); /* they are still there */
    containers_stats(b.c, &st);
    CHECK(st.rescans == 3 && st.containers == 2 && st.found_late == 4 && st.lost_late == 0);
}

/* The first process of a container is found; nothing of it is held. */
TEST(containers_know_their_first_processes)
{
    BENCH(false);
    char pids[32];
    CLEANUP(process_end) pid_t inside = process_with_root(b.dir);
    if (inside < 0)
        SKIP("no process may change its root directory here");
    char root[32];
    snprintf(root, sizeof(root), "/proc/%d/root/.", (int)inside);
    if (access(root, F_OK))
        SKIP("the root directory of another process is not readable here");
    snprintf(pids, sizeof(pids), "%d\n", (int)inside);
    int before = dup(0);
    CHECK_EQ(close(before), 0);
    CHECK_EQ(put_group(&b, "/docker/" C1, pids), 0);
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_tick(b.c, 2 * SEC);
    const struct container *c = containers_find(b.c, 12);
    CHECK(c);
    CHECK_EQ(c->init_pid, inside);
    CHECK(c->init_start > 0 && c->pid_ns > 0);
    CHECK_EQ(b.seen.changed, 2);
    int after = dup(0);
    CHECK_EQ(close(after), 0);
    CHECK_EQ(after, before); /* its file systems can be unmounted */
}

/* An event has no room for the whole path, but the tree has it. */
TEST(containers_paths_that_were_cut_are_looked_up)
{
    BENCH(false);
    char path[CONTAINERS_PATH_MAX];
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = 0;
    CHECK_EQ(containers_due(b.c), 61 * SEC);
    containers_cgroup_made(b.c, 0, 12, path + 1, 5 * SEC); /* this one fits */
    CHECK_EQ(containers_due(b.c), 61 * SEC);
    containers_cgroup_made(b.c, 0, 12, path, 5 * SEC);
    CHECK_EQ(containers_due(b.c), 5 * SEC);
    containers_stats(b.c, &st);
    CHECK_EQ(st.cut, 1);
}
