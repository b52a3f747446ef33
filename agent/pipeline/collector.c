#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/collector_internal.h"
#include "pipeline/heaps.h"
#include "profile/frames.h"
#include <errno.h>
#include <string.h>

#define SETTLE_MS        150               /* from the last dump to the end of its announcements */
#define WAITS_NS         (5 * NS_PER_SEC)  /* between two looks at waits: their map must not fill up */
#define CROWDED          (XP_MAX_SUMS / 4) /* stacks after which it might, so that they are looked at earlier, */
#define CROWDED_NS       (NS_PER_SEC / 20) /* but not all the time */
#define ALONE            8                 /* times the memory for stacks, where it ends with the recording */
#define FIRST_WAITS_NS   (NS_PER_SEC / 4)  /* the first one: threads that hold locks have names while they live */
#define LAST_OPENINGS_NS (2 * NS_PER_SEC)
#define LAST_STACKS_NS   (4 * NS_PER_SEC) /* tables may come for three */

static int new_stacks(const struct collector *c, struct aggregate **out)
{
    int rc = aggregate_new(out, c->config.nevents, c->config.aggregate_bytes);
    if (!rc)
        aggregate_keep_times(*out, c->config.timed);
    if (!rc && c->config.neighbours)
        aggregate_share(*out);
    for (size_t e = 0; e < c->config.nevents && !rc; e++) {
        size_t width = c->config.widths[e] ? c->config.widths[e] : 1;
        size_t open = c->config.open_levels >> e & 1; /* the last value is one */
        aggregate_widen(*out, e, width, c->config.levels >> e & 1 ? 1 : width - open);
    }
    return rc;
}

int collector_new(struct collector **out, const struct collector_config *config)
{
    CLEANUP(collector_free) struct collector *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->config = *config;
    waits_init(&c->waits);
    c->waits.bytes.limit *= config->neighbours ? 1 : ALONE;
    c->waits_pause_ns = probe_event_by(config->probe, PROBE_LOCK) < 0 ? WAITS_NS : FIRST_WAITS_NS;
    c->ncpus = probe_cpus(config->probe); /* ids, not a count: those of removed CPUs leave holes */
    c->dumps = calloc((size_t)c->ncpus, sizeof(*c->dumps));
    if (!c->dumps || new_stacks(c, &c->live))
        return -ENOMEM;
    *out = TAKE_PTR(c);
    return 0;
}

void collector_free(struct collector **cc)
{
    struct collector *c = *cc;
    if (!c)
        return;
    for (size_t i = 0; i < c->gathered.n; i++)
        job_free(c->gathered.v[i]);
    vec_free(&c->gathered);
    vec_free(&c->unwind_ns);
    for (int i = 0; c->dumps && i < c->ncpus; i++)
        free(c->dumps[i]);
    free(c->dumps);
    aggregate_free(&c->live);
    waits_free(&c->waits);
    map_free(&c->runtimes_seen);
    map_free(&c->code_seen);
    map_free(&c->gap_seen);
    frame_asks_free(&c->asks);
    free(c);
    *cc = NULL;
}

/* ---- What comes out of the ring ---- */

static void on_cgroup(void *ctx, const struct xp_cgroup_event *e)
{
    const struct collector *c = ctx;
    if (c->config.cgroup)
        c->config.cgroup(c->config.ctx, e);
}

static void on_dump(void *ctx, const struct xp_dump *d)
{
    struct collector *c = ctx;
    if (d->cpu >= (u32)c->ncpus || d->len > XP_DUMP_BYTES || d->nmaps > XP_DUMP_MAPS)
        return;
    if (!c->dumps[d->cpu])
        c->dumps[d->cpu] = malloc(sizeof(*d));
    if (c->dumps[d->cpu])
        memcpy(c->dumps[d->cpu], d, sizeof(*d));
}

/* The dump that came with this record; NULL: none. */
static struct xp_dump *take_dump(struct collector *c, const struct xp_sample *s)
{
    struct xp_dump *d = s->cpu < (u32)c->ncpus ? c->dumps[s->cpu] : NULL;
    if (!(s->flags & XP_SAMPLE_DUMP) || !d || d->time != s->time)
        return NULL;
    c->dumps[s->cpu] = NULL;
    return d;
}

/* Hands the sample to the worker with its dump (owned by this function); false: it is to be counted here, as it
 * came. */
static bool defer(struct collector *c, const struct xp_sample *s, size_t len, struct xp_dump *d)
{
    struct job *j = d && !jobs_crowded(c->config.jobs) ? job_new(JOB_DEFERRED) : NULL; /* the other half is for files */
    struct xp_sample *copy = j ? malloc(len) : NULL;
    if (!copy) {
        free(j);
        free(d);
        return false;
    }
    memcpy(copy, s, len);
    j->deferred = (struct deferred_job){.sample = copy, .dump = d};
    c->postponed_ns = now_ns();
    if (jobs_put(c->config.jobs, j)) {
        job_free(j);
        return false;
    }
    return true;
}

/* False: the record does not contain what it says. */
static bool sound(struct collector *c, const struct xp_sample *s, size_t len)
{
    if (sizeof(*s) + 8ull * (s->nkernel + s->nuser) <= len && s->cause < XP_CAUSE_COUNT)
        return true;
    c->own.malformed++;
    return false;
}

void collector_count(struct collector *c, const struct xp_sample *s)
{
    char class = cause_class(s->cause);
    c->own.seen += s->count;
    c->own.user += class != 'n' ? s->count : 0;
    c->own.complete += class == 'c' ? s->count : 0;
}

/* What a stack shows of its process and its files goes to the worker. */
static void announce(struct collector *c, const struct xp_sample *s)
{
    announce_runtime(c, s);
    announce_code(c, s);
    announce_gap(c, s);
    frame_asks_note(&c->asks, s);
}

