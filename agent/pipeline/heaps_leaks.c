/* Looks at what is old of what processes hold, now and then (profile/leaks.h). */
#include "base/clock.h"
#include "pipeline/heaps_internal.h"

static void hold(void *leaks, u64 stack, struct xp_amount held)
{
    leaks_hold(leaks, stack, held);
}

static void decide(struct heaps *h)
{
    h->figures.leaks_told = leaks_can_tell(h->leaks);
    h->figures.leaks_span_ns = leaks_span_ns(h->leaks);
    if (leaks_find(h->leaks, &h->found))
        heaps_add(&h->figures.failed, 1);
    h->figures.leaks = h->found.n;
    for (size_t i = 0; i < h->found.n; i++)
        h->figures.leaked_bytes += h->found.v[i].grown.value;
}

void heaps_look_for_leaks(struct heaps *h, bool last)
{
    u64 now = now_ns();
    if (!h->leaks || (!h->begun_ns && !h->processes.n))
        return;
    if (!h->begun_ns)
        h->begun_ns = now;
    if (now - h->begun_ns >= h->config.old_ns && (last || leaks_due(h->leaks, now))) {
        leaks_look(h->leaks, now);
        if (probe_heap_look(h->probe, h->event, now - h->config.old_ns, hold, h->leaks))
            heaps_add(&h->figures.failed, 1);
    }
    if (last)
        decide(h);
}
