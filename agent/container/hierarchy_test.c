#include "base/cleanup.h"
#include "base/test.h"
#include "container/cgroup_name.h"
#include "base/fs.h"
#include "container/hierarchy.h"
#include "container/processes_test.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder stands for a mounted tree: what counts is the walk. */
static const char *const groups[] = {"kubepods", "kubepods/pod1", "kubepods/pod1/a", "system.slice",
                                     "system.slice/x.service"};
#define GROUPS (sizeof(groups) / sizeof(*groups))

static void remove_tree(struct hierarchy *h)
{
    char path[700];
    for (size_t i = GROUPS; i-- > 0;) {
        snprintf(path, sizeof(path), "%s/%s", h->mount, groups[i]);
        rmdir(path);
    }
    rmdir(h->mount);
}

static int make_tree(struct hierarchy *h)
{
    char path[700];
    snprintf(h->mount, sizeof(h->mount), "/tmp/xprof-tree-XXXXXX");
    if (!mkdtemp(h->mount))
        return -1;
    for (size_t i = 0; i < GROUPS; i++) {
        snprintf(path, sizeof(path), "%s/%s", h->mount, groups[i]);
        if (mkdir(path, 0700))
            return -1;
    }
    h->unified = h->whole = true;
    return 0;
}

struct seen {
    int n, stop_after;
    u64 container;
    bool parents_first;
};

static bool count(void *ctx, u64 id, const char *path, u32 pid)
{
    struct seen *s = ctx;
    if (!strcmp(path, "/kubepods/pod1") && !s->container)
        s->parents_first = true;
    if (!strcmp(path, "/kubepods/pod1/a"))
        s->container = id;
    return ++s->n != s->stop_after;
}

TEST(hierarchy_scan_of_a_tree)
{
    CLEANUP(remove_tree) struct hierarchy h = {.mode = HIERARCHY_V2};
    struct seen all = {0}, some = {.stop_after = 2};
    struct stat st;
    char path[700];
    u64 id = 0;
    CHECK_EQ(make_tree(&h), 0);
    CHECK_EQ(hierarchy_scan(&h, count, &all), GROUPS);
    CHECK(all.n == GROUPS && all.parents_first);
    snprintf(path, sizeof(path), "%s/kubepods/pod1/a", h.mount);
    CHECK(!stat(path, &st) && st.st_ino == all.container);
    CHECK_EQ(hierarchy_id_of(&h, 0, "/kubepods/pod1/a", &id), 0);
    CHECK_EQ(id, all.container);
    CHECK_EQ(hierarchy_id_of(&h, 0, "/kubepods/pod2", &id), -ENOENT);
    hierarchy_scan(&h, count, &some);
    CHECK_EQ(some.n, 2);
}

TEST(hierarchy_number_of_a_controller)
{
    const char *text = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t1\t1\ncpu\t4\t2\t1\npids\t8\t1\t1";
    CHECK_EQ(hierarchy_number(text, "pids"), 8);
    CHECK_EQ(hierarchy_number(text, "cpu"), 4);
    CHECK_EQ(hierarchy_number(text, "memory"), 0);
    CHECK_EQ(hierarchy_number("", "cpu"), 0);
}

TEST(hierarchy_none)
{
    struct hierarchy h = {.mount = "untouched"};
    CHECK_EQ(hierarchy_find(&h, "/nowhere"), -ENODATA);
    CHECK_EQ(hierarchy_find(&h, "/tmp"), -ENODATA);
    CHECK_STR(h.mount, "untouched");
}

TEST(hierarchy_of_this_machine)
{
    struct hierarchy h;
    char path[512];
    u64 id;
    if (hierarchy_find(&h, NULL))
        SKIP("no cgroups are mounted");
    CHECK_EQ(h.unified, h.controller[0] == 0);
    CHECK(strcmp(h.controller, "memory") != 0 && strcmp(h.controller, "cpuset") != 0);
    CHECK_EQ(hierarchy_path_of(&h, (u32)getpid(), path, sizeof(path)), 0);
    CHECK_EQ(path[0], '/');
    if (h.whole && strncmp(path, "/..", 3) != 0)
        CHECK_EQ(hierarchy_id_of(&h, (u32)getpid(), path, &id), 0);
    CHECK_EQ(hierarchy_path_of(&h, 0x7fffffff, path, sizeof(path)), -ENOENT);
}

/* A group that comes and goes; where groups cannot be made, or handles not be opened, only that nothing is called gone
 * that is not known to be. */
