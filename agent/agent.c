#include "agent_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "profile/named.h"
#include "object/cache.h"
#include "object/kallsyms.h"
#include "proc/proc.h"
#include "profile/frames.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define QUEUE_JOBS     8192
#define JIT_SEEN       4096
#define GAPS_SEEN      4096
#define NAMED_BYTES    ((size_t)6 << 20)
#define UNWIND_TIMES   (1u << 20)
#define PARSER_MS      5000 /* for one file: a hundred times what the largest ones need */
#define LAST_TABLES_MS 3000 /* what is still queued when sampling ends has so long */
#define SETTLE_MS      150  /* from the last dump to the end of its announcements */

static void raise_nofile(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void open_cache(struct agent *a)
{
    if (!a->config.cache_dir)
        return;
    int rc = cache_open(&a->cache, a->config.cache_dir, a->config.cache_bytes);
    if (rc)
        log_warn("no table cache in %s: %s; tables are made anew", a->config.cache_dir, strerror(-rc));
    else
        parser_set_secret(a->parser, cache_secret(a->cache));
}

static int build(struct agent *a, char *why, size_t len)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    limits.timeout_ms = PARSER_MS;
    raise_nofile();
    int rc = parser_new(&a->parser, &limits);
    if (rc) {
        snprintf(why, len, "cannot start the parser process: %s", strerror(-rc));
        return rc;
    }
    rc = probe_new(&a->probe, &a->config.probe, why, len);
    if (rc)
        return rc;
    open_cache(a);
    snprintf(why, len, "out of memory");
    a->ncpus = probe_cpus(a->probe); /* ids, not a count: those of removed CPUs leave holes */
    a->dumps = calloc((size_t)a->ncpus, sizeof(*a->dumps));
    if (!a->dumps || files_new(&a->files, a->probe, a->parser, a->cache, !a->config.no_synth) ||
        late_new(&a->late, a->probe, a->files) || queue_new(&a->jobs, QUEUE_JOBS) || agent_open_lines(a) ||
        aggregate_new(&a->live, a->config.aggregate_bytes) ||
        aggregate_new(&a->late_aggregate, a->config.aggregate_bytes / 8) || jit_maps_new(&a->jit, a->parser) ||
        (a->config.sink.profile && named_new(&a->named, NAMED_BYTES)))
        return -ENOMEM;
    return 0;
}

int agent_new(struct agent **out, const struct agent_config *config, char *why, size_t why_len)
{
    struct agent *a = calloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    a->config = *config;
    a->places.host = -1;
    a->created_ns = now_ns();
    int rc = build(a, why, why_len);
    if (rc)
        agent_free(&a);
    else
        *out = a;
    return rc;
}

static void stop_worker(struct agent *a)
{
    if (!a->working)
        return;
    queue_close(a->jobs);
    pthread_join(a->worker, NULL);
    a->working = false;
}

void agent_free(struct agent **aa)
{
    struct agent *a = *aa;
    if (!a)
        return;
    stop_worker(a); /* when it was started, but never came to an agent_stop */
    for (size_t i = 0; i < a->gathered.n; i++)
        job_free(a->gathered.v[i]);
    vec_free(&a->gathered);
    vec_free(&a->unwind_ns);
    for (struct job *j; a->jobs && (j = queue_get(a->jobs, 0));)
        job_free(j);
    queue_free(&a->jobs);
    for (int i = 0; a->dumps && i < a->ncpus; i++)
        free(a->dumps[i]);
    free(a->dumps);
    late_free(&a->late);
    files_free(&a->files);
    aggregate_free(&a->live);
    aggregate_free(&a->last.stacks);
    aggregate_free(&a->late_aggregate);
    kallsyms_free(&a->kernel);
    named_free(&a->named);
    jit_maps_free(&a->jit);
    map_free(&a->jit_seen);
    map_free(&a->gap_seen);
    agent_close_lines(a);
    cache_free(&a->cache);
    probe_free(&a->probe);
    parser_free(&a->parser);
    free(a);
    *aa = NULL;
}

/* ---- What comes out of the ring ---- */

