/* A process that allocates in different ways, in steps of a simulated clock: what its probes cost stays below the
 * limit, and it is watched as much as that allows. */
#include "base/test.h"
#include "pipeline/heap_cost.h"

#define STEP_NS 50000000ull
static const struct probe_heap_hits PRICES = {.calls = 1000, .returns = 1000};

struct process {
    struct heap_cost c;
    struct probe_heap_hits hits;
    u64 cpu, cost, own, now;
    u64 pairs;     /* of malloc and free, per second of its own CPU time */
    u64 rests_all; /* steps in which nothing was watched */
};

/* A thread that runs all the time: what probes take, it cannot use itself. */
static void step(struct process *p)
{
    u64 per_pair = p->c.watch == HEAP_ALL ? 3000 : p->c.watch == HEAP_FREES ? 1000 : 0;
    u64 own = STEP_NS * 1000000000ull / (1000000000ull + p->pairs * per_pair), pairs = own * p->pairs / 1000000000ull;
    p->own += own;
    p->cost += pairs * per_pair;
    p->cpu = p->own + p->cost;
    p->now += STEP_NS;
    p->hits.calls += per_pair ? pairs * (per_pair == 3000 ? 2 : 1) : 0;
    p->hits.returns += per_pair == 3000 ? pairs : 0;
    p->rests_all += p->c.watch == HEAP_NOTHING;
    if (heap_cost_spend(&p->c, &PRICES, &p->hits, p->now))
        heap_cost_decide(&p->c, &PRICES, p->cpu, p->now);
}

static struct process run(unsigned percent, u64 pairs, unsigned seconds)
{
    struct process p = {.pairs = pairs, .now = 1};
    heap_cost_init(&p.c, percent, 0, p.now);
    for (u64 i = 0; i < seconds * 1000000000ull / STEP_NS; i++)
        step(&p);
    return p;
}

static double share(const struct process *p)
{
    return (double)p->c.watched_ns / (double)(p->c.watched_ns + p->c.rested_ns);
}

TEST(heap_cost_lets_cheap_processes_be_watched_all_the_time)
{
    struct process p = run(5, 10000, 60); /* 3 % */
    CHECK(p.c.rests == 0 && p.c.rested_ns == 0 && p.c.watched_ns > 58000000000ull);
}

TEST(heap_cost_keeps_the_limit_and_uses_it)
{
    static const u64 pairs[] = {30000, 100000, 1000000, 20000000};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct process p = run(5, pairs[i], 120);
        double cost = (double)p.cost / (double)p.own;
        CHECK(cost < 0.051 && cost > 0.03);
        CHECK(p.c.rests > 5 && share(&p) > 0.02);
    }
}

TEST(heap_cost_goes_on_seeing_frees_where_they_are_affordable)
{
    struct process few = run(5, 30000, 60), many = run(5, 1000000, 60);
    CHECK(few.c.rests && !few.rests_all);
    CHECK(many.c.rests && many.rests_all);
}

TEST(heap_cost_without_a_limit_watches_all)
{
    struct process p = run(0, 20000000, 10);
    CHECK(p.c.watch == HEAP_ALL && !p.c.rests && !p.c.rested_ns);
}

TEST(heap_cost_does_not_save_up_for_hours)
{
    struct process p = run(5, 0, 3600);
    CHECK_EQ(p.c.credit, 200000000);
    p.pairs = 20000000;
    u64 before = p.cost;
    for (unsigned i = 0; i < 20; i++)
        step(&p);
    CHECK(p.cost - before < 300000000);
}
