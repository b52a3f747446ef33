/* What is told to the kernel side and to the publisher, and told again when they had no room. */
#include "base/clock.h"
#include "base/test.h"
#include "discover/discover_internal.h"
#include <string.h>

static struct kernel { /* what stands for the kernel side */
    int refuse;        /* so many wants */
    int wants, unwants;
    u32 want;
} kernel;

static int count_want(void *ctx, u64 cgroup, u32 want)
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