static void hand_over(struct agent *a, struct job *j)
{
    struct job **slot = a->gathering ? VEC_PUSH(&a->gathered) : NULL;
    if (slot)
        *slot = j;
    else if (a->gathering || queue_put(a->jobs, j)) {
        a->queue_full++;
        probe_forget(a->probe, &j->file.event.key);
        job_free(j);
    }
}

static void on_cgroup(void *ctx, const struct xp_cgroup_event *e)
{
    const struct agent *a = ctx;
    a->config.sink.cgroup(a->config.sink.ctx, e);
}

static void on_file(void *ctx, const struct xp_file_event *e)
{
    struct agent *a = ctx;
    struct job *j = calloc(1, sizeof(*j));
    if (!j)
        return;
    j->kind = JOB_FILE;
    j->file.event = *e;
    j->file.fd = proc_open_mapping(e->tgid, e->start, e->end, &j->file.path);
    if (j->file.fd < 0) {
        j->file.error = j->file.fd;
        j->file.fd = -1;
    }
    hand_over(a, j);
}

static void on_dump(void *ctx, const struct xp_dump *d)
{
    struct agent *a = ctx;
    if (d->cpu >= (u32)a->ncpus || d->len > XP_DUMP_BYTES || d->nmaps > XP_DUMP_MAPS)
        return;
    if (!a->dumps[d->cpu])
        a->dumps[d->cpu] = malloc(sizeof(*d));
    if (a->dumps[d->cpu])
        memcpy(a->dumps[d->cpu], d, sizeof(*d));
}

/* The sample goes to the worker with its dump; false when it has none after all. */
static bool postpone(struct agent *a, const struct xp_sample *s, size_t len)
{
    struct xp_dump *d = s->cpu < (u32)a->ncpus ? a->dumps[s->cpu] : NULL;
    if (!d || d->time != s->time || queue_len(a->jobs) > QUEUE_JOBS / 2) /* the other half is for files */
        return false;
    struct job *j = calloc(1, sizeof(*j));
    struct xp_sample *copy = malloc(len);
    if (!j || !copy) {
        free(j);
        free(copy);
        return false;
    }
    memcpy(copy, s, len);
    j->kind = JOB_LATE;
    j->late = (struct late_job){.sample = copy, .dump = d};
    a->dumps[s->cpu] = NULL;
    a->postponed_ns = now_ns();
    if (queue_put(a->jobs, j)) {
        job_free(j);
        return false;
    }
    return true;
}

static void note_unwind_time(struct agent *a, const struct xp_sample *s)
{
    u32 *t = s->unwind_ns && s->nuser && a->unwind_ns.n < UNWIND_TIMES ? VEC_PUSH(&a->unwind_ns) : NULL;
    if (t)
        *t = (u32)s->unwind_ns;
}

/* Who was told to the worker, by key. Forgetting them all is no trouble: the worker knows them. NULL: this one was. */
static u64 *first_sight(struct map *seen, size_t max, u64 key)
{
    if (seen->n >= max)
        map_free(seen);
    u64 *told = map_put(seen, key);
    return told && !*told ? told : NULL;
}

/* Takes j. When the queue is full, the next sample of the same kind tries again. */
static void tell(struct agent *a, struct job *j, u64 *told)
{
    if (queue_put(a->jobs, j))
        job_free(j);
    else
        *told = 1;
}

/* Its root is opened now, for it may be gone when its interval ends. */
static void announce_jit(struct agent *a, const struct xp_sample *s)
{
    u64 *told = first_sight(&a->jit_seen, JIT_SEEN, hash_u64(s->start ^ hash_u64(s->tgid)));
    struct job *j = told ? calloc(1, sizeof(*j)) : NULL;
    if (!j)
        return;
    j->kind = JOB_JIT;
    j->jit = jit_process_new(s->tgid, s->start);
    if (j->jit)
        tell(a, j, told);
    else
        job_free(j);
}

