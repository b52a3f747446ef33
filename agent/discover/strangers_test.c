/* Groups of samples that nobody has told of, and groups below a container's own. */
#include "base/fs.h"
#include "container/processes_test.h"
#include "discover/node_test.h"
#include <stdlib.h>
#include <sys/stat.h>

/* A node whose processes and whose tree are a folder. */
static int node_with_processes(struct node *n, const struct fake_processes *p, enum policy_targeting targeting)
{
    n->hierarchy = (struct hierarchy){.mode = HIERARCHY_V2, .unified = true, .whole = true, .proc = p->dir};
    snprintf(n->hierarchy.mount, sizeof(n->hierarchy.mount), "%s", p->dir);
    int rc = node_new(n, DISCOVER_NO_KUBE, targeting);
    if (!rc)
        n->d->next_sweep_ns = ~0ull; /* a folder cannot be asked whether it knows an id */
    return rc;
}

/* The id of a group, which is made. 0: it cannot be. */
static u64 make_group(const struct fake_processes *p, const char *path)
{
    char full[256];
    struct stat st;
    snprintf(full, sizeof(full), "%s%s", p->dir, path);
    return fs_mkdirs(full) || stat(full, &st) ? 0 : st.st_ino;
}

/* What was told of it; the thread has answered and sleeps. */
static const struct notified *row(struct node *n, u64 cgroup)
{
    node_stats(n);
    return notify_row(n->d, cgroup, false);
}

TEST(discover_leaves_strangers_to_the_host)
{
    CLEANUP(fake_processes_free) struct fake_processes p = {.dir = ""};
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(fake_process(&p, 7, "/user.slice"), 0);
    u64 group = make_group(&p, "/user.slice");
    CHECK(group);
    CHECK_EQ(node_with_processes(&n, &p, POLICY_ALL), 0);
    CHECK_EQ(node_start(&n), 0);
    discover_stranger(n.d, group, 7);
    const struct notified *t = row(&n, group);
    CHECK(t && t->nobody && !t->own && t->identity); /* it inherits the root's want */
    CHECK_EQ(kernel_events(INVENTORY_ROOT), 3);
    discover_stranger(n.d, 9, 7); /* the process is in another group by now */
    CHECK(!row(&n, 9));
    discover_stranger(n.d, 9, 8); /* or gone */
    CHECK(!row(&n, 9));
    discover_stranger(n.d, INVENTORY_ROOT, 8);
    CHECK(row(&n, INVENTORY_ROOT) && row(&n, group));
    CHECK_EQ(kernel_events(INVENTORY_ROOT), 3);
}

/* Where the tree is out of sight, it is not known whether a group is gone. */
TEST(discover_keeps_strangers_that_cannot_be_looked_for)
{
    CLEANUP(fake_processes_free) struct fake_processes p = {.dir = ""};
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(fake_process(&p, 7, "/user.slice"), 0);
    CHECK_EQ(node_with_processes(&n, &p, POLICY_ALL), 0);
    n.hierarchy.whole = false;
    CHECK_EQ(node_start(&n), 0);
    discover_stranger(n.d, 9, 8);
    CHECK(row(&n, 9) && row(&n, 9)->nobody);
    node_group(&n, 9, "/user.slice", false);
    CHECK(!row(&n, 9));
}

TEST(discover_groups_follow_the_container_around_them)
{
    CLEANUP(fake_processes_free) struct fake_processes p = {.dir = ""};
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(fake_process(&p, 7, "/docker/" C1 "/below"), 0);
    u64 below = make_group(&p, "/docker/" C1 "/below"), own = make_group(&p, "/docker/" C1),
        event = make_group(&p, "/docker/" C1 "/init.scope");
    CHECK_EQ(node_with_processes(&n, &p, POLICY_ALL), 0);
    CHECK_EQ(node_start(&n), 0);
    node_group(&n, own, "/docker/" C1, true);
    node_group(&n, event, "/docker/" C1 "/init.scope", true); /* the kernel side tells of this one */
    discover_stranger(n.d, below, 7);                         /* samples tell of that one */
    const u64 followers[] = {event, below};
    for (size_t i = 0; i < 2; i++) {
        const struct notified *t = row(&n, followers[i]);
        CHECK(t && t->of == own && !t->own && !t->nobody);
        CHECK_EQ(t->identity, row(&n, own)->identity); /* samples of it are the container's */
    }
    CHECK_EQ(n.d->followers, 2);
    u64 before = row(&n, below)->identity;
    node_reload(&n, node_rules(&n, POLICY_ALL, 99));
    CHECK_EQ(row(&n, below)->identity, before);
    struct discover_rules nobody = node_rules(&n, POLICY_ALL, 99);
    nobody.everything = false;
    node_reload(&n, nobody); /* what changes for the container changes for them */
    CHECK(row(&n, below)->identity != before);
    CHECK_EQ(row(&n, below)->identity, row(&n, own)->identity);
    CHECK_EQ(row(&n, event)->identity, row(&n, own)->identity);
    node_group(&n, event, "/docker/" C1 "/init.scope", false);
    CHECK(!row(&n, event) && row(&n, below));
    CHECK_EQ(n.d->followers, 1);
    node_group(&n, below, "/docker/" C1 "/below", false);
    CHECK(!row(&n, below) && row(&n, own));
    CHECK_EQ(n.d->followers, 0);
}

TEST(discover_tries_refused_wants_again)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    kernel_refuse(1); /* the root's: the first one */
    CHECK_EQ(node_start(&n), 0);
    WAIT(kernel_events(INVENTORY_ROOT) == 3);
    CHECK_EQ(kernel_events(INVENTORY_ROOT), 3);
    CHECK_EQ(node_stats(&n).wants_refused, 1);
}
