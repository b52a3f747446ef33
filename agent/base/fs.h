/* Reads whole files up to a limit, replaces files atomically, and creates sealed memory files. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Reads a whole file of at most `max` bytes; NUL-terminated, *out is owned by the caller. Returns 0, -EFBIG or -errno.
 */
int fs_read_file(const char *path, size_t max, char **out, size_t *len);

/* Writes all of it, through EINTR and short writes. 0 or -errno. */
int fs_write_all(int fd, const void *data, size_t len);

/* mkdir -p with mode 0700 for what is new. 0 or -errno. */
int fs_mkdirs(const char *path);

/* A temporary file beside `path`, then rename: readers see the old bytes or all of the new. 0 or -errno. */
int fs_replace_file(const char *path, const void *data, size_t len, mode_t mode);

/* A memfd with `data`, sealed against writing, growing and shrinking. Returns an owned fd or -errno. */
int fs_sealed_memfd(const char *name, const void *data, size_t len);

/* The fd is a memfd whose size and bytes cannot change any more (all of SHRINK, GROW, WRITE). */
int fs_is_sealed(int fd);

/* Opens a path below a directory that stands for "/": no "..", link or mount trick in it leads out (openat2(2),
 * RESOLVE_IN_ROOT, Linux 5.6). O_CLOEXEC and O_NONBLOCK are added. Owned fd or -errno. */
int fs_open_in_root(int root_fd, const char *path, int flags);

/* Opens for reading what a descriptor (O_PATH, or one that may write) stands for. A device does things when it is
 * opened, so somebody else's path is looked at first: nothing but a regular file is opened. Owned fd (O_RDONLY,
 * O_NONBLOCK), -ENOTSUP (no regular file) or -errno. */
int fs_open_regular(int place);

/* fs_open_in_root for a regular file of at most `max` bytes, read whole; NUL-terminated, *out is owned by the caller.
 * 0, -EFBIG, -ENOTSUP (no regular file) or -errno. */
int fs_read_in_root(int root_fd, const char *path, size_t max, char **out, size_t *len);
