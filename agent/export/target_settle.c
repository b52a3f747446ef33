/* What became of a profile: it is off the window, tried again or dropped; the target's health, the profile's guilt. */
#include "base/clock.h"
#include "base/hash.h"
#include "export/target_internal.h"
#include <stdio.h>

#define BACKOFF_NS     (500 * MS)
#define BLOCKED_NS     (5000 * MS)
#define MAX_BACKOFF_NS (300 * NS_PER_SEC)

enum {
    GUILT = 3,      /* failures with passes of others in between */
    GUILT_RATE = 8, /* of 429: a big profile may also have been unlucky */
};

void target_tell(struct target *t, enum export_reason r, const char *message)
{
    u32 bit = 1u << r;
    snprintf(t->stats.error, sizeof(t->stats.error), "%s: %s", export_reason_slug(r), message);
    if (t->told & bit)
        return;
    t->told |= bit;
    pthread_mutex_lock(&t->shown_lock);
    t->fresh |= bit;
    snprintf(t->lines[r], sizeof(t->lines[r]), "%s", message);
    pthread_mutex_unlock(&t->shown_lock);
}

void target_drop(struct target *t, struct entry *e, enum export_reason r, u64 bytes)
{
    t->stats.dropped[r]++;
    t->stats.dropped_bytes[r] += bytes;
    e->state = FREE;
}

/* Everything below the oldest entry has been answered for. */
void target_commit(struct target *t)
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
    target_tell(t, v->reason, v->message);
    if (v->kind == VERDICT_DROP) {
        recover(t); /* it answers */
        target_drop(t, e, v->reason, bytes);
        return;
    }
    back_off(t, v);
    if (is_guilty(t, e, v)) {
        target_drop(t, e, v->reason, bytes);
        return;
    }
    t->stats.retried++;
    e->state = WAITING;
}

void target_settle(struct target *t, struct entry *e, const struct verdict *v, u64 bytes)
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
            target_tell(t, EXPORT_INVALID, v->message);
            target_drop(t, e, EXPORT_INVALID, bytes);
        }
    } else {
        settle_failure(t, e, v, bytes);
    }
    target_commit(t);
}
