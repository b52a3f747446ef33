#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cache/cache.h"
#include "parser/parser.h"
#include "parser/sandbox.h"
#include "pipeline/pipeline_internal.h"
#include "pipeline/heaps.h"
#include "proc/proc.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define PARSER_MS      5000 /* for one file: a hundred times what the largest ones need */
#define FIRST_HEAPS_MS 3000 /* for the allocators of processes that run when sampling begins */
#define FIRST_LOCKS_MS 1000 /* for those that goroutines wait for */
#define FIRST_CODE_MS  300  /* for the virtual machines that run when sampling begins */
#define SETTLE_MS      10
#define COST_MS        50   /* between two looks at what probes cost, while they are on */
#define LAST_TABLES_MS 3000 /* for the tables that are still to be built when sampling ends */

static void raise_nofile(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void open_cache(struct pipeline *p)
{
    struct debug_sources *debug = &p->config.debug;
    debug->cache_dir = p->config.cache_dir;
    int rc = debug_sources_open_cache(debug, p->config.cache_bytes, &p->cache);
    if (rc)
        log_warn("cannot use the table cache in %s: %s; all tables are built again", p->config.cache_dir,
                 strerror(-rc));
    else if (p->cache)
        parser_set_secret(p->parser, cache_secret(p->cache));
}

/* The rate of the clocks: all have the same. */
static unsigned clock_rate(const struct probe_config *c)
{
    for (size_t e = 0; e < c->nevents; e++)
        if (c->events[e].time)
            return c->events[e].hz;
    return 1;
}

/* Bits of the events of which each sample is kept for itself. */
static u32 timed_events(const struct pipeline *p)
{
    u32 bits = 0;
    for (size_t e = 0; e < p->config.probe.nevents; e++)
        bits |= (u32)(p->config.times && p->config.probe.events[e].time) << e;
    return bits;
}

static int new_collector(struct pipeline *p)
{
    struct collector_config c = {.probe = p->probe,
                                 .jobs = &p->jobs,
                                 .openings = p->openings,
                                 .hz = clock_rate(&p->config.probe),
                                 .nevents = p->config.probe.nevents,
                                 .aggregate_bytes = p->config.aggregate_bytes,
                                 .neighbours = p->config.neighbours,
                                 .generators = p->config.probe.target != XP_TARGET_CGROUP,
                                 .ctx = p->config.sink.ctx,
                                 .cgroup = p->config.sink.cgroup};
    c.heaps = p->heaps;
    c.timed = timed_events(p);
    for (size_t e = 0; e < c.nevents; e++) {
        c.widths[e] = (u8)event_width(p->config.events[e]);
        enum probe_levels levels = p->config.probe.events[e].levels;
        c.levels |= (u32)(levels == PROBE_LEVELS_HELD || levels == PROBE_LEVELS_LENT) << e;
        c.lent_levels |= (u32)(levels == PROBE_LEVELS_LENT) << e;
        c.open_levels |= (u32)(levels == PROBE_LEVELS_OPEN) << e;
    }
    return collector_new(&p->collector, &c);
}

static int new_worker(struct pipeline *p)
{
    struct worker_config c = {.probe = p->probe,
                              .parser = p->parser,
                              .opener = p->opener,
                              .hung = p->hung,
                              .cache = p->cache,
                              .jobs = &p->jobs,
                              .aggregate_bytes = p->config.aggregate_bytes,
                              .no_synth = p->config.no_synth,
                              .neighbours = p->config.neighbours,
                              .ctx = p->config.sink.ctx,
                              .profile = p->config.sink.profile};
    c.names = (struct namer_config){.nevents = p->config.probe.nevents,
                                    .debug = p->config.debug,
                                    .heap_period = p->config.probe.heap_period,
                                    .short_names = p->config.short_names,
                                    .raw = p->config.raw,
                                    .hide_idle = p->config.hide_idle};
    c.timed = timed_events(p);
    c.names.debug.cache_dir = p->cache ? p->config.cache_dir : NULL;
    memcpy(c.names.events, p->config.events, sizeof(c.names.events));
    return worker_new(&p->worker, &c);
}

/* What this machine does not allow is said once; what is always there stands in front of it. */
static void say_layers(const struct pipeline *p)
{
    const struct sandbox_layer_text *layer;
    for (unsigned i = 0; (layer = sandbox_layer_text(i)); i++)
        if (!(parser_layers(p->parser) >> i & 1))
            log_info("the parser process is without %s; seccomp and the loss of all capabilities hold", layer->missing);
}

/* Of programs in Go, all is known at once: nothing is seen to grow. */
static enum heaps_go follow_go(const struct pipeline *p)
{
    if (p->config.heap_old_ns)
        return HEAPS_GO_NOT;
    return p->config.neighbours ? HEAPS_GO_FOLLOWED : HEAPS_GO_SINCE_START;
}

/* Events whose programs are attached to places in files of the processes. */
static int follow_files(struct pipeline *p)
{
    int rc = 0;
    struct heaps *first = NULL; /* with allocators */
    for (size_t e = 0; e < p->config.probe.nevents && !rc; e++) {
        const struct probe_event *event = &p->config.probe.events[e];
        struct heaps_config c = {.probe = p->probe,
                                 .event = e,
                                 .name = p->config.events[e]->name,
                                 .read = parser_allocators,
                                 .hung = p->hung};
        if (event->levels == PROBE_LEVELS_HELD) {
            c.max_cost = p->config.heap_cost;
            c.old_ns = p->config.heap_old_ns;
            c.go = follow_go(p);
        } else if (event->how == PROBE_LOCK) {
            c.read = parser_go_locks;
        }
        if (event->places && event->places->file)
            c.named = event->places;
        c.strict = event->strict;
        c.neighbours = p->config.neighbours;
        if (event->allocators || event->how == PROBE_LOCK || c.named)
            rc = heaps_new(&p->heaps[e], &c);
        if (event->allocators && !rc && first)
            rc = heaps_lead(first, p->heaps[e]);
        else if (event->allocators)
            first = p->heaps[e];
    }
    return rc;
}

static int build(struct pipeline *p, char *why, size_t len)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    limits.timeout_ms = PARSER_MS;
    raise_nofile();
    int rc = hung_new(&p->hung);
    if (!rc)
        rc = opener_new(&p->opener, p->hung);
    if (!rc)
        rc = parser_new(&p->parser, &limits);
    if (rc) {
        snprintf(why, len, "cannot start the parser process: %s", strerror(-rc));
        return rc;
    }
    say_layers(p);
    parser_set_opener(p->parser, p->opener, p->hung);
    rc = probe_new(&p->probe, &p->config.probe, why, len);
    if (rc)
        return rc;
    open_cache(p);
    snprintf(why, len, "out of memory");
    if (jobs_new(&p->jobs))
        return -ENOMEM;
    if (p->config.neighbours)
        jobs_share(&p->jobs);
    rc = openings_new(&p->openings, p->probe, &p->jobs, p->hung);
    if (rc) {
        snprintf(why, len, "cannot start a thread: %s", strerror(-rc));
        return rc;
    }
    rc = follow_files(p);
    if (rc)
        return rc;
    return new_collector(p) || new_worker(p) ? -ENOMEM : 0;
}

