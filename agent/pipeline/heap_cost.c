#include "pipeline/heap_cost.h"

#define MS      1000000ll
#define START   (100 * MS) /* credit of a process that was not seen before */
#define BACK    (30 * MS)  /* least credit with which probes come back: to attach them takes time, too */
#define MOST    (200 * MS) /* what a process saves up at most */
#define DEBT    (50 * MS)  /* of frees alone, before they are no longer watched */
#define CALM_NS 1000000000ull
#define HUNDRED 100

void heap_cost_init(struct heap_cost *c, unsigned percent, u64 cpu_ns, u64 now_ns)
{
    *c = (struct heap_cost){.percent = percent, .credit = START, .cpu_ns = cpu_ns, .looked_ns = now_ns};
}

/* Counters that began again count nothing. */
static u64 more(u64 now, u64 before)
{
    return now > before ? now - before : 0;
}

bool heap_cost_spend(struct heap_cost *c, const struct probe_heap_hits *prices, const struct probe_heap_hits *hits,
                     u64 now_ns)
{
    u64 calls = more(hits->calls, c->seen.calls);
    u64 cost = calls * prices->calls + more(hits->returns, c->seen.returns) * prices->returns +
               more(hits->stacks, c->seen.stacks) * prices->stacks;
    c->seen = *hits;
    if (c->watch == HEAP_ALL || c->turning) {
        c->calls += calls;
        c->spent += (s64)cost;
    }
    c->cost += cost;
    c->credit -= (s64)cost;
    return c->watch != HEAP_ALL || c->credit < 0 || now_ns - c->looked_ns >= CALM_NS;
}

static void earn(struct heap_cost *c, u64 cpu_ns, u64 now_ns)
{
    u64 ran = cpu_ns > c->cpu_ns ? cpu_ns - c->cpu_ns : 0, own = ran > c->cost ? ran - c->cost : 0;
    *(c->watch == HEAP_ALL ? &c->watched_ns : &c->rested_ns) += now_ns - c->looked_ns;
    c->own += c->watch == HEAP_ALL ? own : 0;
    c->credit += (s64)(own * c->percent / HUNDRED);
    c->cpu_ns = cpu_ns;
    c->looked_ns = now_ns;
    c->cost = 0;
    c->turning = false;
}

/* Of two calls, one frees; or none: what is freed late is not known yet. */
static bool affords_frees(const struct heap_cost *c, const struct probe_heap_hits *prices)
{
    return c->calls / 2 * prices->calls <= c->own * c->percent / HUNDRED;
}

static enum heap_watch rest(struct heap_cost *c, const struct probe_heap_hits *prices)
{
    c->rests++;
    c->turning = true;
    return affords_frees(c, prices) ? HEAP_FREES : HEAP_NOTHING;
}

/* What was long ago says nothing about what a rest is to pay for. */
static enum heap_watch go_on(struct heap_cost *c)
{
    c->spent /= 2;
    c->own = c->calls = 0;
    return HEAP_ALL;
}

static enum heap_watch come_back(struct heap_cost *c)
{
    c->spent = 0;
    c->own = c->calls = 0;
    return HEAP_ALL;
}

enum heap_watch heap_cost_decide(struct heap_cost *c, const struct probe_heap_hits *prices, u64 cpu_ns, u64 now_ns)
{
    earn(c, cpu_ns, now_ns);
    s64 needed = c->spent < BACK ? BACK : c->spent > MOST ? MOST : c->spent;
    if (c->credit > MOST)
        c->credit = MOST;
    if (!c->percent)
        return c->watch = HEAP_ALL;
    if (c->watch == HEAP_ALL)
        c->watch = c->credit < 0 ? rest(c, prices) : go_on(c);
    else if (c->credit >= needed)
        c->watch = come_back(c);
    else if (c->watch == HEAP_FREES && c->credit < -DEBT - c->spent)
        c->watch = HEAP_NOTHING;
    return c->watch;
}
