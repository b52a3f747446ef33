/* How much of what processes allocate is watched, so that probes cost them no more than they may. */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/heaps_internal.h"
#include "pipeline/named_file.h"
#include "proc/proc.h"
#include <unistd.h>

#define LOOK_MS  50   /* between two looks at what probes cost, with few processes */
#define PER_LOOK 64   /* with so many more, once longer */
#define MOST_MS  1000 /* between two looks */

#define FORGET_TIMES 20 /* as long as it took, nothing is forgotten */

unsigned heaps_parts(enum heap_watch watch)
{
    static const unsigned parts[] = {PROBE_HEAP_FREES | PROBE_HEAP_ALLOCATIONS, PROBE_HEAP_FREES, 0};
    return parts[watch];
}

u64 heaps_cpu_ns(u32 tgid)
{
    return proc_cpu_ticks(tgid) * (1000000000ull / (u64)sysconf(_SC_CLK_TCK));
}

int heaps_attach(struct heaps *h, const struct process *p, const struct known_file *f, struct probe_heap_links *links)
{
    struct probe_heap_file file = {
        .fd = f->fd, .tgid = p->tgid, .place = p->place, .sites = f->sites->site, .n = f->sites->n};
    if (f->usdt) {
        int rc = probe_usdt_sites(h->probe, h->event, f->usdt->first, f->usdt->sites, f->usdt->n);
        if (rc)
            return rc;
        file.counters = f->usdt->counters;
        file.first = f->usdt->first;
    }
    return probe_heap_attach(h->probe, h->event, &file, heaps_parts(p->cost.watch), links);
}

/* In the files that are known by now: those that it maps meanwhile are attached to as they come (follow). Which blocks
 * were freed while nothing was watched is not known: until it is watched again, they are in use as they were last seen.
 */
static void set_parts(struct heaps *h, struct process *p, enum heap_watch before)
{
    unsigned parts = heaps_parts(p->cost.watch);
    if (before == HEAP_NOTHING && !probe_heap_gone(h->probe, h->event, p->place, XP_GONE_UNSEEN, 0))
        heaps_forget(h);
    for (size_t i = 0; i < p->files.n; i++)
        probe_heap_detach(&p->files.v[i].links, heaps_parts(HEAP_ALL) & ~parts);
    probe_heap_rest(h->probe, h->event, p->place, p->cost.watch != HEAP_ALL);
    for (size_t i = 0; i < p->files.n; i++) {
        struct known_file *f = parts ? heap_files_find(&h->files, p->files.v[i].file) : NULL;
        int rc = f && f->fd >= 0 ? heaps_attach(h, p, f, &p->files.v[i].links) : 0;
        if (rc)
            heaps_note_attached(h, f, &p->files.v[i], rc);
    }
}

void heaps_forget(struct heaps *h)
{
    u64 begun = now_ns();
    heaps_add(&h->figures.unknown, probe_heap_forget(h->probe, h->event));
    u64 now = now_ns();
    h->forget_ns = now + FORGET_TIMES * (now - begun);
}

static bool spend(struct heaps *h, struct process *p)
{
    struct probe_heap_hits hits;
    u64 before = p->cost.seen.calls + p->cost.seen.returns;
    if (probe_heap_hits(h->probe, h->event, p->place, &hits))
        return false;
    bool due = heap_cost_spend(&p->cost, &h->prices, &hits, now_ns());
    heaps_add(&h->figures.hits, hits.calls + hits.returns - before);
    return due;
}

static void look_at(struct heaps *h, struct process *p)
{
    enum heap_watch before = p->cost.watch;
    u64 watched = p->cost.watched_ns, rested = p->cost.rested_ns, rests = p->cost.rests;
    if (!spend(h, p))
        return;
    heap_cost_decide(&p->cost, &h->prices, heaps_cpu_ns(p->tgid), now_ns());
    heaps_add(&h->figures.watched_ns, p->cost.watched_ns - watched);
    heaps_add(&h->figures.rested_ns, p->cost.rested_ns - rested);
    heaps_add(&h->figures.rests, p->cost.rests - rests);
    if (p->cost.watch == before)
        return;
    set_parts(h, p, before);
    spend(h, p); /* what it cost to detach */
}

/* As soon as it matters: that takes some time. */
static void measure(struct heaps *h)
{
    if (h->priced || !h->processes.n || !h->config.max_cost)
        return;
    h->priced = true;
    probe_heap_prices(h->probe, h->event, &h->prices);
    log_info("event memory: a hit of a probe takes %llu ns, and one at the end of a function %llu ns",
             (unsigned long long)h->prices.calls, (unsigned long long)h->prices.returns);
}

/* Of a probe of the configuration, all processes together may cost so much, and the kernel side counts it. */
static void look_whether_it_rests(struct heaps *h)
{
    enum heap_watch watch = probe_rests(h->probe, h->event) ? HEAP_NOTHING : HEAP_ALL;
    for (size_t i = 0; i < h->processes.n && !heaps_ending(h); i++) {
        struct process *p = &h->processes.v[i];
        enum heap_watch before = p->cost.watch;
        p->cost.watch = watch;
        if (before != watch)
            set_parts(h, p, before);
    }
}

void heaps_look(struct heaps *h)
{
    if (h->config.named) {
        look_whether_it_rests(h);
        return;
    }
    measure(h);
    for (size_t i = 0; i < h->processes.n && !heaps_ending(h); i++)
        look_at(h, &h->processes.v[i]);
}

/* The more processes there are, the rarer. */
u64 heaps_pause_ms(const struct heaps *h)
{
    u64 ms = LOOK_MS * (1 + h->processes.n / PER_LOOK);
    return h->processes.n && ms < MOST_MS ? ms : MOST_MS;
}
