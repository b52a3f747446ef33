#include "base/fs.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void remove_tree(const char (*dir)[32])
{
    static const char *const parts[] = {"root/in", "root/up", "root/abs", "root/fifo", "root", "out", ""};
    char path[64];
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        snprintf(path, sizeof(path), "%s/%s", *dir, parts[i]);
        remove(path);
    }
}

/* root/ holds a file, two links that want out, and a FIFO; `out` lies beside it. */
static int make_tree(const char *dir, int *root)
{
    char path[64];
    int d = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof(path), "%s/out", dir);
    int rc = d < 0 || fs_replace_file(path, "secret", 6, 0600) || mkdirat(d, "root", 0700);
    snprintf(path, sizeof(path), "%s/root/in", dir);
    rc = rc || fs_replace_file(path, "inside", 6, 0600) || symlinkat("../out", d, "root/up") ||
         symlinkat("/in", d, "root/abs") || mkfifoat(d, "root/fifo", 0600);
    *root = rc ? -1 : openat(d, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    close(d);
    return rc;
}

struct renaming {
    char from[64], to[64];
    bool began, stop;
};

static void *rename_often(void *arg)
{
    struct renaming *r = arg;
    while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
        rename(r->from, r->to);
        rename(r->to, r->from);
        __atomic_store_n(&r->began, true, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* The kernel gives up on ".." when anything is renamed meanwhile. */
TEST(fs_in_root_goes_up_while_others_rename)
{
    CLEANUP(remove_tree) char dir[32] = "/tmp/xprof-fs-XXXXXX";
    AUTO_CLOSE int root = -1;
    struct renaming r = {.stop = false};
    pthread_t t;
    int failed_opens = 0;
    CHECK(mkdtemp(dir) && !make_tree(dir, &root));
    CHECK_EQ(mkdirat(root, "below", 0700), 0);
    snprintf(r.from, sizeof(r.from), "%s/out", dir);
    snprintf(r.to, sizeof(r.to), "%s/renamed", dir);
    CHECK_EQ(pthread_create(&t, NULL, rename_often, &r), 0);
    while (!__atomic_load_n(&r.began, __ATOMIC_RELAXED))
        sched_yield();
    for (int i = 0; i < 50000; i++) {
        AUTO_CLOSE int fd = fs_open_in_root(root, "below/../in", O_PATH);
        failed_opens += fd < 0;
    }
    __atomic_store_n(&r.stop, true, __ATOMIC_RELAXED);
    pthread_join(t, NULL);
    CHECK_EQ(failed_opens, 0);
}

TEST(fs_in_root_stays_inside)
{
    CLEANUP(remove_tree) char dir[32] = "/tmp/xprof-fs-XXXXXX";
    AUTO_CLOSE int root = -1;
    AUTO_FREE char *text = NULL, *linked = NULL, *none = NULL;
    size_t n = 0;
    CHECK(mkdtemp(dir) && !make_tree(dir, &root));
    CHECK_EQ(fs_read_in_root(root, "in", 100, &text, &n), 0);
    CHECK(n == 6 && !strcmp(text, "inside"));
    CHECK_EQ(fs_read_in_root(root, "/abs", 100, &linked, NULL), 0); /* an absolute link begins at this root */
    CHECK_STR(linked, "inside");
    CHECK_EQ(fs_read_in_root(root, "up", 100, &none, NULL), -ENOENT);
    CHECK_EQ(fs_read_in_root(root, "../out", 100, &none, NULL), -ENOENT);
    CHECK_EQ(fs_read_in_root(root, "in", 5, &none, NULL), -EFBIG);
    CHECK_EQ(fs_read_in_root(root, "fifo", 100, &none, NULL), -ENOTSUP); /* and nobody waits for its writer */
    CHECK(!none);
}

TEST(fs_opens_nothing_but_regular_files)
{
    char byte;
    AUTO_CLOSE int device = open("/dev/null", O_PATH | O_CLOEXEC);
    AUTO_CLOSE int folder = open("/", O_PATH | O_CLOEXEC);
    AUTO_CLOSE int program = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    CHECK_EQ(fs_open_regular(device), -ENOTSUP);
    CHECK_EQ(fs_open_regular(folder), -ENOTSUP);
    CHECK_EQ(fs_open_regular(-1), -EBADF);
    AUTO_CLOSE int fd = fs_open_regular(program);
    CHECK_EQ(read(fd, &byte, 1), 1);
    CHECK_EQ(byte, '\x7f');
}

static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n - 2; /* . and .. */
}

/* The old bytes stay until the new ones are all there; nothing is left behind when they cannot be. */
TEST(fs_replace_is_all_or_nothing)
{
    CLEANUP(remove_tree) char dir[32] = "/tmp/xprof-fs-XXXXXX";
    char path[64], folder[64];
    AUTO_FREE char *text = NULL;
    struct stat st;
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/out", dir);
    snprintf(folder, sizeof(folder), "%s/root", dir);
    CHECK_EQ(fs_replace_file(path, "old", 3, 0600), 0);
    CHECK_EQ(fs_replace_file(path, "newer", 5, 0644), 0);
    CHECK_EQ(fs_read_file(path, 100, &text, NULL), 0);
    CHECK_STR(text, "newer");
    CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0644);
    CHECK(!mkdir(folder, 0700));
    CHECK_EQ(fs_replace_file(folder, "x", 1, 0600), -EISDIR);
    CHECK_EQ(entries(dir), 2);
    CHECK_EQ(fs_replace_file("/nowhere/at/all", "x", 1, 0600), -ENOENT);
}

