#include "export/target.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "export/target_config.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MS             1000000ull
#define BACKOFF_NS     (500 * MS)
#define BLOCKED_NS     (5000 * MS)
#define MAX_BACKOFF_NS (300 * NS_PER_SEC)

enum {
    WINDOW = 32,
    PARALLEL = 4,
    GUILT = 3,      /* failures with passes of others in between */
    GUILT_RATE = 8, /* of 429: a big profile may also have been unlucky */
};

struct entry { /* a profile that was read and is not answered for */
    enum { FREE, FLYING, WAITING } state;
    bool suspect; /* its last failure may have been its own fault, */
    u64 passed;   /* when the target had passed so many */
    unsigned guilt;
    u64 seq, wall_ns, segment, at;
};

struct lane { /* a thread, with an exporter of its own */
    struct target *target;
    pthread_t thread;
    bool running;
    void *exporter;
    struct spool_record record;
    struct export_profile profile;
};

struct target {
    const struct exporter *kind;
    struct export_target config;
    struct spool *spool;
    struct spool_reader *reader;
    pthread_mutex_t lock;
    pthread_cond_t change;
    volatile bool stop;
    bool flush;
    struct lane lanes[EXPORT_MAX_PARALLEL];
    size_t nlanes;
    struct entry window[WINDOW];
    bool sick;
    unsigned failures; /* without a success, as back-offs count them */
    u64 not_before, passed;
    u64 rate, tokens_ns; /* bytes a second; when they were counted */
    s64 tokens;
    struct export_stats stats;
    u32 told, fresh; /* bits by reason: lines that were handed out, that wait for it */
    char lines[EXPORT_NREASONS][256];
};

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static int make_lanes(struct target *t, char *why, size_t size)
{
    size_t want = t->kind->serial ? 1 : t->config.parallel ? t->config.parallel : PARALLEL;
    for (; t->nlanes < want; t->nlanes++) {
        struct lane *l = &t->lanes[t->nlanes];
        l->target = t;
        int rc = t->kind->new (&l->exporter, &t->config, why, size);
        if (rc)
            return rc;
    }
    return 0;
}

int target_new(struct target **out, const struct export_target *config, const struct target_limits *limits, char *why,
               size_t size)
{
    struct target *t CLEANUP(target_free) = calloc(1, sizeof(*t));
    pthread_condattr_t attr;
    if (!t)
        return -ENOMEM;
    t->rate = limits->bytes_per_s;
    t->kind = exporter_of(config->kind);
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->change, &attr);
    pthread_condattr_destroy(&attr);
    int rc = t->kind ? target_config_copy(&t->config, config, why, size) : -EINVAL;
    if (!rc && t->kind->max_age_ns && !t->config.max_age_ns)
        t->config.max_age_ns = t->kind->max_age_ns;
    rc = rc ? rc : make_lanes(t, why, size);
    if (rc)
        return rc;
    snprintf(t->stats.name, sizeof(t->stats.name), "%s", t->config.name);
    *out = TAKE_PTR(t);
    return 0;
}

void target_free(struct target **target)
{
    struct target *t = *target;
    if (!t)
        return;
    target_stop(t);
    for (size_t i = 0; i < t->nlanes; i++) {
        t->kind->free(t->lanes[i].exporter);
        buf_free(&t->lanes[i].record.body);
    }
    target_config_free(&t->config);
    pthread_cond_destroy(&t->change);
    pthread_mutex_destroy(&t->lock);
    free(t);
    *target = NULL;
}

const char *target_name(const struct target *t)
{
    return t->config.name;
}

/* ---- What became of a profile ------------------------------------------------------------------------------------ */

static void tell(struct target *t, enum export_reason r, const char *message)
{
    u32 bit = 1u << r;
    snprintf(t->stats.error, sizeof(t->stats.error), "%s: %s", export_reason_slug(r), message);
    if (t->told & bit)
        return;
    t->told |= bit;
    t->fresh |= bit;
    snprintf(t->lines[r], sizeof(t->lines[r]), "%s", message);
}

static void drop(struct target *t, struct entry *e, enum export_reason r, u64 bytes)
{
    t->stats.dropped[r]++;
    t->stats.dropped_bytes[r] += bytes;
    e->state = FREE;
}

