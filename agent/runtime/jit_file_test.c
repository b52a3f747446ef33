/* Where maps of this very process would be found, and what is no map. */
#include "runtime/jit_file.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
    CHECK_EQ(jit_place_open(NULL, (u32)getpid(), start + TICK, &p), -ESRCH);
    CHECK_EQ(jit_place_open(NULL, (u32)getpid(), start - 1, &p), -ESRCH);
    CHECK_EQ(p.tmp, -1);
    CHECK_EQ(jit_place_open(NULL, (u32)getpid(), start + TICK / 2, &p), 0);
    CHECK_EQ(p.uid, geteuid());
    jit_place_close(&p);
}

static int map_of_me(void)
{
    struct jit_place p = JIT_PLACE_NONE;
    int rc = jit_place_open(NULL, (u32)getpid(), my_start(), &p);
    int fd = rc ? rc : jit_place_map(&p, NULL, (u32)getpid());
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

TEST(a_place_is_of_the_innermost_namespace)
{
    struct jit_place p = JIT_PLACE_NONE;
    CHECK_EQ(jit_place_open(NULL, (u32)getpid(), my_start(), &p), 0);
    CHECK_EQ(p.ns_pid, getpid());
    CHECK(p.tmp >= 0 && p.dump < 0);
    int tmp = p.tmp;
    jit_place_close(&p);
    CHECK(fcntl(tmp, F_GETFD) < 0); /* nothing stays open */
    struct jit_place none = JIT_PLACE_NONE;
    jit_place_look(&none, NULL, 0x7fffffff); /* nobody has mappings there */
    CHECK(none.dump < 0 && none.looks == 1);
    CHECK_EQ(jit_place_open(NULL, 0x7fffffff, 0, &none), -ESRCH);
    CHECK(none.tmp < 0);
}

/* /tmp is everybody's: others may leave a file there. */
TEST(a_map_of_another_user_is_none)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    unlink(path);
    CHECK_EQ(close(open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)), 0);
    int chowned = chown(path, geteuid() + 1, (gid_t)-1);
    int fd = chowned ? -EPERM : map_of_me();
    unlink(path);
    if (chowned)
        SKIP("only root gives files away");
    CHECK_EQ(fd, -EPERM);
}

/* A page of a file with this name below `dir`, mapped as runtimes do it; the file is gone again. */
static void *map_dump(const char *dir, const char *name)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    AUTO_CLOSE int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    int bad = fd < 0 || ftruncate(fd, 4096) || pwrite(fd, "DTiJ", 4, 0) != 4;
    void *map = bad ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    return map;
}

static int look_for(const char *name, unsigned looks, char magic[5])
{
    char dir[] = "/tmp/xprof-dump-XXXXXX", path[96];
    struct jit_place p = JIT_PLACE_NONE;
    if (!mkdtemp(dir) || jit_place_open(NULL, (u32)getpid(), my_start(), &p))
        return -1;
    for (unsigned i = 0; i < looks; i++)
        jit_place_look(&p, NULL, (u32)getpid()); /* there is none yet */
    void *map = map_dump(dir, name);
    AUTO_CLOSE int fd = jit_place_map(&p, NULL, (u32)getpid());
    int found = p.dump >= 0;
    u8 before = p.looks;
    jit_place_look(&p, NULL, (u32)getpid()); /* which is no look any more, if there is one */
    if (found && p.looks != before)
        found = -1;
    AUTO_CLOSE int opened = fd < 0 ? -1 : fs_open_regular(fd);
    if (fd >= 0 && pread(opened, magic, 4, 0) != 4)
        found = -1;
    jit_place_close(&p);
    if (map != MAP_FAILED)
        munmap(map, 4096);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
    rmdir(dir);
    return found;
}

TEST(a_jitdump_is_found_among_the_mappings)
{
    static const struct {
        const char *name;
        unsigned looks;
        int found;
    } cases[] = {{"jit-12.dump", 0, 1}, {"jit-12.dump", 2, 1},   {"jit-12.dump", 3, 0},
                 {"jit-.dump", 0, 0},   {"jit-1.dump", 0, 1},    {"jot-12.dump", 0, 0},
                 {"jit-12.dumb", 0, 0}, {"a-jit-12.dump", 0, 0}, {"jit-12.dump2", 0, 0}};
    unsigned long here = (unsigned long)sysconf(_SC_PAGESIZE);
    char *path = NULL;
    if (proc_open_mapping((u32)getpid(), here, 2 * here, &path) == -EPERM)
        SKIP("the kernel opens map_files only for CAP_SYS_ADMIN");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char magic[5] = "";
        CHECK_EQ(look_for(cases[i].name, cases[i].looks, magic), cases[i].found);
        CHECK_STR(magic, cases[i].found ? "DTiJ" : "");
    }
}
