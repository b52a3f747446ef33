#include "base/fs.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

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
