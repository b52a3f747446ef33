#include "debug/folder.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/vec.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILES 65536 /* looked at in the folder */
#define ALL_BYTES ((size_t)1 << 30)
#define SUFFIX    ".debug"

int folder_open(struct folder *f, const char *dir, size_t max_bytes)
{
    char own[] = "/tmp/xprof-debuginfod-XXXXXX";
    struct stat st;
    f->max_bytes = max_bytes ? max_bytes : ALL_BYTES;
    f->temporary = !dir;
    f->dir = strdup(dir ? dir : mkdtemp(own) ? own : "");
    if (!f->dir)
        return -ENOMEM;
    int rc = fs_mkdirs(f->dir);
    if (rc)
        return rc;
    if (stat(f->dir, &st))
        return -errno;
    return st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) ? -EPERM : 0;
}

void folder_close(struct folder *f)
{
    if (f->temporary && f->dir && *f->dir) {
        folder_make_room(f, SIZE_MAX, NULL);
        rmdir(f->dir);
    }
    free(f->dir);
    f->dir = NULL;
}

struct stored {
    char name[64];
    struct timespec used;
    size_t size;
};

static int by_use(const void *a, const void *b)
{
    const struct stored *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static void close_dir(DIR **d)
{
    if (*d)
        closedir(*d);
}

typedef VEC(struct stored) stored_list;

static void list_free(stored_list *l)
{
    vec_free(l);
}

/* All files of ours, and the sum of what they take of the disk. 0, -ENOMEM or -errno. */
static int list_files(DIR *dir, stored_list *all, size_t *sum)
{
    struct stat st;
    *sum = 0;
    for (struct dirent *e; (e = readdir(dir)) && all->n < MAX_FILES;) {
        if (!strstr(e->d_name, SUFFIX) || strlen(e->d_name) >= sizeof(all->v->name) ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        struct stored *s = VEC_PUSH(all);
        if (!s)
            return -ENOMEM;
        *s = (struct stored){.used = st.st_mtim, .size = fs_disk_bytes((size_t)st.st_size)};
        memcpy(s->name, e->d_name, strlen(e->d_name) + 1);
        *sum += s->size;
    }
    return 0;
}

static const char *last_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : "";
}

int folder_make_room(const struct folder *f, size_t room, const char *keep)
{
    CLEANUP(close_dir) DIR *dir = opendir(f->dir);
    CLEANUP(list_free) stored_list all = {0};
    size_t sum;
    int rc = dir ? list_files(dir, &all, &sum) : -errno;
    if (rc)
        return rc;
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), by_use);
    for (size_t i = 0; i < all.n && (room > f->max_bytes || sum > f->max_bytes - room); i++)
        if (strcmp(all.v[i].name, last_name(keep)) != 0 && !unlinkat(dirfd(dir), all.v[i].name, 0))
            sum -= all.v[i].size;
    return room > f->max_bytes || sum > f->max_bytes - room ? -EFBIG : 0;
}

size_t folder_bytes(const struct folder *f)
{
    CLEANUP(close_dir) DIR *dir = opendir(f->dir);
    CLEANUP(list_free) stored_list all = {0};
    size_t sum = 0;
    if (dir)
        list_files(dir, &all, &sum);
    return sum;
}

void folder_path(const struct folder *f, const char *id, const char *suffix, char path[4096])
{
    snprintf(path, 4096, "%s/%s" SUFFIX "%s", f->dir, id, suffix);
}

int folder_open_file(const struct folder *f, const char *id)
{
    char path[4096];
    folder_path(f, id, "", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    futimens(fd, NULL); /* used now */
    return fd;
}

/* An empty file is how it is remembered that no server has one. */
bool folder_is_missing(const struct folder *f, const char *id)
{
    char path[4096];
    struct stat st;
    folder_path(f, id, ".none", path);
    return !stat(path, &st) && clock_ns(CLOCK_REALTIME) - (u64)st.st_mtim.tv_sec * NS_PER_SEC < FOLDER_FORGET_NS;
}

void folder_note_missing(const struct folder *f, const char *id)
{
    char path[4096];
    folder_path(f, id, ".none", path);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        futimens(fd, NULL); /* it may have been there */
}
