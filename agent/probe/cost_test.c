/* When probes are taken off because of what they cost, and when they come back. */
#include "probe/cost.h"
#include "base/test.h"

#define MS 1000000ull

struct probed { /* what a program is like that is probed */
    struct cost_cap cap;
    unsigned percent;
    u64 now, hits, ns;
    bool on;
};

/* Looks ten times a second; while probes are on, they take so much of each second. */
static void pass(struct probed *p, u64 seconds, u64 ns_per_second)
{
    for (u64 i = 0; i < 10 * seconds; i++) {
        p->now += 100 * MS;
        if (p->on) {
            p->ns += ns_per_second / 10;
            p->hits += 100;
        }
        p->on = cost_decide(&p->cap, p->percent, p->hits, p->ns, p->now);
    }
}

static struct probed begin(unsigned percent)
{
    struct probed p = {.percent = percent, .now = 5000 * MS};
    p.on = cost_decide(&p.cap, percent, 0, 0, p.now);
    return p;
}

TEST(cost_of_cheap_probes_is_of_no_interest)
{
    struct probed p = begin(5);
    pass(&p, 100, 49 * MS);
    CHECK(p.on && !p.cap.sum.rests && !p.cap.sum.off_ns);
    CHECK_EQ(p.cap.sum.on_ns, 100000 * MS);
    CHECK_EQ(p.cap.sum.hits, 100000);
    CHECK_EQ(p.cap.sum.ns, 4900 * MS);
}

TEST(cost_of_dear_probes_keeps_the_limit_and_uses_it)
{
    struct probed p = begin(5);
    pass(&p, 200, 1000 * MS);
    CHECK(p.cap.sum.rests > 10);
    CHECK(p.ns > 9500 * MS && p.ns < 10500 * MS);
    CHECK_EQ(p.cap.sum.on_ns + p.cap.sum.off_ns, 200000 * MS);
    CHECK_EQ(p.cap.sum.on_ns, p.ns);
    pass(&p, 100, 10 * MS); /* from now on, it is cheap */
    CHECK(p.on);
    u64 rests = p.cap.sum.rests, off = p.cap.sum.off_ns;
    pass(&p, 100, 10 * MS);
    CHECK(p.on && p.cap.sum.rests == rests && p.cap.sum.off_ns == off);
}

TEST(cost_is_not_saved_up_for_hours)
{
    struct probed p = begin(5);
    pass(&p, 1000, 0);
    pass(&p, 1, 1000 * MS);
    CHECK(!p.on);
}

TEST(cost_without_a_limit)
{
    struct probed p = begin(0);
    pass(&p, 100, 4000 * MS);
    CHECK(p.on && !p.cap.sum.rests && p.cap.sum.ns == 400000 * MS);
}

TEST(cost_has_a_limit_of_its_own_for_some_events)
{
    struct probe_config c = {.max_cost = 5, .nevents = 2, .events = {{.max_cost = 0}, {.max_cost = 1}}};
    CHECK_EQ(probe_max_cost(&c, 0), 5);
    CHECK_EQ(probe_max_cost(&c, 1), 1);
    c.max_cost = 0; /* whatever it costs */
    CHECK_EQ(probe_max_cost(&c, 1), 0);
}
