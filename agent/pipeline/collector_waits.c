/* Waits, and other sums of the kernel side: how those of an interval come into its stacks. */
#include "base/clock.h"
#include "pipeline/collector_internal.h"
#include "pipeline/heaps.h"
#include "pipeline/sleepers.h"
#include "proc/proc.h"
#include "profile/leaks.h"

/* A wait of the interval that ends; its sample looks like those that come out of the ring. */
static void on_wait(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
    struct collector *c = ctx;
    collector_count(c, s);
    c->own.waits += s->count;
    aggregate_add_values(c->live, s, values, n);
}

/* Frames of runtimes are to be named, too. */
void collector_take_returned(struct collector *c)
{
    for (struct xp_sample *s; (s = jobs_returned_stack(c->config.jobs)); free(s)) {
        frame_asks_note(&c->asks, s);
        if (s->type == XP_RECORD_NONE)
            announce_code_of(c, s);
        else if (s->type == XP_RECORD_SAMPLE)
            aggregate_add(c->live, s);
        else
            waits_keep(&c->waits, s, false);
    }
}

/* Has the stacks of sleeping threads taken. */
static void meet_sleepers(struct collector *c, const struct probe_waits *rows)
{
    size_t first = 0, end = 0;
    for (size_t i = 0; i < rows->sleepers.n; i++) {
        const struct xp_sleeper *z = &rows->sleepers.v[i];
        first = z->same_maps ? first : end;
        end = z->same_maps ? end : end + z->nmaps;
        struct job *j = job_new(JOB_SLEEPER);
        if (!j || sleepers_job(&j->deferred, z, rows->mappings.v + first, end - first)) {
            free(j);
            continue;
        }
        bool open = !jobs_crowded(c->config.jobs);
        waits_keep(&c->waits, j->deferred.sample, open);
        if (open && !openings_put(c->config.openings, j))
            continue;
        waits_keep(&c->waits, j->deferred.sample, false); /* it stays as it is */
        job_free(j);
    }
}

static void take_heaps(struct collector *c)
{
    for (size_t e = 0; e < c->config.nevents; e++)
        if (c->config.heaps && c->config.heaps[e])
            heaps_take(c->config.heaps[e], on_wait, c);
}

static void begin_heaps(const struct collector *c)
{
    for (size_t e = 0; e < c->config.nevents; e++)
        if (c->config.heaps && c->config.heaps[e])
            heaps_begin(c->config.heaps[e]);
}

void collector_take_waits(struct collector *c, u64 deadline_ns)
{
    struct probe *p = c->config.probe;
    struct probe_waits rows = {0};
    struct probe_handlers h = collector_handlers(c);
    const struct wait_events events = {.offcpu = probe_event_by(p, PROBE_OFFCPU),
                                       .runqueue = probe_event_by(p, PROBE_RUNQUEUE),
                                       .wakeup = probe_event_by(p, PROBE_WAKEUP),
                                       .lock = probe_event_by(p, PROBE_LOCK),
                                       .levels = c->config.levels,
                                       .open_levels = c->config.open_levels,
                                       .lent_levels = c->config.lent_levels};
    c->told = 0;
    int rc = probe_take_waits(p, &h, &rows);
    while (collector_poll_ring(c, 0) > 0) /* the stacks that these rows refer to */
        ;
    meet_sleepers(c, &rows);
    collector_take_returned(c);
    for (; waits_open(&c->waits) && now_ns() < deadline_ns; collector_take_returned(c))
        collector_poll_ring(c, 10);
    if (!rc)
        rc = waits_take(&c->waits, &rows, &events, on_wait, c);
    take_heaps(c);
    c->own.waits_lost += c->waits.lost + (rc != 0);
    c->waits.lost = 0;
    c->own.holders_refused = c->waits.holders.refused;
    c->own.tags_lost = c->waits.tags.lost;
    c->waits_ns = now_ns();
    probe_waits_free(&rows);
}

void collector_add_leaks(struct collector *c, size_t event, const struct leak *leaks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct xp_amount values[XP_MAX_VALUES] = {[2] = leaks[i].grown};
        if (waits_add(&c->waits, leaks[i].stack, (u8)event, values, on_wait, c))
            c->own.waits_lost++;
    }
}

void collector_carry_over(struct collector *c)
{
    if (waits_carry(&c->waits, proc_alive, on_wait, c))
        c->own.waits_lost++;
    begin_heaps(c);
}