int pipeline_new(struct pipeline **out, const struct pipeline_config *config, char *why, size_t why_len)
{
    struct pipeline *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->config = *config;
    p->config.probe.cgroup_files = config->neighbours ? FILES_OF_CGROUP : 0;
    p->created_ns = now_ns();
    int rc = build(p, why, why_len);
    if (rc)
        pipeline_free(&p);
    else
        *out = p;
    return rc;
}

void pipeline_free(struct pipeline **pp)
{
    struct pipeline *p = *pp;
    if (!p)
        return;
    for (size_t e = 0; e < XP_MAX_EVENTS; e++)
        heaps_free(&p->heaps[e]);
    openings_free(&p->openings);
    worker_free(&p->worker);
    collector_free(&p->collector);
    jobs_free(&p->jobs);
    cache_free(&p->cache);
    probe_free(&p->probe);
    parser_free(&p->parser);
    opener_free(&p->opener);
    hung_free(&p->hung);
    free(p);
    *pp = NULL;
}

/* Processes that run already. What is allocated before they are followed is never known; of locks, some waits are
 * missing. */
static void follow_first(struct pipeline *p)
{
    u64 begun = now_ns();
    for (size_t e = 0; e < XP_MAX_EVENTS; e++)
        if (p->heaps[e])
            heaps_put(p->heaps[e], &(struct xp_mapped_event){0});
    for (size_t e = 0; e < XP_MAX_EVENTS; e++) {
        u64 ms = p->config.probe.events[e].allocators ? FIRST_HEAPS_MS : FIRST_LOCKS_MS;
        while (p->heaps[e] && !heaps_settled(p->heaps[e]) && now_ns() < begun + ms * 1000000)
            collector_poll(p->collector, SETTLE_MS);
    }
}