/* Everything below the oldest entry has been answered for. */
static void commit(struct target *t)
{
    u64 seq = UINT64_MAX;
    for (size_t i = 0; i < WINDOW; i++)
        if (t->window[i].state != FREE && t->window[i].seq < seq)
            seq = t->window[i].seq;
    spool_commit(t->spool, t->reader, seq);
}

static u64 jitter(u64 ns)
{
    return ns / 2 + hash_u64(now_ns()) % (ns / 2 + 1);
}

/* Several calls that fail together count once: the first of them has begun the back-off. */
static void back_off(struct target *t, const struct verdict *v)
{
    u64 now = now_ns(), base = v->kind == VERDICT_BLOCKED ? BLOCKED_NS : BACKOFF_NS;
    t->sick = true;
    if (now < t->not_before)
        return;
    u64 wait = t->failures < 10 ? base << t->failures : MAX_BACKOFF_NS;
    wait = jitter(wait < MAX_BACKOFF_NS ? wait : MAX_BACKOFF_NS);
    u64 asked = v->retry_after_ms * MS < MAX_BACKOFF_NS ? v->retry_after_ms * MS : MAX_BACKOFF_NS;
    t->not_before = now + (wait > asked ? wait : asked);
    t->failures++;
}

static void recover(struct target *t)
{
    if (t->sick)
        t->told = 0; /* the next outage is news again */
    t->sick = false;
    t->failures = 0;
    t->not_before = 0;
}

static bool is_guilty(const struct target *t, struct entry *e, const struct verdict *v)
{
    if (!v->guilty)
        return false;
    e->guilt += e->suspect && t->passed > e->passed;
    e->suspect = true;
    e->passed = t->passed;
    return e->guilt >= (v->reason == EXPORT_RATE_LIMITED ? GUILT_RATE : GUILT);
}

static void settle_failure(struct target *t, struct entry *e, const struct verdict *v, u64 bytes)
{
    t->stats.failed[v->reason]++;
    tell(t, v->reason, v->message);
    if (v->kind == VERDICT_DROP) {
        recover(t); /* it answers */
        drop(t, e, v->reason, bytes);
        return;
    }
    back_off(t, v);
    if (is_guilty(t, e, v)) {
        drop(t, e, v->reason, bytes);
        return;
    }
    t->stats.retried++;
    e->state = WAITING;
}

static void settle(struct target *t, struct entry *e, const struct verdict *v, u64 bytes)
{
    if (v->kind == VERDICT_STOPPED) {
        e->state = WAITING;
        return;
    }
    t->stats.calls++;
    t->stats.call_seconds += v->seconds;
    t->stats.call_cpu_seconds += v->cpu_seconds;
    if (v->kind == VERDICT_DONE) {
        t->stats.sent++;
        t->stats.sent_bytes += v->bytes;
        t->stats.last_success_ns = clock_ns(CLOCK_REALTIME);
        t->passed++;
        recover(t);
        e->state = FREE;
        if (v->rejected) {
            t->stats.sent--;
            t->stats.failed[EXPORT_INVALID]++;
            tell(t, EXPORT_INVALID, v->message);
            drop(t, e, EXPORT_INVALID, bytes);
        }
    } else {
        settle_failure(t, e, v, bytes);
    }
    commit(t);
}

/* ---- Which one is next ------------------------------------------------------------------------------------------- */

static struct entry *find_entry(struct target *t, int state)
{
    struct entry *oldest = NULL;
    for (size_t i = 0; i < WINDOW; i++)
        if ((int)t->window[i].state == state && (!oldest || t->window[i].seq < oldest->seq))
            oldest = &t->window[i];
    return oldest;
}

static void note_lost(struct target *t)
{
    struct spool_lost lost;
    spool_take_lost(t->spool, t->reader, &lost);
    t->stats.dropped[EXPORT_SPOOL_FULL] += lost.full;
    t->stats.dropped_bytes[EXPORT_SPOOL_FULL] += lost.full_bytes;
    t->stats.dropped[EXPORT_SPOOL_AGE] += lost.age;
    t->stats.dropped_bytes[EXPORT_SPOOL_AGE] += lost.age_bytes;
    t->stats.dropped[EXPORT_CORRUPT] += lost.corrupt;
    if (lost.corrupt)
        tell(t, EXPORT_CORRUPT, "a part of the spool was damaged, or removed");
    if (lost.full)
        tell(t, EXPORT_SPOOL_FULL, "the spool is full: the oldest profiles were dropped");
    if (lost.age)
        tell(t, EXPORT_SPOOL_AGE, "the oldest profiles were dropped");
}

