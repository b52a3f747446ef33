#include "container/hierarchy.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "container/cgroup_name.h"
#include <errno.h>
#include <libcgroup.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Every runtime joins these, and no kernel leaves them out; in the order of preference. */
static const char *const controllers[] = {"pids", "cpu", "devices", "freezer", "cpuacct", "blkio", "net_cls"};
#define CONTROLLERS (sizeof(controllers) / sizeof(*controllers))

struct found { /* mount points, "" for none */
    char unified[512], v1[512];
    const char *controller;
};

static long magic(const char *path)
{
    struct statfs fs;
    return statfs(path, &fs) ? 0 : (long)fs.f_type;
}

/* A mount point of that kind, if it fits. */
static bool note(char at[512], const char *path, long kind)
{
    size_t n = strlen(path) + 1;
    if (n > 512 || magic(path) != kind)
        return false;
    memcpy(at, path, n);
    return true;
}

static bool note_unified(struct found *f, const char *path)
{
    return !f->unified[0] && note(f->unified, path, CGROUP2_SUPER_MAGIC);
}

/* A controller that stands before the one that was found takes its place. */
static void note_v1(struct found *f, const char *controller, const char *path)
{
    for (size_t i = 0; i < CONTROLLERS && controllers[i] != f->controller; i++)
        if (!strcmp(controllers[i], controller) && note(f->v1, path, CGROUP_SUPER_MAGIC)) {
            f->controller = controllers[i];
            return;
        }
}

/* libcgroup prints its errors unless it is given somebody else to tell. */
static void quiet(void *ctx, int level, const char *fmt, va_list args)
{
}

/* What is mounted in our namespace, wherever that is. */
static void ask_libcgroup(struct found *f)
{
    struct cgroup_mount_point at;
    void *walk = NULL;
    cgroup_set_logger(quiet, CGROUP_LOG_ERROR, NULL);
    if (cgroup_init())
        return;
    for (int rc = cgroup_get_controller_begin(&walk, &at); !rc; rc = cgroup_get_controller_next(&walk, &at)) {
        note_v1(f, at.name, at.path);
        note_unified(f, at.path);
    }
    cgroup_get_controller_end(&walk);
}

/* libcgroup does not name a unified tree without controllers, nor what is mounted in another place than ours. */
static void look_below(struct found *f, const char *root)
{
    char path[512];
    if (note_unified(f, root))
        return;
    snprintf(path, sizeof(path), "%s/unified", root);
    note_unified(f, path);
    for (size_t i = 0; i < CONTROLLERS; i++) {
        snprintf(path, sizeof(path), "%s/%s", root, controllers[i]);
        note_v1(f, controllers[i], path);
    }
}

/* kernfs gives its root inode 1; a private cgroup namespace's root is some group with another one. */
static bool is_whole(const char *mount)
{
    struct stat st;
    return !stat(mount, &st) && st.st_ino == 1;
}

static bool is_containers(void *ctx, u64 id, const char *path, u32 pid)
{
    struct cgroup_name n;
    cgroup_name_parse(&n, path, strlen(path));
    *(bool *)ctx = n.kind == CGROUP_CONTAINER || n.kind == CGROUP_POD;
    return !*(bool *)ctx;
}

u32 hierarchy_number(const char *cgroups, const char *controller)
{
    size_t n = strlen(controller);
    for (const char *line = cgroups; *line; line = strchrnul(line, '\n'), line += *line != 0)
        if (!strncmp(line, controller, n) && (line[n] == '\t' || line[n] == ' '))
            return (u32)strtoul(line + n, NULL, 10);
    return 0;
}

static void choose(struct hierarchy *h, bool unified, const struct found *f)
{
    h->unified = unified;
    h->number = 0;
    snprintf(h->mount, sizeof(h->mount), "%s", unified ? f->unified : f->v1);
    snprintf(h->controller, sizeof(h->controller), "%s", unified ? "" : f->controller);
    h->whole = is_whole(h->mount);
    AUTO_FREE char *cgroups = NULL;
    if (!unified && !fs_read_file("/proc/cgroups", 1 << 16, &cgroups, NULL))
        h->number = hierarchy_number(cgroups, h->controller);
}

static int decide(struct hierarchy *out, const struct found *f)
{
    struct hierarchy h = {0};
    bool joined = false;
    if (!f->unified[0] && !f->v1[0])
        return -ENODATA;
    h.mode = !f->v1[0] ? HIERARCHY_V2 : f->unified[0] ? HIERARCHY_HYBRID : HIERARCHY_V1;
    choose(&h, f->unified[0] != 0, f);
    if (h.mode == HIERARCHY_HYBRID) {
        hierarchy_scan(&h, is_containers, &joined);
        choose(&h, joined, f);
    }
    *out = h;
    return 0;
}

int hierarchy_find(struct hierarchy *out, const char *root)
{
    struct found ours = {0}, host = {0};
    struct hierarchy seen;
    if (root) {
        look_below(&ours, root);
        return decide(out, &ours);
    }
    ask_libcgroup(&ours);
    look_below(&ours, "/sys/fs/cgroup");
    int rc = decide(&seen, &ours);
    if (!rc && seen.whole) {
        *out = seen;
        return 0;
    }
    look_below(&host, "/proc/1/root/sys/fs/cgroup");
    struct hierarchy above;
    if (!decide(&above, &host) && (rc || above.whole)) {
        *out = above;
        return 0;
    }
    if (!rc)
        *out = seen;
    return rc;
}

const char *hierarchy_mode_name(enum hierarchy_mode mode)
{
    static const char *const names[] = {"v1", "hybrid", "v2"};
    return names[mode];
}
