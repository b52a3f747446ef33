#include "base/clock.h"
#include "base/log.h"
#include "base/test.h"
#include "pipeline/governor.h"

#define STEP (10 * NS_PER_SEC)

/* `steps` looks at so many percent of a CPU. */
static unsigned pass(struct governor *g, double *cpu, u64 *now, double percent, unsigned steps)
{
    unsigned share = g->share;
    for (unsigned i = 0; i < steps; i++) {
        *cpu += percent / 100 * 10;
        *now += STEP;
        share = governor_look(g, *cpu, *now);
    }
    return share;
}

TEST(governor_lowers_and_raises)
{
    struct governor g = {0};
    double cpu = 5;
    u64 now = NS_PER_SEC;
    log_set_level(LOG_ERROR);
    governor_init(&g, 10);
    CHECK_EQ(governor_look(&g, cpu, now), 100);
    CHECK_EQ(pass(&g, &cpu, &now, 9, 20), 100);
    CHECK_EQ(pass(&g, &cpu, &now, 30, 1), 50);
    CHECK_EQ(pass(&g, &cpu, &now, 15, 1), 25);
    CHECK_EQ(g.throttled, 2);
    CHECK_EQ(pass(&g, &cpu, &now, 5, 20), 25); /* no reason to lower, none to hope */
    CHECK_EQ(pass(&g, &cpu, &now, 1, 5), 25);
    CHECK_EQ(pass(&g, &cpu, &now, 1, 1), 50);
    CHECK_EQ(pass(&g, &cpu, &now, 1, 6), 100);
    CHECK_EQ(pass(&g, &cpu, &now, 1, 20), 100);
    log_set_level(LOG_WARN);
}

TEST(governor_never_stops_sampling)
{
    struct governor g = {0};
    double cpu = 0;
    u64 now = NS_PER_SEC;
    log_set_level(LOG_ERROR);
    governor_init(&g, 1);
    governor_look(&g, cpu, now);
    unsigned share = pass(&g, &cpu, &now, 50, 100);
    CHECK(share >= 1);
    CHECK_EQ(pass(&g, &cpu, &now, 50, 1), share);
    CHECK(g.throttled < 10);
    log_set_level(LOG_WARN);
}

TEST(governor_does_not_look_too_often)
{
    struct governor g = {0};
    governor_init(&g, 10);
    governor_look(&g, 0, NS_PER_SEC);
    CHECK_EQ(governor_look(&g, 100, 2 * NS_PER_SEC), 100); /* a second at full speed is no reason */
}

TEST(governor_limits_grow_with_the_node)
{
    CHECK_EQ(governor_limit(10, 1), 10);
    CHECK_EQ(governor_limit(10, 8), 10);
    CHECK_EQ(governor_limit(10, 12), 15);
    CHECK_EQ(governor_limit(10, 128), 160);
    CHECK_EQ(governor_limit(10, -1), 10);
}