int pipeline_prepare(struct pipeline *p)
{
    return collector_prepare(p->collector, worker_build, p->worker, now_ns() + p->config.prepare_ms * 1000000ull);
}

int pipeline_start(struct pipeline *p, char *why, size_t why_len)
{
    int fd = proc_vdso();
    if (fd >= 0)
        worker_build_vdso(p->worker, fd);
    int rc = worker_start(p->worker);
    if (rc) {
        snprintf(why, why_len, "cannot start a thread: %s", strerror(-rc));
        return rc;
    }
    p->started = true;
    openings_settle(p->openings, now_ns() + FIRST_CODE_MS * 1000000ull);
    rc = probe_start(p->probe, why, why_len);
    if (rc >= 0 && why[0]) /* what it does without */
        log_warn("%s", why);
    p->started_ns = now_ns();
    collector_begin(p->collector);
    if (rc >= 0)
        follow_first(p);
    return rc;
}

int pipeline_add_pid(struct pipeline *p, u32 tgid)
{
    return probe_add_pid(p->probe, tgid);
}

void pipeline_poll(struct pipeline *p, int timeout_ms)
{
    bool soon = timeout_ms > COST_MS && probe_may_rest(p->probe);
    collector_poll(p->collector, soon ? COST_MS : timeout_ms);
    u32 resting = probe_see_costs(p->probe);
    for (size_t e = 0; e < p->config.probe.nevents; e++)
        if (resting >> e & 1)
            log_warn(
                "%s: its probes cost more than %u %% of a CPU: they are taken off, and come back for as long as "
                "that allows",
                p->config.events[e]->name, probe_max_cost(&p->config.probe, e));
}

int pipeline_rotate(struct pipeline *p)
{
    return collector_rotate(p->collector);
}

int pipeline_want(struct pipeline *p, u64 cgroup, u64 want)
{
    return probe_want(p->probe, cgroup, want);
}

int pipeline_set_parts(struct pipeline *p, u32 row, const struct xp_parts *parts)
{
    return probe_set_parts(p->probe, row, parts);
}

void pipeline_unwant(struct pipeline *p, u64 cgroup)
{
    probe_unwant(p->probe, cgroup);
}

void pipeline_set_rate(struct pipeline *p, unsigned hz)
{
    collector_set_rate(p->collector, hz);
}

unsigned pipeline_rate(const struct pipeline *p)
{
    return collector_rate(p->collector);
}

/* To detach takes a while for each process. Allocations do not count meanwhile; locks do not count any more, but waits
 * that go on do until they are taken. */
static void stop_following(struct pipeline *p, bool allocators)
{
    for (size_t e = 0; e < XP_MAX_EVENTS; e++)
        if (p->heaps[e] && p->config.probe.events[e].allocators == allocators)
            heaps_stop(p->heaps[e]);
}

static void add_leaks(struct pipeline *p)
{
    for (size_t e = 0; e < XP_MAX_EVENTS; e++) {
        const leaks_list *found = p->heaps[e] ? heaps_leaks(p->heaps[e]) : NULL;
        if (found)
            collector_add_leaks(p->collector, e, found->v, found->n);
    }
}

void pipeline_stop(struct pipeline *p)
{
    stop_following(p, true);
    probe_stop(p->probe);
    p->stopped_ns = now_ns();
    jobs_end_by(&p->jobs, p->stopped_ns + LAST_TABLES_MS * 1000000ull);
    collector_drain(p->collector, p->started);
    add_leaks(p);
    stop_following(p, false);
    struct span last = {0};
    if (p->config.sink.profile)
        last = collector_take_span(p->collector);
    worker_stop(p->worker, &last);
    collector_take_returned(p->collector);
    aggregate_free(&last.stacks); /* of a worker that never started */
    if (!p->config.sink.profile)
        worker_finish(p->worker, collector_stacks(p->collector));
}

int pipeline_profile(struct pipeline *p, struct profile *out)
{
    struct span s = {.stacks = collector_stacks(p->collector),
                     .duration_ns = p->stopped_ns - p->started_ns,
                     .hz = collector_rate(p->collector)};
    s.time_ns = clock_ns(CLOCK_REALTIME) - (now_ns() - p->started_ns);
    return worker_name(p->worker, &s, out);
}
