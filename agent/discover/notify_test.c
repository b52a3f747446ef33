/* What is told to the kernel side and to the publisher, and told again when they had no room. */
#include "base/clock.h"
#include "base/test.h"
#include "discover/discover_internal.h"
#include <string.h>

static struct kernel { /* what stands for the kernel side */
    int refuse;        /* so many wants */
    int wants, unwants;
    u64 want;
} kernel;

static int count_want(void *ctx, u64 cgroup, u64 want)
{
    if (kernel.refuse && kernel.refuse--)
        return -1;
    kernel.wants++;
    kernel.want = want;
    return 0;
}

static void count_unwant(void *ctx, u64 cgroup)
{
    kernel.unwants++;
}

static int begin(struct discover *d, struct publisher **p)
{
    static const struct hierarchy nowhere = {.mount = "/nowhere"};
    struct publisher_config config = {0};
    struct containers_config containers = {.hierarchy = nowhere, .cri_socket = "none"};
    struct containers_handlers handlers = {0};
    *d = (struct discover){.rules = {.rate = 50, .events = 1, .host_processes = true}};
    d->inventory = (struct inventory){.rules = &d->rules, .source = DISCOVER_NO_KUBE, .hz = 50};
    d->config.hierarchy = &nowhere;
    d->config.sampler = (struct discover_sampler){.want = count_want, .unwant = count_unwant};
    kernel = (struct kernel){0};
    int rc = publisher_new(p, &config);
    d->config.publisher = *p;
    return rc ? rc : containers_new(&d->containers, &containers, &handlers);
}

static void end(struct discover *d, struct publisher **p)
{
    publisher_free(p);
    containers_free(&d->containers);
    vec_free(&d->notified);
    map_free(&d->notified_by_cgroup);
}

TEST(discover_refused_wants_are_told_again)
{
    struct discover d;
    struct publisher *p = NULL;
    CHECK_EQ(begin(&d, &p), 0);
    kernel.refuse = 2;
    notify_host(&d, notify_row(&d, INVENTORY_ROOT, true));
    notify_fence(&d, notify_row(&d, 5, true));
    CHECK_EQ(kernel.wants, 0);
    CHECK_EQ(d.wants_refused, 2);
    CHECK(!notify_row(&d, 5, false)->own);
    notify_due(&d, NS_PER_SEC);
    CHECK_EQ(kernel.wants, 2);
    CHECK(notify_row(&d, 5, false)->own && notify_row(&d, INVENTORY_ROOT, false)->own);
    notify_due(&d, 9 * NS_PER_SEC);
    CHECK_EQ(kernel.wants, 2);
    end(&d, &p);
}

TEST(discover_refused_change_keeps_what_was_told)
{
    struct discover d;
    struct publisher *p = NULL;
    CHECK_EQ(begin(&d, &p), 0);
    notify_host(&d, notify_row(&d, INVENTORY_ROOT, true));
    CHECK_EQ(kernel.wants, 1);
    kernel.refuse = 1;
    d.inventory.hz = 100; /* now every second sample is enough */
    notify_host(&d, notify_row(&d, INVENTORY_ROOT, false));
    notify_gone(&d, INVENTORY_ROOT);
    CHECK_EQ(kernel.unwants, 1);
    end(&d, &p);
}

/* So many identities that nobody has read yet. */
static int fill(struct publisher *p)
{
    struct identity *i;
    int n = 0;
    while ((i = calloc(1, sizeof(*i))) && !publisher_know(p, i))
        i->cgroup = 1000 + (u64)n++;
    identity_free(&i);
    return n;
}

TEST(discover_tells_a_full_publisher_later)
{
    struct discover d;
    struct publisher *p = NULL;
    CHECK_EQ(begin(&d, &p), 0);
    notify_host(&d, notify_row(&d, 7, true));
    CHECK(notify_row(&d, 7, false)->identity);
    CHECK(fill(p) > 1000);
    notify_host(&d, notify_row(&d, 8, true));
    notify_gone(&d, 7); /* its name would be remembered for ever */
    CHECK(notify_row(&d, 7, false)->gone);
    CHECK(!notify_row(&d, 8, false)->identity);
    publisher_flush(p);
    notify_due(&d, NS_PER_SEC);
    CHECK(!notify_row(&d, 7, false));
    CHECK(notify_row(&d, 8, false)->identity);
    CHECK(!d.unsaid);
    end(&d, &p);
}

TEST(discover_rows_come_back)
{
    struct discover d;
    struct publisher *p = NULL;
    CHECK_EQ(begin(&d, &p), 0);
    notify_host(&d, notify_row(&d, 7, true));
    notify_gone(&d, 7);
    CHECK(!notify_row(&d, 7, false));
    notify_host(&d, notify_row(&d, 7, true));
    CHECK(notify_row(&d, 7, false)->nobody);
    for (u64 i = 100; i < 1000; i++) {
        notify_host(&d, notify_row(&d, i, true));
        notify_gone(&d, i);
    }
    CHECK(d.notified.n < 300);
    CHECK(notify_row(&d, 7, false)->nobody);
    end(&d, &p);
}

/* What was taken back is not taken back twice, and told again when it is wanted again. */
TEST(discover_tells_a_want_that_comes_and_goes)
{
    struct discover d;
    struct publisher *p = NULL;
    CHECK_EQ(begin(&d, &p), 0);
    struct notified *t = notify_row(&d, INVENTORY_ROOT, true);
    notify_host(&d, t);
    notify_host(&d, t);
    CHECK_EQ(kernel.wants, 1);
    t->of = 99; /* below a container's: no want of its own */
    notify_host(&d, t);
    notify_host(&d, t);
    CHECK_EQ(kernel.unwants, 1);
    t->of = 0;
    notify_host(&d, t);
    CHECK_EQ(kernel.wants, 2);
    CHECK_EQ(kernel.want, XP_WANT(1, 1));
    end(&d, &p);
}