TEST(hierarchy_tells_what_is_gone)
{
    struct hierarchy h;
    struct stat st = {0};
    char path[600];
    if (hierarchy_find(&h, NULL))
        SKIP("no cgroups are mounted");
    CHECK(!hierarchy_is_gone(&h, 1));
    snprintf(path, sizeof(path), "%s/xprof-unit-%d", h.mount, (int)getpid());
    if (mkdir(path, 0700))
        SKIP("cgroups cannot be made here");
    bool there = !stat(path, &st) && !hierarchy_is_gone(&h, st.st_ino);
    rmdir(path);
    CHECK(there);
    if (!geteuid())
        CHECK(hierarchy_is_gone(&h, st.st_ino));
}

struct own { /* what a scan of processes says of the group that we are in */
    const char *path;
    u64 id;
    int times, all, stop_after;
};

static bool look_for_own(void *ctx, u64 id, const char *path, u32 pid)
{
    struct own *o = ctx;
    if (!strcmp(path, o->path)) {
        o->id = id;
        o->times++;
    }
    return pid && ++o->all != o->stop_after;
}

/* Each group that has processes is seen once, however many they are. */
TEST(hierarchy_scan_of_processes)
{
    struct hierarchy h;
    char path[512];
    u64 id = 0;
    if (hierarchy_find(&h, NULL))
        SKIP("no cgroups are mounted");
    CHECK_EQ(hierarchy_path_of(&h, (u32)getpid(), path, sizeof(path)), 0);
    if (hierarchy_id_of(&h, (u32)getpid(), path, &id))
        SKIP("our own cgroup is out of sight");
    struct cgroup_name name;
    cgroup_name_parse(&name, path, (u32)strlen(path));
    if (name.kind == CGROUP_CONTAINER)
        SKIP("the tests run in a container");
    struct own o = {.path = path}, first = {.path = path, .stop_after = 1};
    int n = hierarchy_scan_processes(&h, look_for_own, &o);
    CHECK(n >= 1 && n == o.all);
    CHECK_EQ(o.times, 1);
    CHECK_EQ(o.id, id);
    CHECK_EQ(hierarchy_scan_processes(&h, look_for_own, &first), 1);
    CHECK_EQ(first.all, 1);
}

/* A path that leads out of our namespace, or a tree that is not whole, must not be looked up below the mount. */
TEST(hierarchy_out_of_sight)
{
    CLEANUP(remove_tree) struct hierarchy h = {.mode = HIERARCHY_V2};
    u64 id = 77, whole = 0;
    CHECK_EQ(make_tree(&h), 0);
    CHECK_EQ(hierarchy_id_of(&h, 0x7fffffff, "/../kubepods", &id), -ENOENT);
    CHECK_EQ(hierarchy_id_of(&h, 0x7fffffff, "/kubepods", &whole), 0);
    h.whole = false;
    CHECK_EQ(hierarchy_id_of(&h, 0x7fffffff, "/kubepods", &id), -ENOENT);
    CHECK_EQ(id, 77);
}

static bool each_path(void *ctx, u64 id, const char *path, u32 pid)
{
    ++*(int *)ctx;
    return true;
}

TEST(hierarchy_scan_has_bounds)
{
    struct hierarchy nowhere = {.mount = "/nowhere"}, h = {.mount = "/tmp/xprof-deep-XXXXXX"};
    char path[700];
    int n = 0;
    CHECK_EQ(hierarchy_scan(&nowhere, each_path, &n), -ENOENT);
    CHECK(mkdtemp(h.mount));
    size_t len = (size_t)snprintf(path, sizeof(path), "%s", h.mount);
    for (int i = 0; i < HIERARCHY_MAX_DEPTH + 3; i++)
        len += (size_t)snprintf(path + len, sizeof(path) - len, "/d");
    int made = fs_mkdirs(path);
    int rc = hierarchy_scan(&h, each_path, &n);
    path[len - 3 * strlen("/d")] = 0;
    for (int i = 0; i < 3; i++)
        strcat(path, "/d");
    for (; strlen(path) >= strlen(h.mount); *strrchr(path, '/') = 0)
        rmdir(path);
    CHECK_EQ(made, 0);
    CHECK_EQ(rc, -E2BIG);
    CHECK_EQ(n, HIERARCHY_MAX_DEPTH);
}

