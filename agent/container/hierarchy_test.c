#include "base/cleanup.h"
#include "base/test.h"
#include "container/cgroup_name.h"
#include "container/hierarchy.h"
#include <errno.h>
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
