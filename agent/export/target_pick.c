/* Which profile is next: new ones and those tried before, at the target's pace. */
#include "base/clock.h"
#include "export/target_internal.h"
#include <errno.h>

static struct entry *find_entry(struct target *t, int state)
{
    struct entry *oldest = NULL;
    for (size_t i = 0; i < WINDOW; i++)
        if ((int)t->window[i].state == state && (!oldest || t->window[i].seq < oldest->seq))
            oldest = &t->window[i];
    return oldest;
}

void target_note_lost(struct target *t)
{
    struct spool_lost lost;
    spool_take_lost(t->spool, t->reader, &lost);
    t->stats.dropped[EXPORT_SPOOL_FULL] += lost.full;
    t->stats.dropped_bytes[EXPORT_SPOOL_FULL] += lost.full_bytes;
    t->stats.dropped[EXPORT_SPOOL_AGE] += lost.age;
    t->stats.dropped_bytes[EXPORT_SPOOL_AGE] += lost.age_bytes;
    t->stats.dropped[EXPORT_CORRUPT] += lost.corrupt;
    if (lost.corrupt)
        target_tell(t, EXPORT_CORRUPT, "part of the spool was damaged or removed");
    if (lost.full)
        target_tell(t, EXPORT_SPOOL_FULL, "the spool is full: the oldest profiles were dropped");
    if (lost.age)
        target_tell(t, EXPORT_SPOOL_AGE, "profiles above the maximum age were dropped");
}

/* The next unread record into an entry; NULL: nothing, or no room. Damaged ones are counted and passed over. */
static struct entry *take_new(struct target *t, struct spool_record *rec)
{
    struct entry *e = find_entry(t, FREE);
    int rc = e ? spool_next(t->spool, t->reader, rec) : -ENODATA;
    target_note_lost(t);
    while (rc == -EBADMSG) {
        target_tell(t, EXPORT_CORRUPT, "a profile was damaged in the spool");
        target_drop(t, e, EXPORT_CORRUPT, rec->body.len);
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
        target_drop(t, e, rc == -ENOENT ? EXPORT_SPOOL_FULL : EXPORT_CORRUPT, 0);
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
        target_drop(t, e, EXPORT_CORRUPT, l->record.body.len);
        return false;
    }
    if (t->config.kind == EXPORT_DIRECTORY || !max || l->profile.time_ns > now || now - l->profile.time_ns <= max)
        return true;
    target_tell(t, EXPORT_TOO_OLD, "a profile older than the server accepts was dropped");
    target_drop(t, e, EXPORT_TOO_OLD, l->record.body.len);
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

struct entry *target_pick(struct lane *l, u64 *wait_ns)
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
        target_commit(t);
    if (!e)
        return NULL;
    e->state = FLYING;
    t->tokens -= (s64)(l->profile.raw_len < EXPORT_MAX_PPROF ? l->profile.raw_len : EXPORT_MAX_PPROF);
    return e;
}