TEST(hierarchy_path_of_a_process)
{
    CLEANUP(fake_processes_free) struct fake_processes p = {.dir = ""};
    struct hierarchy h = {.mode = HIERARCHY_V2, .unified = true};
    char path[64] = "untouched";
    CHECK_EQ(fake_process(&p, 7, "/a/b"), 0);
    h.proc = p.dir;
    CHECK_EQ(hierarchy_path_of(&h, 8, path, sizeof(path)), -ENOENT);
    snprintf(h.controller, sizeof(h.controller), "pids");
    CHECK_EQ(hierarchy_path_of(&h, 7, path, sizeof(path)), -ENOENT); /* it is in none of that hierarchy */
    CHECK_STR(path, "untouched");
    snprintf(h.controller, sizeof(h.controller), "cpu");
    CHECK_EQ(hierarchy_path_of(&h, 7, path, sizeof(path)), 0);
    CHECK_STR(path, "/elsewhere");
    h.controller[0] = 0;
    CHECK_EQ(hierarchy_path_of(&h, 7, path, 4), 0);
    CHECK_STR(path, "/a/"); /* as much as there is room for */
    snprintf(path, sizeof(path), "%s/9/cgroup", p.dir);
    CHECK_EQ(fs_mkdirs(path), 0);
    CHECK_EQ(hierarchy_path_of(&h, 9, path, sizeof(path)), -EISDIR);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct groups_seen {
    u64 container, pod;
    u32 pid_of_pod;
    int n;
};

static bool see_group(void *ctx, u64 id, const char *path, u32 pid)
{
    struct groups_seen *s = ctx;
    s->n++;
    if (!strcmp(path, "/docker/" ID))
        s->container = id;
    if (!strcmp(path, "/kubepods/pod1")) {
        s->pod = id;
        s->pid_of_pod = pid;
    }
    return true;
}

/* Groups out of sight are passed over; a container's groups below its own are the container. */
TEST(hierarchy_scan_of_processes_in_groups)
{
    CLEANUP(fake_processes_free) struct fake_processes p = {.dir = ""};
    struct hierarchy h = {.mode = HIERARCHY_V2, .unified = true, .whole = true};
    struct groups_seen seen = {.n = 0};
    struct stat container, pod;
    char path[700], group[64];
    for (unsigned pid = 1; pid <= 10; pid++) {
        snprintf(group, sizeof(group), "/gone/%u", pid);
        CHECK_EQ(fake_process(&p, pid, group), 0);
    }
    for (unsigned pid = 20; pid < 28; pid += 4) { /* several in each */
        CHECK_EQ(fake_process(&p, pid, "/docker/" ID "/below"), 0);
        CHECK_EQ(fake_process(&p, pid + 1, "/kubepods/pod1"), 0);
        CHECK_EQ(fake_process(&p, pid + 2, "/docker/" ID "/below"), 0);
        CHECK_EQ(fake_process(&p, pid + 3, "/kubepods/pod2"), 0);
    }
    for (unsigned pid = 30; pid <= 40; pid++) {
        snprintf(group, sizeof(group), "/gone/%u", pid);
        CHECK_EQ(fake_process(&p, pid, group), 0);
    }
    h.proc = p.dir;
    snprintf(h.mount, sizeof(h.mount), "%s", p.dir);
    snprintf(path, sizeof(path), "%s/docker/" ID "/below", p.dir);
    CHECK_EQ(fs_mkdirs(path), 0);
    *strrchr(path, '/') = 0;
    CHECK_EQ(stat(path, &container), 0);
    snprintf(path, sizeof(path), "%s/kubepods/pod1", p.dir);
    CHECK_EQ(fs_mkdirs(path), 0);
    CHECK_EQ(stat(path, &pod), 0);
    snprintf(path, sizeof(path), "%s/kubepods/pod2", p.dir);
    CHECK_EQ(fs_mkdirs(path), 0);
    CHECK_EQ(hierarchy_scan_processes(&h, see_group, &seen), 3);
    CHECK_EQ(seen.n, 3);
    CHECK_EQ(seen.container, container.st_ino);
    CHECK(seen.pod == pod.st_ino && (seen.pid_of_pod == 21 || seen.pid_of_pod == 25));
    h.proc = "/nowhere";
    CHECK_EQ(hierarchy_scan_processes(&h, see_group, &seen), -ENOENT);
}

/* ---- Which hierarchy ---- */

struct mounts { /* a folder with links to what is mounted here */
    char dir[32];
    char cpu[512], pids[512], unified[512];
};

static void mounts_free(struct mounts *m)
{
    static const char *const links[] = {"cpu", "pids", "unified"};
    char path[64];
    for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
        snprintf(path, sizeof(path), "%s/%s", m->dir, links[i]);
        unlink(path);
    }
    rmdir(m->dir);
}

