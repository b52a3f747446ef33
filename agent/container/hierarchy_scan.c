/* Walks: down the tree of directories, or through the processes. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/map.h"
#include "container/cgroup_name.h"
#include "container/hierarchy.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define PATH_SIZE     4096
#define TEXT_MAX      (64 * 1024) /* of /proc/PID/cgroup */
#define KERNFS_HANDLE 0xfe        /* FILEID_KERNFS of include/linux/exportfs.h */

struct walk {
    hierarchy_each each;
    void *ctx;
    char path[PATH_SIZE];
    int seen;
    bool ended, too_many;
};

static void cleanup_dir(DIR **d)
{
    if (*d)
        closedir(*d);
}

static int walk_below(struct walk *w, int parent, const char *name, size_t len, unsigned depth);

/* One directory: its group, then, when it has directories of its own (kernfs counts them in the links: 2 is none),
 * those. */
static void visit(struct walk *w, int dir, const char *name, size_t len, unsigned depth)
{
    struct stat st;
    size_t n = strlen(name);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
        return; /* it went meanwhile */
    if (w->seen == HIERARCHY_MAX_GROUPS || depth == HIERARCHY_MAX_DEPTH || len + n + 2 > PATH_SIZE) {
        w->too_many = true;
        return;
    }
    w->path[len] = '/';
    memcpy(w->path + len + 1, name, n + 1);
    w->seen++;
    w->ended = !w->each(w->ctx, st.st_ino, w->path, 0);
    if (!w->ended && st.st_nlink != 2)
        walk_below(w, dir, name, len + 1 + n, depth + 1);
    w->path[len] = 0;
}

static int walk_below(struct walk *w, int parent, const char *name, size_t len, unsigned depth)
{
    AUTO_CLOSE int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    CLEANUP(cleanup_dir) DIR *d = fdopendir(fd);
    if (!d)
        return -errno;
    TAKE_FD(fd);
    for (struct dirent *e; !w->ended && (e = readdir(d));)
        if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            visit(w, dirfd(d), e->d_name, len, depth);
    return 0;
}

int hierarchy_scan(const struct hierarchy *h, hierarchy_each each, void *ctx)
{
    struct walk w = {.each = each, .ctx = ctx};
    AUTO_CLOSE int root = open(h->mount, O_PATH | O_DIRECTORY | O_CLOEXEC); /* the mount may be behind a link */
    if (root < 0)
        return -errno;
    int rc = walk_below(&w, root, ".", 0, 0);
    return rc ? rc : w.too_many ? -E2BIG : w.seen;
}

static const char *proc_of(const struct hierarchy *h)
{
    return h->proc ? h->proc : "/proc";
}

int hierarchy_path_of(const struct hierarchy *h, u32 pid, char path[], u32 size)
{
    AUTO_FREE char *text = NULL;
    char file[128];
    const char *p;
    size_t n;
    snprintf(file, sizeof(file), "%s/%u/cgroup", proc_of(h), pid);
    int rc = fs_read_file(file, TEXT_MAX, &text, NULL);
    if (rc)
        return rc == -ESRCH ? -ENOENT : rc;
    rc = cgroup_line_find(text, h->controller, &p, &n);
    if (!rc)
        snprintf(path, size, "%.*s", (int)n, p);
    return rc;
}

/* A path that climbs ("/../..") is one that our namespace cannot follow. */
static bool can_follow(const struct hierarchy *h, const char *path)
{
    return h->whole && strncmp(path, "/..", 3) != 0;
}

static int id_in_tree(const struct hierarchy *h, const char *path, u64 *id)
{
    char full[PATH_SIZE + 512];
    struct stat st;
    snprintf(full, sizeof(full), "%s%s", h->mount, path);
    if (stat(full, &st))
        return -ENOENT;
    *id = st.st_ino;
    return 0;
}

/* A container's own view of cgroups begins at its group. The path is the container's to choose: it is opened below its
 * root, and only a cgroup file system of the right kind counts. */
static int id_in_process(const struct hierarchy *h, u32 pid, u64 *id)
{
    char root_path[128], place[64];
    struct statfs fs;
    struct stat st;
    snprintf(root_path, sizeof(root_path), "%s/%u/root", proc_of(h), pid);
    snprintf(place, sizeof(place), "/sys/fs/cgroup/%s",
             h->mode == HIERARCHY_V2 ? ""
             : h->unified            ? "unified"
                                     : h->controller);
    AUTO_CLOSE int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -ENOENT;
    AUTO_CLOSE int fd = fs_open_in_root(root, place, O_PATH | O_DIRECTORY);
    if (fd < 0 || fstatfs(fd, &fs) || fstat(fd, &st))
        return -ENOENT;
    if (fs.f_type != (h->unified ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC) || st.st_ino == 1)
        return -ENOENT;
    *id = st.st_ino;
    return 0;
}

int hierarchy_id_of(const struct hierarchy *h, u32 pid, const char *path, u64 *id)
{
    return can_follow(h, path) ? id_in_tree(h, path, id) : id_in_process(h, pid, id);
}

/* One process: its group, when no other process was in it. */
static bool visit_process(const struct hierarchy *h, u32 pid, struct map *seen, hierarchy_each each, void *ctx, int *n)
{
    char path[PATH_SIZE];
    struct cgroup_name name;
    u64 id;
    if (hierarchy_path_of(h, pid, path, sizeof(path)))
        return true;
    u64 *known = map_put(seen, hash_bytes(path, strlen(path), 0));
    if (!known || *known)
        return true;
    *known = 1;
    cgroup_name_parse(&name, path, strlen(path));
    if (name.kind == CGROUP_CONTAINER)
        path[name.own] = 0; /* its namespace begins at the container, wherever below it the process is */
    if (hierarchy_id_of(h, pid, path, &id)) {
        *known = 0; /* perhaps the next process tells */
        return true;
    }
    ++*n;
    return each(ctx, id, path, pid);
}

int hierarchy_scan_processes(const struct hierarchy *h, hierarchy_each each, void *ctx)
{
    CLEANUP(map_free) struct map seen = {0};
    CLEANUP(cleanup_dir) DIR *d = opendir(proc_of(h));
    int n = 0;
    if (!d)
        return -errno;
    for (struct dirent *e; (e = readdir(d)) && seen.n < HIERARCHY_MAX_GROUPS;)
        if (isdigit((unsigned char)e->d_name[0]) &&
            !visit_process(h, (u32)strtoul(e->d_name, NULL, 10), &seen, each, ctx, &n))
            break;
    return n;
}

bool hierarchy_is_gone(const struct hierarchy *h, u64 id)
{
    union {
        struct file_handle head;
        char room[sizeof(struct file_handle) + sizeof(id)];
    } handle = {.head = {.handle_bytes = sizeof(id), .handle_type = KERNFS_HANDLE}};
    AUTO_CLOSE int mount = open(h->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (mount < 0)
        return false;
    memcpy(handle.head.f_handle, &id, sizeof(id));
    AUTO_CLOSE int fd = open_by_handle_at(mount, &handle.head, O_PATH | O_CLOEXEC);
    return fd < 0 && errno == ESTALE;
}