/* Its stack stopped in code of a file that has no unwind information there. */
static bool stopped_in_gap(const struct xp_sample *s)
{
    return (s->cause == XP_CAUSE_NO_RULE || s->cause == XP_CAUSE_FP_BROKEN) && s->nuser &&
           XP_WORD_KIND(s->words[s->nkernel + s->nuser - 1]) != XP_WORD_ANON;
}

static void announce_gap(struct agent *a, const struct xp_sample *s)
{
    u32 id = XP_WORD_FILE(s->words[s->nkernel + s->nuser - 1]);
    u64 *told = first_sight(&a->gap_seen, GAPS_SEEN, id);
    struct job *j = told ? calloc(1, sizeof(*j)) : NULL;
    if (!j)
        return;
    j->kind = JOB_GAP;
    j->gap = id;
    tell(a, j, told);
}

static void on_sample(void *ctx, const struct xp_sample *s, size_t len)
{
    struct agent *a = ctx;
    if (sizeof(*s) + 8ull * (s->nkernel + s->nuser) > len || s->cause >= XP_CAUSE_COUNT) {
        a->malformed++;
        return;
    }
    char class = cause_class(s->cause);
    a->seen++;
    a->user += class != 'n';
    a->complete += class == 'c';
    note_unwind_time(a, s);
    if (jit_sample(s))
        announce_jit(a, s);
    if (stopped_in_gap(s))
        announce_gap(a, s);
    if ((s->flags & XP_SAMPLE_DUMP) && postpone(a, s, len))
        return;
    aggregate_add(a->live, s);
}

static struct probe_handlers handlers_of(struct agent *a)
{
    return (struct probe_handlers){
        .ctx = a, .sample = on_sample, .file = on_file, .dump = on_dump, .cgroup = on_cgroup};
}

static void adjust_rate(struct agent *a)
{
    unsigned wanted = __atomic_load_n(&a->hz_wanted, __ATOMIC_RELAXED), share = a->share ? a->share : 100;
    unsigned hz = (wanted ? wanted : a->config.probe.events[0].hz) * share / 100;
    hz = hz ? hz : 1;
    if (hz != agent_rate(a) && !probe_set_rate(a->probe, hz))
        a->hz = hz;
}

unsigned agent_rate(const struct agent *a)
{
    return a->hz ? a->hz : a->config.probe.events[0].hz;
}

void agent_set_share(struct agent *a, unsigned percent)
{
    a->share = percent;
}

void agent_poll(struct agent *a, int timeout_ms)
{
    struct probe_handlers h = handlers_of(a);
    u64 now = now_ns();
    probe_poll(a->probe, &h, timeout_ms);
    if (now - a->rescan_ns > NS_PER_SEC) {
        a->rescan_ns = now;
        probe_rescan_cpus(a->probe);
        adjust_rate(a);
    }
}

/* ---- Before sampling: the tables of what already runs, biggest CPU users first ---- */

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
        const struct xp_mapping *m = &list->v[i];
        if (m->tgid != tgid)
            used = proc_cpu_ticks(tgid = m->tgid);
        u64 *t = m->file ? map_put(ticks, m->file) : NULL;
        if (t && *t < used)
            *t = used;
    }
}

static void build_gathered(struct agent *a, const probe_mappings *list)
{
    struct map ticks = {0};
    u64 deadline = now_ns() + a->config.prepare_ms * 1000000ull;
    AUTO_FREE struct ranked *order = calloc(a->gathered.n + 1, sizeof(*order));
    rank_files(list, &ticks);
    for (size_t i = 0; order && i < a->gathered.n; i++) {
        u64 *t = map_get(&ticks, a->gathered.v[i]->file.event.id);
        order[i] = (struct ranked){a->gathered.v[i], t ? *t : 0};
    }
    if (order)
        qsort(order, a->gathered.n, sizeof(*order), by_ticks);
    for (size_t i = 0; order && i < a->gathered.n; i++) {
        if (now_ns() > deadline) {
            hand_over(a, order[i].job); /* the worker's, later */
            continue;
        }
        files_build(a->files, &order[i].job->file);
        free(order[i].job);
    }
    if (order)
        a->gathered.n = 0;
    map_free(&ticks);
}

