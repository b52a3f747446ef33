#include "base/fs.h"
#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define IN_ROOT_TRIES 32
#define SEALS         (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* All that is left in fd; /proc files have no size, so the buffer grows. */
static int read_all(int fd, size_t max, char **out, size_t *len)
{
    AUTO_FREE char *data = NULL;
    size_t n = 0, cap = 0;
    for (;;) {
        if (n + 1 >= cap) {
            cap = cap ? cap * 2 : 4096;
            char *p = realloc(data, cap);
            if (!p)
                return -ENOMEM;
            data = p;
        }
        ssize_t r = read(fd, data + n, cap - 1 - n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        if (!r)
            break;
        n += (size_t)r;
        if (n > max)
            return -EFBIG;
    }
    data[n] = 0;
    *out = TAKE_PTR(data);
    if (len)
        *len = n;
    return 0;
}

int fs_read_at(int fd, void *to, size_t len, uint64_t offset)
{
    for (size_t n = 0; n < len;) {
        ssize_t r = pread(fd, (char *)to + n, len - n, (off_t)(offset + n));
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return r ? -errno : -ENODATA;
        n += (size_t)r;
    }
    return 0;
}

int fs_read_file(const char *path, size_t max, char **out, size_t *len)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : read_all(fd, max, out, len);
}

/* A path with ".." fails with EAGAIN when anything anywhere is renamed or mounted meanwhile (openat2(2)), which happens
 * all the time on a node. */
int fs_open_in_root(int root_fd, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK),
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    long fd = -1;
    for (int i = 0; i < IN_ROOT_TRIES; i++) {
        fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd < 0 ? -errno : (int)fd;
}

int fs_stat(int fd, struct stat *out)
{
    struct statx x;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x))
        return -errno;
    *out = (struct stat){
        .st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
        .st_ino = x.stx_ino,
        .st_mode = x.stx_mode,
        .st_nlink = x.stx_nlink,
        .st_uid = x.stx_uid,
        .st_gid = x.stx_gid,
        .st_size = (off_t)x.stx_size,
        .st_atim = {x.stx_atime.tv_sec, x.stx_atime.tv_nsec},
        .st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
        .st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec},
    };
    return 0;
}

bool fs_is_path(int fd)
{
    int mode = fcntl(fd, F_GETFL);
    return mode >= 0 && mode & O_PATH;
}

int fs_open_regular(int place)
{
    char self[32];
    struct stat st;
    if (fstat(place, &st))
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ENOTSUP;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
    int fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int fs_read_in_root(int root_fd, const char *path, size_t max, char **out, size_t *len)
{
    struct stat st;
    AUTO_CLOSE int fd = fs_open_in_root(root_fd, path, O_RDONLY);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st))
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ENOTSUP;
    return read_all(fd, max, out, len);
}

int fs_write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t r = write(fd, p, len);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        p += r;
        len -= (size_t)r;
    }
    return 0;
}

int fs_mkdirs(const char *path)
{
    AUTO_FREE char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    for (char *slash = copy + 1;; slash++) {
        slash = strchrnul(slash, '/');
        char keep = *slash;
        *slash = 0;
        if (mkdir(copy, 0700) && errno != EEXIST)
            return -errno;
        *slash = keep;
        if (!keep)
            return 0;
    }
}

int fs_replace_file(const char *path, const void *data, size_t len, mode_t mode)
{
    AUTO_FREE char *tmp = NULL;
    if (asprintf(&tmp, "%s.XXXXXX", path) < 0)
        return -ENOMEM;
    AUTO_CLOSE int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = fs_write_all(fd, data, len);
    if (!rc && fchmod(fd, mode))
        rc = -errno;
    if (!rc && rename(tmp, path))
        rc = -errno;
    if (rc)
        unlink(tmp);
    return rc;
}

int fs_sealed_memfd(const char *name, const void *data, size_t len)
{
    AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int rc = fs_write_all(fd, data, len);
    if (rc)
        return rc;
    if (fcntl(fd, F_ADD_SEALS, SEALS))
        return -errno;
    return TAKE_FD(fd);
}

int fs_is_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS;
}