static void on_sample(void *ctx, const struct xp_sample *s, size_t len)
{
    struct collector *c = ctx;
    if (!sound(c, s, len))
        return;
    collector_count(c, s);
    collector_note_unwind(c, s);
    announce(c, s);
    struct xp_dump *dump = take_dump(c, s);
    if (!dump || !defer(c, s, len, dump))
        aggregate_add(c->live, s);
}

static void on_stack(void *ctx, const struct xp_sample *s, size_t len)
{
    struct collector *c = ctx;
    if (!sound(c, s, len))
        return;
    collector_note_unwind(c, s);
    c->told++;
    if (s->tgid) /* the kernel has nothing to announce */
        announce(c, s);
    struct xp_dump *dump = take_dump(c, s);
    waits_keep(&c->waits, s, dump && defer(c, s, len, dump));
}

static void on_mapped(void *ctx, const struct xp_mapped_event *e)
{
    const struct collector *c = ctx;
    if (e->event < XP_MAX_EVENTS && c->config.heaps[e->event])
        heaps_put(c->config.heaps[e->event], e);
}

struct probe_handlers collector_handlers(struct collector *c)
{
    return (struct probe_handlers){.ctx = c,
                                   .sample = on_sample,
                                   .stack = on_stack,
                                   .file = announce_file,
                                   .tag = announce_tag,
                                   .code = announce_texts,
                                   .dump = on_dump,
                                   .mapped = on_mapped,
                                   .cgroup = on_cgroup};
}

/* ---- Polling ---- */

int collector_poll_ring(struct collector *c, int timeout_ms)
{
    struct probe_handlers h = collector_handlers(c);
    return probe_poll(c->config.probe, &h, timeout_ms);
}

static void adjust_rate(struct collector *c)
{
    unsigned wanted = __atomic_load_n(&c->hz_wanted, __ATOMIC_RELAXED), hz = wanted ? wanted : c->config.hz;
    if (hz != collector_rate(c) && !probe_set_rate(c->config.probe, hz))
        __atomic_store_n(&c->hz, hz, __ATOMIC_RELAXED);
}

void collector_set_rate(struct collector *c, unsigned hz)
{
    __atomic_store_n(&c->hz_wanted, hz, __ATOMIC_RELAXED);
}

unsigned collector_rate(const struct collector *c)
{
    unsigned hz = __atomic_load_n(&c->hz, __ATOMIC_RELAXED);
    return hz ? hz : c->config.hz;
}

void collector_begin(struct collector *c)
{
    c->rescan_ns = c->span_ns = now_ns();
    collector_take_waits(c, 0); /* those that go on already: their stacks are taken now */
}

void collector_poll(struct collector *c, int timeout_ms)
{
    u64 now = now_ns();
    collector_poll_ring(c, timeout_ms);
    if (now - c->waits_ns > CROWDED_NS && c->told >= CROWDED) {
        collector_take_waits(c, 0);
    } else if (now - c->waits_ns > c->waits_pause_ns) {
        c->waits_pause_ns = 2 * c->waits_pause_ns < WAITS_NS ? 2 * c->waits_pause_ns : WAITS_NS;
        collector_take_waits(c, 0);
    }
    collector_take_returned(c);
    announce_frames(c);
    collector_publish(c);
    if (now - c->rescan_ns > NS_PER_SEC) {
        c->rescan_ns = now;
        char why[256];
        int rc = probe_rescan(c->config.probe, why, sizeof(why));
        if (why[0])
            log_warn("%s", why);
        if (rc > 0)
            collector_take_waits(c, 0);
        adjust_rate(c);
    }
}

void collector_drain(struct collector *c, bool wait)
{
    while (collector_poll_ring(c, 0) > 0)
        ;
    collector_take_waits(c, wait ? now_ns() + LAST_STACKS_NS : 0);
    /* A dump announced the files of its process: let those announcements reach the worker, too. */
    while (wait && now_ns() - c->postponed_ns < SETTLE_MS * 1000000ull)
        collector_poll_ring(c, 10);
    announce_frames(c);
    if (wait)
        openings_settle(c->config.openings, now_ns() + LAST_OPENINGS_NS);
    collector_publish(c);
}

/* ---- Intervals ---- */

struct span collector_take_span(struct collector *c)
{
    struct span s = {0};
    struct aggregate *fresh;
    collector_take_waits(c, 0);
    u64 now = now_ns();
    if (new_stacks(c, &fresh))
        return s;
    s = (struct span){.stacks = c->live, .duration_ns = now - c->span_ns, .hz = collector_rate(c)};
    /* A clock that was set in between moves the start, but not the length. */
    s.time_ns = clock_ns(CLOCK_REALTIME) - s.duration_ns;
    c->live = fresh;
    c->span_ns = now;
    return s;
}

int collector_rotate(struct collector *c)
{
    struct job *j = job_new(JOB_SPAN);
    if (!j)
        return -ENOMEM;
    j->span = collector_take_span(c);
    announce_frames(c);
    frame_asks_age(&c->asks);
    if (!j->span.stacks) {
        free(j);
        return -ENOMEM;
    }
    if (openings_put(c->config.openings, j)) { /* full of files: the interval becomes longer, nothing is lost */
        aggregate_merge(j->span.stacks, c->live);
        aggregate_free(&c->live);
        c->live = TAKE_PTR(j->span.stacks);
        c->span_ns -= j->span.duration_ns;
        job_free(j);
    } else {
        collector_carry_over(c);
    }
    return 0;
}

struct aggregate *collector_stacks(struct collector *c)
{
    return c->live;
}
