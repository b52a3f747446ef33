#include "opener/hung.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "bpf/xprof.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEW_HUNG                              \
    CLEANUP(hung_free) struct hung *h = NULL; \
    CHECK_EQ(hung_new(&h), 0)

TEST(hung_places_are_left_alone_for_ever_longer)
{
    NEW_HUNG;
    struct hung_place a = {.id = 1, .owner = 7}, b = {.id = 2, .owner = 8};
    u64 now = 1000;
    CHECK(!hung_is(h, &a, now));
    CHECK_EQ(hung_note(h, &a, now), HUNG_FIRST_NS);
    CHECK(hung_is(h, &a, now + HUNG_FIRST_NS - 1) && !hung_is(h, &a, now + HUNG_FIRST_NS));
    CHECK_EQ(hung_wait(h, &a, now + 1), HUNG_FIRST_NS - 1);
    CHECK(!hung_is(h, &b, now));
    CHECK_EQ(hung_places(h, now), 1);
    CHECK_EQ(hung_note(h, &a, now), 2 * HUNG_FIRST_NS);
    for (int i = 0; i < 20; i++)
        CHECK(hung_note(h, &a, now) <= HUNG_LONGEST_NS);
    CHECK_EQ(hung_note(h, &a, now), HUNG_LONGEST_NS);
    hung_answered(h, &a);
    CHECK(!hung_is(h, &a, now));
    CHECK_EQ(hung_places(h, now), 0);
    CHECK_EQ(hung_note(h, &a, now), HUNG_FIRST_NS);
}

/* Who makes a new file system for each file is not tried for ever. */
TEST(hung_owners_are_left_alone_altogether)
{
    NEW_HUNG;
    u64 now = 1000;
    for (u64 id = 1; id <= HUNG_OF_OWNER; id++) {
        struct hung_place p = {.id = id, .owner = 7};
        CHECK(!hung_is(h, &p, now));
        CHECK_EQ(hung_note(h, &p, now), HUNG_FIRST_NS << (id - 1));
    }
    struct hung_place next = {.id = 100, .owner = 7}, other = {.id = 100, .owner = 8}, nobodys = {.id = 100};
    CHECK(hung_is(h, &next, now) && !hung_is(h, &other, now) && !hung_is(h, &nobodys, now));
    CHECK(!hung_is(h, &next, now + HUNG_FIRST_NS)); /* one is due */
}

TEST(hung_places_are_limited)
{
    NEW_HUNG;
    struct hung_place first = {.id = 1, .owner = 1}, second = {.id = 2, .owner = 2};
    for (u64 id = 1; id <= HUNG_PLACES + 1; id++) {
        struct hung_place p = {.id = id, .owner = id};
        hung_note(h, &p, id);
    }
    CHECK_EQ(hung_places(h, HUNG_PLACES), HUNG_PLACES);
    CHECK(!hung_is(h, &first, 1) && hung_is(h, &second, 1)); /* the one that was due first is forgotten */
}

static int pidfd_of(pid_t pid)
{
    return (int)syscall(434 /* pidfd_open */, pid, 0);
}

TEST(hung_children_are_reaped)
{
    NEW_HUNG;
    pid_t pid = fork();
    if (!pid) {
        pause();
        _exit(0);
    }
    hung_keep_child(h, pidfd_of(pid));
    CHECK_EQ(hung_children(h), 1);
    kill(pid, SIGKILL);
    for (u64 until = now_ns() + 10 * NS_PER_SEC; hung_children(h) && now_ns() < until;)
        usleep(1000);
    CHECK_EQ(hung_children(h), 0);
    CHECK_EQ(waitpid(pid, NULL, WNOHANG), -1); /* not a zombie any more */
}

/* On a local file system, which all share, one file is not the others' fault. */
TEST(hung_places_of_files)
{
    struct xp_file_event e = {.magic = FUSE_SUPER_MAGIC, .cgroup = 7, .key = {.dev = 5, .ino = 1}}, other = e;
    other.key.ino = 2;
    CHECK_EQ(hung_place_of(&e).id, hung_place_of(&other).id);
    CHECK_EQ(hung_place_of(&e).owner, 7);
    e.magic = other.magic = EXT4_SUPER_MAGIC;
    CHECK(hung_place_of(&e).id != hung_place_of(&other).id);
    CHECK(hung_may(FUSE_SUPER_MAGIC) && hung_may(NFS_SUPER_MAGIC) && hung_may(0) && !hung_may(EXT4_SUPER_MAGIC));
    AUTO_CLOSE int root = open("/", O_PATH | O_CLOEXEC);
    AUTO_CLOSE int proc = open("/proc", O_PATH | O_CLOEXEC);
    CHECK(hung_place_of_root(root).id != hung_place_of_root(proc).id);
    CHECK(hung_place_of_root(root).id != hung_place_of_root(-1).id);
}

TEST(hung_is_nobody_without_memory_of_it)
{
    struct hung_place p = {.id = 1};
    CHECK(!hung_is(NULL, &p, 0));
    CHECK_EQ(hung_note(NULL, &p, 0), HUNG_FIRST_NS);
    CHECK_EQ(hung_wait(NULL, &p, 0), HUNG_FIRST_NS);
    hung_answered(NULL, &p);
}
