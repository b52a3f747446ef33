#include "probe/cost.h"

#define MS    1000000ll
#define START (50 * MS)  /* credit of a probe that was not seen before */
#define BACK  (20 * MS)  /* least credit with which it comes back: to attach it takes time, too */
#define MOST  (200 * MS) /* what it saves up at most */

bool cost_decide(struct cost_cap *c, unsigned percent, u64 hits, u64 ns, u64 now_ns)
{
    u64 passed = c->looked_ns ? now_ns - c->looked_ns : 0;
    if (!c->looked_ns)
        c->credit = START;
    *(c->off ? &c->sum.off_ns : &c->sum.on_ns) += passed;
    c->credit += (s64)(passed * percent / 100) - (s64)(ns - c->sum.ns);
    if (c->credit > MOST)
        c->credit = MOST;
    c->looked_ns = now_ns;
    c->sum.hits = hits;
    c->sum.ns = ns;
    if (c->off ? c->credit >= BACK : percent && c->credit < 0) {
        c->off = !c->off;
        c->sum.rests += c->off;
    }
    return !c->off;
}

unsigned probe_max_cost(const struct probe_config *c, size_t event)
{
    return c->max_cost && c->events[event].max_cost ? c->events[event].max_cost : c->max_cost;
}

void cost_copy(struct probe_cost *to, const struct probe_cost *from)
{
    for (size_t i = 0; i < sizeof(*to) / sizeof(u64); i++) {
        u64 n = __atomic_load_n((const u64 *)from + i, __ATOMIC_RELAXED);
        __atomic_store_n((u64 *)to + i, n, __ATOMIC_RELAXED);
    }
}
