#include "export/target_internal.h"
#include "base/stop.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "export/target_config.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PARALLEL 4 /* calls of a target at once, unless its configuration says otherwise */

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
    pthread_mutex_init(&t->shown_lock, NULL);
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
    t->shown = t->stats;
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
    pthread_mutex_destroy(&t->shown_lock);
    pthread_mutex_destroy(&t->lock);
    free(t);
    *target = NULL;
}

const char *target_name(const struct target *t)
{
    return t->config.name;
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
    while (!stop_requested(&t->stop)) {
        u64 wait_ns;
        struct entry *e = target_pick(l, &wait_ns);
        target_show(t);
        if (!e) {
            wait_change(t, wait_ns);
            continue;
        }
        struct verdict v = {0};
        pthread_mutex_unlock(&t->lock);
        t->kind->send(l->exporter, &l->profile, &t->stop, &v);
        pthread_mutex_lock(&t->lock);
        target_settle(t, e, &v, l->record.body.len);
        target_show(t);
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
    target_show(t);
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
    stop_request(&t->stop);
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
    if (t->reader)
        spool_reader_remove(t->spool, &t->reader);
}

void target_wake(struct target *t)
{
    pthread_mutex_lock(&t->lock);
    target_show(t);
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

static u64 oldest_pending(const struct target *t, u64 *oldest_ns)
{
    u64 n = spool_unread(t->spool, t->reader, oldest_ns);
    for (size_t i = 0; i < WINDOW; i++) {
        if (t->window[i].state == FREE)
            continue;
        n++;
        if (!*oldest_ns || t->window[i].wall_ns < *oldest_ns)
            *oldest_ns = t->window[i].wall_ns;
    }
    return n;
}

void target_show(struct target *t)
{
    u64 oldest_ns = 0;
    target_note_lost(t);
    struct export_stats s = t->stats;
    s.pending = oldest_pending(t, &oldest_ns);
    s.sick = t->sick;
    pthread_mutex_lock(&t->shown_lock);
    t->shown = s;
    t->shown_oldest_ns = oldest_ns;
    pthread_mutex_unlock(&t->shown_lock);
}

bool target_idle(struct target *t)
{
    struct export_stats s;
    target_stats(t, &s);
    return s.pending == 0;
}

void target_stats(struct target *t, struct export_stats *out)
{
    u64 now = clock_ns(CLOCK_REALTIME);
    pthread_mutex_lock(&t->shown_lock);
    *out = t->shown;
    u64 oldest = t->shown_oldest_ns;
    pthread_mutex_unlock(&t->shown_lock);
    out->oldest_ns = oldest && oldest < now ? now - oldest : 0;
}

bool target_news(struct target *t, char *line, size_t size)
{
    pthread_mutex_lock(&t->shown_lock);
    unsigned r = t->fresh ? (unsigned)__builtin_ctz(t->fresh) : 0;
    bool any = t->fresh != 0;
    if (any)
        snprintf(line, size, "%s: %s: %s", t->config.name, export_reason_slug(r), t->lines[r]);
    t->fresh &= t->fresh - 1;
    pthread_mutex_unlock(&t->shown_lock);
    return any;
}