/* Its end is still to be told, when the id is given to another group. */
TEST(discover_ids_that_come_back_before_their_end_was_told)
{
    struct discover d;
    struct publisher *p = NULL;
    CHECK_EQ(begin(&d, &p), 0);
    notify_host(&d, notify_row(&d, INVENTORY_ROOT, true));
    notify_host(&d, notify_row(&d, 7, true));
    CHECK(fill(p) > 1000);
    notify_gone(&d, INVENTORY_ROOT);
    notify_gone(&d, 7);
    CHECK_EQ(kernel.unwants, 1);
    notify_host(&d, notify_row(&d, 7, true));
    CHECK(!notify_row(&d, 7, false)->gone);
    publisher_flush(p);
    notify_due(&d, NS_PER_SEC);
    CHECK(!notify_row(&d, INVENTORY_ROOT, false));
    CHECK_EQ(kernel.unwants, 1); /* it was taken back already */
    CHECK(notify_row(&d, 7, false) && notify_row(&d, 7, false)->nobody);
    end(&d, &p);
}

TEST(discover_tries_again_once_a_second)
{
    struct discover d;
    struct publisher *p = NULL;
    CHECK_EQ(begin(&d, &p), 0);
    kernel.refuse = 2;
    notify_fence(&d, notify_row(&d, 5, true));
    notify_due(&d, 10 * NS_PER_SEC);
    CHECK_EQ(d.wants_refused, 2);
    notify_due(&d, 11 * NS_PER_SEC - 1);
    CHECK_EQ(kernel.wants, 0);
    notify_due(&d, 11 * NS_PER_SEC);
    CHECK_EQ(kernel.wants, 1);
    CHECK(!d.unsaid);
    end(&d, &p);
}

TEST(discover_rows_that_were_cleared_away_are_not_found)
{
    struct discover d;
    struct publisher *p = NULL;
    CHECK_EQ(begin(&d, &p), 0);
    for (u64 i = 100; i < 400; i++)
        notify_host(&d, notify_row(&d, i, true));
    for (u64 i = 100; i < 399; i++)
        notify_gone(&d, i);
    CHECK(d.notified.n < 200);
    for (u64 i = 100; i < 399; i++)
        CHECK(!notify_row(&d, i, false));
    CHECK(notify_row(&d, 399, false));
    CHECK_EQ(notify_row(&d, 399, false)->cgroup, 399);
    notify_host(&d, notify_row(&d, 100, true));
    CHECK_EQ(notify_row(&d, 100, false)->cgroup, 100);
    CHECK_EQ(notify_row(&d, 399, false)->cgroup, 399);
    end(&d, &p);
}

#define UID "11111111-2222-3333-4444-555555555555"

/* Its last samples come when its pod is gone already. */
TEST(discover_containers_keep_their_names)
{
    static char nothing[1], name[] = "main";
    struct container c = {.cgroup = 9,
                          .is = {.kind = CGROUP_CONTAINER, .id = "abc", .pod = UID},
                          .path = nothing,
                          .name = name,
                          .image = nothing,
                          .pod = nothing,
                          .namespace_ = nothing};
    struct discover d;
    struct publisher *p = NULL;
    struct kube_pod *pod = NULL;
    bool warn;
    CHECK_EQ(begin(&d, &p), 0);
    d.inventory.source = DISCOVER_BY_KUBE;
    d.inventory.without_namespaces = true;
    notify_of(&d, &c);
    u64 pending = notify_row(&d, 9, false)->identity;
    CHECK(pending && !notify_row(&d, 9, false)->named);
    CHECK_EQ(kube_pod_new(&pod, UID, "shop", "web"), 0);
    CHECK_EQ(inventory_put_pod(&d.inventory, pod, &warn), 0);
    notify_of(&d, &c);
    u64 named = notify_row(&d, 9, false)->identity;
    CHECK(named != pending && notify_row(&d, 9, false)->named);
    CHECK(inventory_remove_pod(&d.inventory, UID));
    notify_of(&d, &c);
    CHECK_EQ(notify_row(&d, 9, false)->identity, named);
    inventory_free(&d.inventory);
    end(&d, &p);
}

/* The end of a group may go unreported: once a minute those that nobody else looks after are looked for. */
TEST(discover_sweeps_groups_that_do_not_exist)
{
    struct discover d;
    struct publisher *p = NULL;
    struct hierarchy real;
    const u64 bogus = 0x7fff00000000;
    if (hierarchy_find(&real, NULL) || !hierarchy_is_gone(&real, bogus))
        SKIP("groups cannot be opened by their ids here");
    CHECK_EQ(begin(&d, &p), 0);
    d.config.hierarchy = &real;
    notify_host(&d, notify_row(&d, bogus, true));
    notify_row(&d, bogus + 1, true)->of = 5;
    d.followers = 1;
    notify_row(&d, bogus + 2, true); /* the registry's */
    notify_due(&d, 100 * NS_PER_SEC);
    CHECK(!notify_row(&d, bogus, false) && !notify_row(&d, bogus + 1, false));
    CHECK(notify_row(&d, bogus + 2, false));
    CHECK_EQ(d.followers, 0);
    notify_host(&d, notify_row(&d, bogus, true));
    notify_due(&d, 159 * NS_PER_SEC);
    CHECK(notify_row(&d, bogus, false));
    notify_due(&d, 160 * NS_PER_SEC);
    CHECK(!notify_row(&d, bogus, false));
    end(&d, &p);
}
