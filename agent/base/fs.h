/* Reads whole files up to a limit, and parts of files; replaces files atomically, and creates sealed memory files. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stat;

/* Reads a whole file of at most `max` bytes; NUL-terminated, *out is owned by the caller. Returns 0, -EFBIG or -errno.
 */
int fs_read_file(const char *path, size_t max, char **out, size_t *len);

/* Reads exactly `len` bytes at an offset. Returns 0; -ENODATA: the file ends before; or -errno. */
int fs_read_at(int fd, void *to, size_t len, uint64_t offset);

/* Writes all bytes, continuing after EINTR and short writes. Returns 0 or -errno. */
int fs_write_all(int fd, const void *data, size_t len);

#define FS_BLOCK ((size_t)4096)
/* Returns what a file of that length takes of a disk, as du(1) counts it: whole blocks. */
static inline size_t fs_disk_bytes(size_t len)
{
    return (len + FS_BLOCK - 1) / FS_BLOCK * FS_BLOCK;
}

/* Like mkdir -p, with mode 0700 for new directories. Returns 0 or -errno. */
int fs_mkdirs(const char *path);

/* Writes a temporary file next to `path` and renames it, so that readers see either the old or the new contents.
 * Returns 0 or -errno. */
int fs_replace_file(const char *path, const void *data, size_t len, mode_t mode);

/* Creates a memfd with `data`, sealed against writing, growing and shrinking. Returns an owned fd or -errno. */
int fs_sealed_memfd(const char *name, const void *data, size_t len);

/* Tells whether the fd is a memfd whose size and contents can no longer change (sealed with SHRINK, GROW and WRITE). */
int fs_is_sealed(int fd);

/* fstat(2) by what the kernel knows already, without asking the file system, which may be slow or never answer
 * (statx(2), AT_STATX_DONT_SYNC; local file systems make no difference). Returns 0 or -errno. */
int fs_stat(int fd, struct stat *out);

/* Opens a path with the given directory as its "/": neither ".." nor symbolic links lead outside of it (openat2(2),
 * RESOLVE_IN_ROOT, Linux 5.6). Mount points are crossed, magic links are refused. Adds O_CLOEXEC and O_NONBLOCK.
 * Returns an owned fd or -errno. */
int fs_open_in_root(int root_fd, const char *path, int flags);

/* Tells whether a descriptor only names a file (O_PATH). */
bool fs_is_path(int fd);

/* Reopens the file of a descriptor (O_PATH, or writable) for reading. Opening a device can have side effects, so the
 * type of an untrusted path is checked first, and only regular files are opened. Returns an owned fd (O_RDONLY,
 * O_NONBLOCK); -ENOTSUP: not a regular file; or -errno. */
int fs_open_regular(int place);

/* Reads a whole regular file of at most `max` bytes, opened by fs_open_in_root. NUL-terminated; *out is owned by the
 * caller. Returns 0; -EFBIG; -ENOTSUP: not a regular file; or -errno. */
int fs_read_in_root(int root_fd, const char *path, size_t max, char **out, size_t *len);
