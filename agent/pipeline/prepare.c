/* Before sampling: the tables of what already runs, those of the busiest processes first. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "opener/hung.h"
#include "pipeline/collector_internal.h"
#include "proc/proc.h"
#include <errno.h>

#define MIN_CODE       16384 /* bytes of a mapping */
#define MAX_GENERATORS 256   /* processes */

struct ranked {
    struct job *job;
    u64 ticks;
};

static int by_ticks(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    return a->ticks > b->ticks ? -1 : a->ticks < b->ticks;
}

/* File id -> CPU time of the busiest process that maps it. */
static void rank_files(const probe_mappings *list, struct map *ticks)
{
    u32 tgid = 0;
    u64 used = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct xp_mapping *m = &list->v[i].at;
        if (m->tgid != tgid)
            used = proc_cpu_ticks(tgid = m->tgid);
        u64 *t = m->file ? map_put(ticks, m->file) : NULL;
        if (t && *t < used)
            *t = used;
    }
}

/* What was gathered, in the order in which it is built; NULL without memory. */
static struct ranked *rank_gathered(const struct collector *c, const probe_mappings *list)
{
    struct map ticks = {0};
    struct ranked *order = calloc(c->gathered.n + 1, sizeof(*order));
    rank_files(list, &ticks);
    for (size_t i = 0; order && i < c->gathered.n; i++) {
        u64 *t = map_get(&ticks, c->gathered.v[i]->file.event.id);
        order[i] = (struct ranked){c->gathered.v[i], t ? *t : 0};
    }
    if (order)
        qsort(order, c->gathered.n, sizeof(*order), by_ticks);
    map_free(&ticks);
    return order;
}

/* Generated code, not the vdso or a page of probes. */
static bool is_generated(const struct xp_mapping *m)
{
    return !m->file && m->end - m->start > MIN_CODE;
}

/* Has the processes read that run generated code. */
static void announce_generators(struct collector *c, const probe_mappings *list)
{
    u32 tgid = 0, n = 0;
    for (size_t i = 0; i < list->n && n < MAX_GENERATORS; i++) {
        const struct xp_listed *l = &list->v[i];
        if (l->at.tgid == tgid || !is_generated(&l->at))
            continue;
        announce_code_of(c, &(struct xp_sample){.tgid = tgid = l->at.tgid, .start = l->start, .cgroup = l->cgroup});
        n++;
    }
}

int collector_prepare(struct collector *c, void (*build)(void *ctx, struct job *j), void *ctx, u64 deadline_ns)
{
    probe_mappings list = {0};
    struct probe_handlers h = collector_handlers(c);
    c->gathering = true;
    int rc = probe_list_mappings(c->config.probe, 0, &list);
    while (probe_poll(c->config.probe, &h, 0) > 0)
        ;
    c->gathering = false;
    AUTO_FREE struct ranked *order = rank_gathered(c, &list);
    for (size_t i = 0; order && i < c->gathered.n; i++) {
        if (now_ns() > deadline_ns || hung_may(order[i].job->file.event.magic))
            announce_job(c, order[i].job); /* the worker builds it, later */
        else
            build(ctx, order[i].job);
    }
    if (order)
        c->gathered.n = 0;
    if (c->config.generators)
        announce_generators(c, &list);
    vec_free(&list);
    return rc == -ENOTSUP ? 0 : rc;
}
