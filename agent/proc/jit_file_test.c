/* Where maps of this very process would be found, and what is no map. */
#include "proc/jit_file.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TICK 10000000ull /* ns */

/* Of this process, ns since boot. */
static u64 my_start(void)
{
    AUTO_FREE char *text = NULL;
    unsigned long long ticks = 0;
    if (!fs_read_file("/proc/self/stat", 4096, &text, NULL))
        sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &ticks);
    return ticks * TICK;
}

/* A number alone is nobody: it may have been given to another process since. */
TEST(a_place_is_that_of_the_process_that_was_meant)
{
    struct jit_place p = JIT_PLACE_NONE;
    u64 start = my_start();
    CHECK_EQ(jit_place_open((u32)getpid(), start + TICK, &p), -ESRCH);
    CHECK_EQ(jit_place_open((u32)getpid(), start - 1, &p), -ESRCH);
    CHECK_EQ(p.tmp, -1);
    CHECK_EQ(jit_place_open((u32)getpid(), start + TICK / 2, &p), 0);
    CHECK_EQ(p.uid, geteuid());
    jit_place_close(&p);
}

static int map_of_me(void)
{
    struct jit_place p = JIT_PLACE_NONE;
    int rc = jit_place_open((u32)getpid(), my_start(), &p);
    int fd = rc ? rc : jit_place_map(&p, (u32)getpid());
    jit_place_close(&p);
    return fd;
}

TEST(only_a_regular_file_below_tmp_is_a_map)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    unlink(path);
    CHECK_EQ(map_of_me(), -ENOENT);
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(map_of_me(), -ENOTSUP);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(symlink("/proc/self/status", path), 0);
    CHECK_EQ(map_of_me(), -ENOENT);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(close(open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)), 0);
    AUTO_CLOSE int fd = map_of_me();
    CHECK(fd >= 0);
    CHECK_EQ(unlink(path), 0);
}
