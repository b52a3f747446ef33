/* Opening through a child, and by this process, give the same. */
#include "opener/opener.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/packet.h"
#include "base/test.h"
#include "opener/hung.h"
#include "opener/protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct desk {
    struct hung *hung;
    struct opener *opener[2]; /* the second one is NULL: this process */
    char dir[32];
};

static void desk_free(struct desk *d)
{
    char path[64];
    opener_free(&d->opener[0]);
    hung_free(&d->hung);
    for (const char *const *name = (const char *const[]){"file", "link", "fifo", NULL}; *name; name++) {
        snprintf(path, sizeof(path), "%s/%s", d->dir, *name);
        unlink(path);
    }
    rmdir(d->dir);
}

static int desk_new(struct desk *d)
{
    char path[64];
    strcpy(d->dir, "/tmp/xprof-opener-XXXXXX");
    if (!mkdtemp(d->dir) || hung_new(&d->hung) || opener_new(&d->opener[0], d->hung))
        return -1;
    snprintf(path, sizeof(path), "%s/file", d->dir);
    if (fs_replace_file(path, "abc", 3, 0600))
        return -1;
    snprintf(path, sizeof(path), "%s/link", d->dir);
    if (symlink("/file", path))
        return -1;
    snprintf(path, sizeof(path), "%s/fifo", d->dir);
    return mkfifo(path, 0600);
}
#define DESK                                           \
    CLEANUP(desk_free) struct desk d = {.hung = NULL}; \
    CHECK_EQ(desk_new(&d), 0)

TEST(opener_opens_below_a_root)
{
    DESK;
    AUTO_CLOSE int root = open(d.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        struct stat st;
        AUTO_CLOSE int fd = opener_file(d.opener[i], root, "/link");
        AUTO_CLOSE int slash = opener_directory(d.opener[i], root, "/");
        CHECK(fs_is_path(fd) && fs_is_path(slash));
        CHECK_EQ(fs_stat(fd, &st), 0);
        CHECK(S_ISREG(st.st_mode) && st.st_size == 3);
        CHECK_EQ(opener_file(d.opener[i], root, "/fifo"), -ENOTSUP);
        CHECK_EQ(opener_file(d.opener[i], root, "/../../etc/passwd"), -ENOENT);
        CHECK_EQ(opener_directory(d.opener[i], root, "/file"), -ENOTDIR);
    }
}

TEST(opener_opens_paths_of_the_machine)
{
    DESK;
    char path[64], long_path[OPENER_MAX_PATH + 1];
    snprintf(path, sizeof(path), "%s/file", d.dir);
    memset(long_path, 'a', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = 0;
    for (int i = 0; i < 2; i++) {
        AUTO_CLOSE int fd = opener_file(d.opener[i], -1, path);
        CHECK(fs_is_path(fd));
        CHECK_EQ(opener_file(d.opener[i], -1, long_path), -ENAMETOOLONG);
    }
}

TEST(opener_opens_roots_and_mappings)
{
    DESK;
    char path[64];
    long page = sysconf(_SC_PAGESIZE);
    snprintf(path, sizeof(path), "%s/file", d.dir);
    AUTO_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
    void *map = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, file, 0);
    CHECK(map != MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        AUTO_FREE char *name = NULL;
        AUTO_CLOSE int root = opener_root(d.opener[i], (u32)getpid());
        AUTO_CLOSE int fd = opener_mapping(d.opener[i], (u32)getpid(), (u64)map, (u64)map + (u64)page, &name);
        CHECK(fs_is_path(root));
        CHECK_EQ(opener_root(d.opener[i], 0x7fffffff), -ENOENT);
        CHECK(fd == -EPERM || (fs_is_path(fd) && name && !strcmp(name, path)));
    }
    munmap(map, (size_t)page);
}

TEST(opener_reads)
{
    DESK;
    AUTO_CLOSE int root = open(d.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        char text[4] = "";
        AUTO_CLOSE int fd = opener_file(d.opener[i], root, "file");
        CHECK_EQ(opener_read(d.opener[i], fd, 1, text, 2), 0);
        CHECK_STR(text, "bc");
        CHECK_EQ(opener_read(d.opener[i], fd, 2, text, 2), -ENODATA);
        CHECK_EQ(opener_read(d.opener[i], root, 0, text, 1), -ENOTSUP);
    }
}

/* As far as it can be read. */
TEST(opener_reads_memory)
{
    DESK;
    long page = sysconf(_SC_PAGESIZE);
    u8 *two = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    u8 got[OPENER_MAX_MEMORY];
    for (int i = 0; i < 4; i++)
        two[page - 4 + i] = (u8)("abcd"[i]);
    munmap(two + page, (size_t)page);
    for (int i = 0; i < 2; i++) {
        int n = opener_memory(d.opener[i], (u32)getpid(), (u64)(uintptr_t)(two + page - 4), got, sizeof(got));
        CHECK(n == 4 || (i && n == -EACCES)); /* a child may not read its parent everywhere */
        CHECK(n != 4 || !memcmp(got, "abcd", 4));
        CHECK(opener_memory(d.opener[i], (u32)getpid(), 4096, got, 8) < 0);
        CHECK_EQ(opener_memory(d.opener[i], (u32)getpid(), 4096, got, OPENER_MAX_MEMORY + 1), -EINVAL);
    }
    munmap(two, (size_t)page);
}

/* What is sent can be read; what was open already is sent as it is. */
TEST(opener_sends_what_it_opens)
{
    DESK;
    AUTO_CLOSE int root = open(d.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        int ends[2], got[PACKET_MAX_FDS];
        char text[8] = "";
        AUTO_CLOSE int fd = opener_file(d.opener[i], root, "file");
        AUTO_CLOSE int memory = fs_sealed_memfd("memory", "xyz", 3);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        CHECK_EQ(opener_send(d.opener[i], ends[0], "packet", 7, (int[]){fd, memory}, 2), 0);
        CHECK_EQ(packet_recv(ends[1], text, 7, got), 0);
        CHECK_STR(text, "packet");
        CHECK(pread(got[0], text, 3, 0) == 3 && !memcmp(text, "abc", 3));
        CHECK(pread(got[1], text, 3, 0) == 3 && !memcmp(text, "xyz", 3));
        close(got[0]);
        close(got[1]);
        CHECK_EQ(opener_send(d.opener[i], ends[0], "packet", 7, &root, 1), -ENOTSUP);
        close(ends[1]);
        CHECK_EQ(opener_send(d.opener[i], ends[0], "packet", 7, &fd, 1), -EPIPE);
        close(ends[0]);
    }
}

TEST(opener_starts_another_child_after_one_that_ended)
{
    DESK;
    AUTO_CLOSE int root = opener_root(d.opener[0], (u32)getpid());
    CHECK(fs_is_path(root));
    opener_rest(d.opener[0]);
    u64 used = opener_cpu_ns(d.opener[0]);
    CHECK(used > 0);
    AUTO_CLOSE int again = opener_root(d.opener[0], (u32)getpid());
    CHECK(fs_is_path(again));
    CHECK(opener_cpu_ns(d.opener[0]) > used);
    CHECK_EQ(hung_children(d.hung), 0);
}