TEST(fs_mkdirs_makes_what_is_missing)
{
    CLEANUP(remove_tree) char dir[32] = "/tmp/xprof-fs-XXXXXX";
    char path[64];
    struct stat st;
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/root/in", dir);
    CHECK_EQ(fs_mkdirs(path), 0);
    CHECK_EQ(entries(dir), 1);
    CHECK(!stat(path, &st) && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    CHECK_EQ(fs_mkdirs(path), 0); /* all of it is there */
    snprintf(path, sizeof(path), "%s/out", dir);
    CHECK_EQ(fs_replace_file(path, "x", 1, 0600), 0);
    snprintf(path, sizeof(path), "%s/out/below/a/file", dir);
    CHECK_EQ(fs_mkdirs(path), -ENOTDIR);
}

TEST(fs_says_why_it_cannot_read_or_write)
{
    AUTO_FREE char *text = NULL;
    size_t n = 0;
    AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHECK_EQ(fs_read_file("/nowhere", 100, &text, NULL), -ENOENT);
    CHECK_EQ(fs_read_file("/", 100, &text, NULL), -EISDIR);
    CHECK_EQ(fs_read_file("/proc/self/maps", 10, &text, NULL), -EFBIG);
    CHECK(!text);
    CHECK_EQ(fs_read_file("/proc/self/maps", 1 << 24, &text, &n), 0); /* which says to be empty */
    CHECK(n > 0 && strlen(text) == n);
    CHECK_EQ(fs_write_all(full, "x", 1), -ENOSPC);
    CHECK_EQ(fs_write_all(full, "", 0), 0);
}

/* The kernel takes what it can read of the bytes: what is left is written from where it stopped, or is an error. */
TEST(fs_write_goes_on_where_it_stopped)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *bytes = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    AUTO_CLOSE int fd = memfd_create("test", MFD_CLOEXEC);
    CHECK(bytes != MAP_FAILED && !mprotect(bytes + 2 * page, page, PROT_NONE));
    CHECK_EQ(fs_write_all(fd, bytes + page, 2 * page), -EFAULT);
    CHECK_EQ(fs_sealed_memfd("test", bytes + page, 2 * page), -EFAULT);
    CHECK(!munmap(bytes, 3 * page));
}

TEST(fs_write_does_not_believe_an_old_error)
{
    char got[8] = "";
    AUTO_CLOSE int fd = memfd_create("test", MFD_CLOEXEC);
    errno = EINTR;
    CHECK_EQ(fs_write_all(fd, "abc", 3), 0);
    CHECK_EQ(pread(fd, got, sizeof(got), 0), 3);
    CHECK_STR(got, "abc");
}

TEST(fs_memory_that_is_sealed_does_not_change)
{
    char name[300];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    CHECK_EQ(fs_sealed_memfd(name, "abc", 3), -EINVAL); /* 249 bytes are all that a name may have */
    AUTO_CLOSE int fd = fs_sealed_memfd("test", "abc", 3);
    AUTO_CLOSE int open_one = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(fs_is_sealed(fd) && !fs_is_sealed(open_one) && !fs_is_sealed(null));
    CHECK(write(fd, "x", 1) < 0 && ftruncate(fd, 1) < 0);
    CHECK_EQ(fcntl(open_one, F_ADD_SEALS, F_SEAL_WRITE), 0); /* it may still be cut: not enough */
    CHECK(!fs_is_sealed(open_one));
}