/* The next unread record into an entry; NULL: nothing, or no room. Damaged ones are counted and passed over. */
static struct entry *take_new(struct target *t, struct spool_record *rec)
{
    struct entry *e = find_entry(t, FREE);
    int rc = e ? spool_next(t->spool, t->reader, rec) : -ENODATA;
    note_lost(t);
    while (rc == -EBADMSG) {
        tell(t, EXPORT_CORRUPT, "a profile was damaged in the spool");
        drop(t, e, EXPORT_CORRUPT, rec->body.len);
        rc = spool_next(t->spool, t->reader, rec);
    }
    if (rc)
        return NULL;
    *e = (struct entry){.seq = rec->seq, .wall_ns = rec->wall_ns, .segment = rec->segment, .at = rec->at};
    return e;
}

static struct entry *take_again(struct target *t, struct spool_record *rec)
{
    for (struct entry *e; (e = find_entry(t, WAITING));) {
        rec->seq = e->seq;
        rec->segment = e->segment;
        rec->at = e->at;
        int rc = spool_reread(t->spool, t->reader, rec);
        if (!rc)
            return e;
        drop(t, e, rc == -ENOENT ? EXPORT_SPOOL_FULL : EXPORT_CORRUPT, 0);
    }
    return NULL;
}

static struct entry *take(struct target *t, struct spool_record *rec)
{
    const struct entry *waiting = find_entry(t, WAITING);
    bool others_first = waiting && t->sick && waiting->suspect;
    struct entry *e = NULL;
    if (waiting && !others_first)
        e = take_again(t, rec);
    e = e ? e : take_new(t, rec);
    return e || !others_first ? e : take_again(t, rec);
}

static bool is_fit(struct target *t, struct entry *e, struct lane *l)
{
    u64 now = clock_ns(CLOCK_REALTIME), max = t->config.max_age_ns;
    if (record_decode(l->record.body.data, l->record.body.len, &l->profile)) {
        drop(t, e, EXPORT_CORRUPT, l->record.body.len);
        return false;
    }
    if (t->config.kind == EXPORT_DIRECTORY || !max || l->profile.time_ns > now || now - l->profile.time_ns <= max)
        return true;
    tell(t, EXPORT_TOO_OLD, "older than the server takes: not sent");
    drop(t, e, EXPORT_TOO_OLD, l->record.body.len);
    return false;
}

/* Bytes flow in with time, two seconds' worth at most; a profile may be larger than what is there, and is paid off. */
static u64 token_wait_ns(struct target *t)
{
    u64 now = now_ns(), past = now - t->tokens_ns;
    s64 max = (s64)(2 * t->rate);
    t->tokens += (s64)((double)(past < 60 * NS_PER_SEC ? past : 60 * NS_PER_SEC) * (double)t->rate / 1e9);
    t->tokens = t->tokens < max ? t->tokens : max;
    t->tokens_ns = now;
    return t->tokens > 0 || t->flush ? 0 : (u64)((double)(1 - t->tokens) * 1e9 / (double)t->rate) + MS;
}