/* False: not all of them are mounted. */
static bool find_mounts(struct mounts *m)
{
    AUTO_FREE char *text = NULL;
    char at[512], type[32], options[512];
    snprintf(m->dir, sizeof(m->dir), "/tmp/xprof-mounts-XXXXXX");
    if (!mkdtemp(m->dir) || fs_read_file("/proc/self/mounts", 1 << 20, &text, NULL))
        return false;
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (sscanf(line, "%*s %511s %31s %511s", at, type, options) != 3)
            continue;
        if (!strcmp(type, "cgroup2"))
            snprintf(m->unified, sizeof(m->unified), "%s", at);
        else if (!strcmp(type, "cgroup") && strstr(options, ",pids"))
            snprintf(m->pids, sizeof(m->pids), "%s", at);
        else if (!strcmp(type, "cgroup") && strstr(options, ",cpu") && !strstr(options, ",cpuset"))
            snprintf(m->cpu, sizeof(m->cpu), "%s", at);
    }
    return m->cpu[0] && m->pids[0] && m->unified[0];
}

static int link_to(const struct mounts *m, const char *name, const char *target)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", m->dir, name);
    return symlink(target, path);
}

static bool is_at(const struct hierarchy *h, const struct mounts *m, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", m->dir, name);
    return !strcmp(h->mount, path);
}

static bool look_for_container(void *ctx, u64 id, const char *path, u32 pid)
{
    struct cgroup_name n;
    cgroup_name_parse(&n, path, strlen(path));
    *(bool *)ctx |= n.kind == CGROUP_CONTAINER || n.kind == CGROUP_POD;
    return true;
}

TEST(hierarchy_chooses_by_what_is_mounted)
{
    CLEANUP(mounts_free) struct mounts m = {.dir = ""};
    struct hierarchy h;
    bool joined = false;
    AUTO_FREE char *cgroups = NULL;
    if (!find_mounts(&m))
        SKIP("this machine has not got cgroups of both versions");
    CHECK_EQ(fs_read_file("/proc/cgroups", 1 << 16, &cgroups, NULL), 0);
    CHECK_EQ(link_to(&m, "cpu", m.cpu), 0);
    CHECK_EQ(hierarchy_find(&h, m.dir), 0);
    CHECK(h.mode == HIERARCHY_V1 && !h.unified && is_at(&h, &m, "cpu"));
    CHECK_STR(h.controller, "cpu");
    CHECK_EQ(h.number, hierarchy_number(cgroups, "cpu"));
    CHECK_EQ(link_to(&m, "pids", m.pids), 0);
    CHECK_EQ(hierarchy_find(&h, m.dir), 0);
    CHECK_STR(h.controller, "pids"); /* preferred */
    CHECK(h.mode == HIERARCHY_V1 && is_at(&h, &m, "pids"));
    CHECK(h.number > 0 && h.number == hierarchy_number(cgroups, "pids"));
    CHECK_EQ(link_to(&m, "unified", m.unified), 0);
    CHECK_EQ(hierarchy_find(&h, m.dir), 0);
    struct hierarchy unified = {.mode = HIERARCHY_V2};
    snprintf(unified.mount, sizeof(unified.mount), "%s", m.unified);
    hierarchy_scan(&unified, look_for_container, &joined);
    CHECK_EQ(h.mode, HIERARCHY_HYBRID);
    CHECK_EQ(h.unified, joined); /* only if the runtimes join it */
    CHECK(is_at(&h, &m, joined ? "unified" : "pids"));
    mounts_free(&m);
    CHECK_EQ(mkdir(m.dir, 0700), 0);
    CHECK_EQ(link_to(&m, "unified", m.unified), 0);
    CHECK_EQ(hierarchy_find(&h, m.dir), 0);
    CHECK(h.mode == HIERARCHY_V2 && h.unified && is_at(&h, &m, "unified"));
    CHECK(!h.controller[0] && h.number == 0);
    CHECK_EQ(hierarchy_find(&h, m.unified), 0);
    CHECK(h.mode == HIERARCHY_V2 && !strcmp(h.mount, m.unified));
    CHECK_STR(hierarchy_mode_name(h.mode), "v2");
}
