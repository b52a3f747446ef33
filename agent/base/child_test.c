#include "base/child.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "bpf/types.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

TEST(child_starts_are_spaced_out)
{
    struct start_gate g = {0};
    uint64_t now = 1000 * NS_PER_SEC;
    for (int i = 0; i < START_BURST; i++)
        CHECK_EQ(start_gate_wait(&g, now), 0);
    CHECK_EQ(start_gate_wait(&g, now), START_EVERY_NS);
    CHECK_EQ(start_gate_wait(&g, now + START_EVERY_NS), START_EVERY_NS);
    CHECK_EQ(start_gate_wait(&g, now + 100 * NS_PER_SEC), 0);
}

TEST(child_that_cannot_be_started)
{
    const char *argv[] = {"xprof", NULL};
    struct child_process c = CHILD_PROCESS_NONE;
    AUTO_CLOSE int nothing = open("/", O_PATH | O_CLOEXEC); /* no program: the forked process ends at once */
    struct pollfd end = {.events = POLLIN};
    CHECK_EQ(child_start(nothing, argv, &c), 0);
    end.fd = c.socket;
    CHECK(c.pid > 0 && c.pidfd >= 0 && poll(&end, 1, 10000) == 1 && (end.revents & POLLHUP));
    child_kill(&c, NULL);
    CHECK(!c.pid && c.pidfd == -1 && c.socket == -1);
    child_kill(&c, NULL); /* there is none */
}

/* Doubles: one that waits, and one that works. */
__attribute__((constructor)) static void be_child(int argc, char **argv)
{
    if (argc < 2)
        return;
    if (!strcmp(argv[1], "--idle-child"))
        pause();
    while (!strcmp(argv[1], "--busy-child"))
        ;
}

static int wait_by(int wait(const struct child_process *, unsigned), const char *role, unsigned ms, u64 *passed)
{
    const char *argv[] = {"unit", role, "%d", NULL};
    struct child_process c = CHILD_PROCESS_NONE;
    AUTO_CLOSE int exe = child_open_self();
    int left = -1;
    if (exe < 0 || child_start(exe, argv, &c))
        return 1;
    u64 began = now_ns();
    int rc = wait(&c, ms);
    *passed = now_ns() - began;
    child_kill(&c, &left);
    return left < 0 ? rc : 1;
}

/* Who is slow is waited for; who waits in vain is not. */
TEST(child_without_progress_is_noticed)
{
    u64 passed;
    CHECK_EQ(wait_by(child_wait, "--idle-child", 60000, &passed), -EREMOTEIO);
    CHECK(passed >= CHILD_STUCK_MS * 1000000ull && passed < 30 * NS_PER_SEC);
    CHECK_EQ(wait_by(child_wait, "--busy-child", 2 * CHILD_STUCK_MS, &passed), -ETIMEDOUT);
    CHECK(passed >= 2 * CHILD_STUCK_MS * 1000000ull);
}

TEST(child_that_starts_may_wait)
{
    u64 passed;
    CHECK_EQ(wait_by(child_wait_for_start, "--idle-child", 2 * CHILD_STUCK_MS, &passed), -ETIMEDOUT);
    CHECK(passed >= 2 * CHILD_STUCK_MS * 1000000ull);
}
