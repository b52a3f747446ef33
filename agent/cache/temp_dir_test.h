/* A folder for a cache, and what the tests of caches put into it and look for. */
#pragma once
#include "base/cleanup.h"
#include "base/fs.h"
#include "bpf/xprof.h"
#include "cache/cache.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET FS_BLOCK /* of the disk: the file of the secret */

struct temp_dir {
    char path[32];
};
static inline void remove_all(struct temp_dir *t)
{
    DIR *d = opendir(t->path);
    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(t->path);
}
static inline struct temp_dir make_temp(void)
{
    struct temp_dir t = {"/tmp/xprof-cache.XXXXXX"};
    if (!mkdtemp(t.path))
        t.path[0] = 0;
    return t;
}

static inline struct table_key key_of(u8 n)
{
    return (struct table_key){.digest = {n}, .build_id = {n, n}, .build_id_len = 2};
}

static inline size_t image_len(const struct xp_table *t)
{
    return sizeof(*t) + 4 * ((size_t)t->nblocks + 1 + t->nrows) + 8 * (size_t)t->nrules;
}

static inline void path_in(const struct temp_dir *t, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", t->path, name);
}

static inline bool exists(const struct temp_dir *t, const char *name)
{
    char path[256];
    struct stat st;
    path_in(t, name, path);
    return !lstat(path, &st);
}

/* A file of so many bytes that was used at this time. */
static inline bool leave(const struct temp_dir *t, const char *name, off_t bytes, struct timespec used)
{
    char path[256];
    path_in(t, name, path);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && !ftruncate(fd, bytes) && !futimens(fd, (struct timespec[2]){used, used});
}

/* The file whose name ends so was used just now, though it says that it was in 1970. */
static inline bool make_old(const struct temp_dir *t, const char *name)
{
    char path[256];
    const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    path_in(t, name, path);
    return !utimensat(AT_FDCWD, path, then, 0);
}

static inline bool is_old(const struct temp_dir *t, const char *name)
{
    char path[256];
    struct stat st;
    path_in(t, name, path);
    return !stat(path, &st) && st.st_mtim.tv_sec == 1000;
}