/* The entry to send, FLYING, its profile in the lane; or NULL, and how long to wait for a change at most. */
static struct entry *pick(struct lane *l, u64 *wait_ns)
{
    struct target *t = l->target;
    u64 now = now_ns();
    *wait_ns = NS_PER_SEC;
    if (now < t->not_before) {
        *wait_ns = t->not_before - now;
        return NULL;
    }
    if (t->sick && find_entry(t, FLYING))
        return NULL;
    u64 pace = token_wait_ns(t);
    if (pace) {
        *wait_ns = pace;
        return NULL;
    }
    struct entry *e;
    while ((e = take(t, &l->record)) && !is_fit(t, e, l))
        commit(t);
    if (!e)
        return NULL;
    e->state = FLYING;
    t->tokens -= (s64)(l->profile.raw_len < EXPORT_MAX_PPROF ? l->profile.raw_len : EXPORT_MAX_PPROF);
    return e;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void wait_change(struct target *t, u64 ns)
{
    u64 end = now_ns() + ns;
    struct timespec until = {.tv_sec = (time_t)(end / NS_PER_SEC), .tv_nsec = (long)(end % NS_PER_SEC)};
    pthread_cond_timedwait(&t->change, &t->lock, &until);
}

static void *lane_run(void *arg)
{
    struct lane *l = arg;
    pthread_setname_np(pthread_self(), "sender");
    struct target *t = l->target;
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        u64 wait_ns;
        struct entry *e = pick(l, &wait_ns);
        if (!e) {
            wait_change(t, wait_ns);
            continue;
        }
        struct verdict v = {0};
        pthread_mutex_unlock(&t->lock);
        t->kind->send(l->exporter, &l->profile, &t->stop, &v);
        pthread_mutex_lock(&t->lock);
        settle(t, e, &v, l->record.body.len);
        pthread_cond_broadcast(&t->change);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

int target_start(struct target *t, struct spool *spool, const struct target *before)
{
    int rc = spool_reader_open(spool, t->config.name, &t->reader);
    if (rc)
        return rc;
    t->spool = spool;
    t->stop = false;
    memset(t->window, 0, sizeof(t->window)); /* what it held is read again */
    t->tokens_ns = now_ns();
    t->tokens = (s64)(2 * t->rate);
    if (before)
        t->stats = before->stats;
    sigset_t all, old; /* signals are for the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (size_t i = 0; !rc && i < t->nlanes; i++) {
        rc = -pthread_create(&t->lanes[i].thread, NULL, lane_run, &t->lanes[i]);
        t->lanes[i].running = !rc;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

void target_stop(struct target *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->change);
    pthread_mutex_unlock(&t->lock);
    for (size_t i = 0; i < t->nlanes; i++)
        if (t->lanes[i].running)
            pthread_join(t->lanes[i].thread, NULL);
    for (size_t i = 0; i < t->nlanes; i++)
        t->lanes[i].running = false;
}

void target_forget(struct target *t)
{
    target_stop(t);
    if (t->reader)
        spool_reader_remove(t->spool, &t->reader);
}

void target_wake(struct target *t)
{
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->change);
    pthread_mutex_unlock(&t->lock);
}

void target_flush(struct target *t, bool on)
{
    pthread_mutex_lock(&t->lock);
    t->flush = on;
    if (on)
        t->not_before = 0;
    pthread_cond_broadcast(&t->change);
    pthread_mutex_unlock(&t->lock);
}

/* ---- What it says of itself -------------------------------------------------------------------------------------- */

static void count_pending(struct target *t, struct export_stats *out)
{
    u64 unread_ns = 0, oldest = 0, now = clock_ns(CLOCK_REALTIME);
    out->pending = spool_unread(t->spool, t->reader, &unread_ns);
    oldest = unread_ns;
    for (size_t i = 0; i < WINDOW; i++) {
        if (t->window[i].state == FREE)
            continue;
        out->pending++;
        if (!oldest || t->window[i].wall_ns < oldest)
            oldest = t->window[i].wall_ns;
    }
    out->oldest_ns = oldest && oldest < now ? now - oldest : 0;
}

bool target_idle(struct target *t)
{
    struct export_stats s;
    pthread_mutex_lock(&t->lock);
    count_pending(t, &s);
    pthread_mutex_unlock(&t->lock);
    return s.pending == 0;
}

void target_stats(struct target *t, struct export_stats *out)
{
    pthread_mutex_lock(&t->lock);
    note_lost(t);
    *out = t->stats;
    out->sick = t->sick;
    count_pending(t, out);
    pthread_mutex_unlock(&t->lock);
}

bool target_news(struct target *t, char *line, size_t size)
{
    pthread_mutex_lock(&t->lock);
    unsigned r = t->fresh ? (unsigned)__builtin_ctz(t->fresh) : 0;
    bool any = t->fresh != 0;
    if (any)
        snprintf(line, size, "%s: %s: %s", t->config.name, export_reason_slug(r), t->lines[r]);
    t->fresh &= t->fresh - 1;
    pthread_mutex_unlock(&t->lock);
    return any;
}