int agent_prepare(struct agent *a)
{
    probe_mappings list = {0};
    struct probe_handlers h = handlers_of(a);
    a->gathering = true;
    int rc = probe_list_mappings(a->probe, 0, &list);
    while (probe_poll(a->probe, &h, 0) > 0)
        ;
    a->gathering = false;
    build_gathered(a, &list);
    vec_free(&list);
    return rc == -ENOTSUP ? 0 : rc;
}

/* ---- Life ---- */

int agent_add_pid(struct agent *a, u32 tgid)
{
    return probe_add_pid(a->probe, tgid);
}

int agent_start(struct agent *a, char *why, size_t why_len)
{
    int fd = proc_vdso(); /* no sample announces it: it has no file */
    if (fd >= 0)
        files_build_vdso(a->files, fd);
    int rc = pthread_create(&a->worker, NULL, agent_worker, a);
    if (rc) {
        snprintf(why, why_len, "cannot start a thread: %s", strerror(rc));
        return -rc;
    }
    a->working = true;
    rc = probe_start(a->probe, why, why_len);
    a->started_ns = a->rescan_ns = a->span_ns = now_ns();
    return rc;
}

struct span agent_take_span(struct agent *a)
{
    struct span s = {0};
    struct aggregate *fresh;
    u64 now = now_ns();
    if (aggregate_new(&fresh, a->config.aggregate_bytes))
        return s;
    s = (struct span){.stacks = a->live, .duration_ns = now - a->span_ns};
    s.time_ns =
        clock_ns(CLOCK_REALTIME) - s.duration_ns; /* a clock that was set in between moves it, but not its length */
    a->live = fresh;
    a->span_ns = now;
    return s;
}

int agent_rotate(struct agent *a)
{
    struct job *j = calloc(1, sizeof(*j));
    if (!j)
        return -ENOMEM;
    j->kind = JOB_SPAN;
    j->span = agent_take_span(a);
    if (!j->span.stacks) {
        free(j);
        return -ENOMEM;
    }
    if (queue_put(a->jobs, j)) { /* full of files: the interval becomes longer, nothing is lost */
        aggregate_merge(j->span.stacks, a->live);
        aggregate_free(&a->live);
        a->live = TAKE_PTR(j->span.stacks);
        a->span_ns -= j->span.duration_ns;
        job_free(j);
    }
    return 0;
}

void agent_set_rate(struct agent *a, unsigned hz)
{
    __atomic_store_n(&a->hz_wanted, hz, __ATOMIC_RELAXED);
}

int agent_want(struct agent *a, u64 cgroup, u32 want)
{
    return probe_want(a->probe, cgroup, want);
}

void agent_unwant(struct agent *a, u64 cgroup)
{
    probe_unwant(a->probe, cgroup);
}

void agent_stop(struct agent *a)
{
    struct probe_handlers h = handlers_of(a);
    probe_stop(a->probe);
    a->stopped_ns = now_ns();
    __atomic_store_n(&a->deadline_ns, a->stopped_ns + LAST_TABLES_MS * 1000000ull, __ATOMIC_RELAXED);
    while (probe_poll(a->probe, &h, 0) > 0)
        ;
    /* A dump announced the files of its process: let those announcements reach the worker, too. */
    while (a->working && now_ns() - a->postponed_ns < SETTLE_MS * 1000000ull)
        probe_poll(a->probe, &h, 10);
    if (a->config.sink.profile)
        a->last = agent_take_span(a);
    stop_worker(a);
    if (a->config.sink.profile)
        return;
    aggregate_merge(a->live, a->late_aggregate);
    aggregate_judge(a->live, agent_judge, a);
    agent_count_stacks(a, a->live, &a->tally);
}

void agent_progress(struct agent *a, u64 *samples, u64 *lost, u64 *user, u64 *complete)
{
    struct xp_stats st = {0};
    probe_stats(a->probe, &st);
    *samples = a->seen;
    *lost = st.lost[XP_LOSS_RING_FULL] + aggregate_dropped(a->live);
    *user = a->user;
    *complete = a->complete;
}
