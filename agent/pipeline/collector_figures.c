/* What the collector counts of its own work. */
#include "pipeline/collector_internal.h"
#include <stdlib.h>

#define UNWIND_TIMES (1u << 20)

void collector_note_unwind(struct collector *c, const struct xp_sample *s)
{
    u32 *t = s->unwind_ns && s->nuser && c->unwind_ns.n < UNWIND_TIMES ? VEC_PUSH(&c->unwind_ns) : NULL;
    if (t)
        *t = (u32)s->unwind_ns;
}

void collector_publish(struct collector *c)
{
    struct collector_figures f = c->own;
    f.queue_full += openings_refused(c->config.openings);
    f.malformed += probe_malformed(c->config.probe);
    f.dropped = aggregate_dropped(c->live);
    figures_copy(&c->shown, &f, sizeof(f));
}

void collector_figures(const struct collector *c, struct collector_figures *out)
{
    figures_copy(out, &c->shown, sizeof(*out));
}

static int by_size(const void *x, const void *y)
{
    u32 a = *(const u32 *)x, b = *(const u32 *)y;
    return a < b ? -1 : a > b;
}

u64 collector_median_unwind(struct collector *c)
{
    size_t n = c->unwind_ns.n;
    if (!n)
        return 0;
    qsort(c->unwind_ns.v, n, sizeof(u32), by_size);
    return c->unwind_ns.v[n / 2];
}
