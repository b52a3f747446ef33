#include "pipeline/waits_internal.h"
#include "base/cleanup.h"
#include "profile/frames.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void waits_init(struct waits *w)
{
    *w = (struct waits){.bytes.limit = WAITS_STACK_BYTES, .tags.bytes.limit = TAGS_BYTES};
}

static size_t size_of(const struct wait_stack *k)
{
    return sizeof(*k) + sizeof(*k->sample) + 8 * waits_words(k->sample);
}

/* Stacks of the kernel, and of interrupts, have no process. */
static u64 owner_of(const struct wait_stack *k)
{
    return k->sample->tgid ? k->sample->cgroup : SHARES_ALL;
}

static void drop(struct waits *w, struct wait_stack *k)
{
    shares_give(&w->bytes, owner_of(k), size_of(k));
    w->open -= k->open;
    free(k->sample);
}

void waits_free(struct waits *w)
{
    for (size_t i = 0; i < w->stacks.n; i++)
        drop(w, &w->stacks.v[i]);
    vec_free(&w->stacks);
    map_free(&w->places);
    shares_free(&w->bytes);
    holders_free(&w->holders);
    tags_free(&w->tags);
}

struct wait_stack *waits_find(const struct waits *w, u64 key)
{
    const u64 *place = key ? map_get(&w->places, key) : NULL;
    return place ? &w->stacks.v[*place - 1] : NULL;
}

/* A new entry takes over the sample. */
static bool add(struct waits *w, struct xp_sample *sample, bool open)
{
    struct wait_stack fresh = {.key = sample->weight,
                               .sample = sample,
                               .used = w->interval,
                               .open = open,
                               .kept = sample->flags & XP_SAMPLE_KEPT};
    if (!shares_take(&w->bytes, owner_of(&fresh), size_of(&fresh)))
        return false;
    struct wait_stack *place = VEC_PUSH(&w->stacks);
    u64 *index = place ? map_put(&w->places, fresh.key) : NULL;
    if (!index) {
        w->stacks.n -= place != NULL;
        shares_give(&w->bytes, owner_of(&fresh), size_of(&fresh));
        return false;
    }
    *place = fresh;
    *index = w->stacks.n;
    w->open += open;
    return true;
}

/* In place of what is known under its key; unless there is no room, which leaves that. */
static bool replace(struct waits *w, struct wait_stack *k, struct xp_sample *sample, bool open)
{
    struct wait_stack fresh = *k;
    fresh.sample = sample;
    fresh.used = w->interval;
    fresh.open = open;
    w->open -= k->open;
    k->open = false;
    if (!shares_take(&w->bytes, owner_of(&fresh), size_of(&fresh)))
        return false;
    w->open += open;
    drop(w, k);
    *k = fresh;
    return true;
}

void waits_keep(struct waits *w, const struct xp_sample *s, bool open)
{
    size_t len = sizeof(*s) + 8 * waits_words(s);
    struct wait_stack *known = waits_find(w, s->weight);
    if (known) { /* sent again in a new interval, or by another CPU at the same time, or for another kind */
        known->used = w->interval;
        known->kept |= (s->flags & XP_SAMPLE_KEPT) != 0;
    }
    if (known && !known->open)
        return;
    AUTO_FREE struct xp_sample *copy = malloc(len + (tags_in_stack(s) ? 8 * XP_TAG_WORDS : 0));
    if (!copy)
        return;
    memcpy(copy, s, len);
    if (tags_in_stack(s))
        tags_expand(&w->tags, copy);
    if (known ? replace(w, known, copy, open) : add(w, copy, open))
        TAKE_PTR(copy);
}

size_t waits_open(const struct waits *w)
{
    return w->open;
}

/* ---- The end of an interval -------------------------------------------------------------------------------------- */

/* Those that nobody referred to for an interval, and of which nothing is left, go. A stack may be sent at the end of
 * one for a wait that the next one brings. */
static void forget_old(struct waits *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->stacks.n; i++) {
        struct wait_stack *k = &w->stacks.v[i];
        if (k->used + 1 < w->interval && !waits_has_level(k) && !k->kept) {
            map_remove(&w->places, k->key);
            drop(w, k);
            continue;
        }
        u64 *place = map_get(&w->places, k->key);
        if (place)
            *place = n + 1;
        w->stacks.v[n++] = *k;
    }
    w->stacks.n = n;
}

/* The other way round, frame by frame. Only a limit of the room is cut off: the root's end of the waker. */
static size_t put_words(u64 *to, size_t room, const u64 *words, size_t n)
{
    size_t put = n < room ? n : room;
    if (put && XP_IS_RUNTIME(words[put - 1]))
        put--; /* without its second word */
    for (size_t i = 0; i < put; i++)
        to[i] = words[put - 1 - i];
    for (size_t i = 0; i + 1 < put; i++)
        if (XP_WORD_KIND(to[i]) == XP_WORD_MORE) {
            u64 more = to[i];
            to[i] = to[i + 1];
            to[++i] = more;
        }
    return put;
}

static size_t put_name(u64 *to, const char *name, size_t size)
{
    for (size_t i = 0; i < XP_NAME_WORDS; i++)
        to[i] = (u64)XP_WORD_NAME << 60;
    for (size_t i = 0; i < size && i < 7 * XP_NAME_WORDS && name[i]; i++)
        to[i / 7] |= (u64)(u8)name[i] << 8 * (i % 7);
    return XP_NAME_WORDS;
}

/* What is known of who ended the wait: it goes behind the first word. Returns the number of words. */
static size_t put_waker(u64 *to, size_t room, const struct wait_stack *waker, u64 key)
{
    const struct xp_sample *s = waker ? waker->sample : NULL;
    if (!s || !s->tgid) {
        u8 mark = s ? XP_MARK_INTERRUPT : key == XP_WAKER_NONE ? XP_MARK_STILL : XP_MARK_UNSEEN;
        to[0] = (u64)XP_WORD_MARK << 60 | mark;
        return 1 + (s ? put_words(to + 1, room - 1, s->words, s->nkernel) : 0);
    }
    size_t n = put_name(to, s->comm, sizeof(s->comm));
    char class = cause_class(s->cause);
    if (class == 'x' || (class == 'n' && s->cause != XP_CAUSE_KTHREAD))
        to[n++] = (u64)XP_WORD_MARK << 60 | s->cause;
    return n + put_words(to + n, room - n, s->words, waits_words(s));
}

/* The lock and, if it is known, who held it. */
static size_t put_lock(struct waits *w, u64 *to, const struct xp_sample *sleeper, const struct xp_wait_key *key)
{
    const char *name =
        key->tid ? holders_name(&w->holders, sleeper->cgroup, sleeper->tgid, sleeper->start, key->tid) : NULL;
    to[0] = key->with;
    return 1 + (name ? put_name(to + 1, name, SIZE_MAX) : 0);
}

/* The reason: what, and by whom, or which lock. Returns the number of words. */
static size_t put_reason(struct waits *w, u64 *to, size_t room, const struct xp_sample *sleeper,
                         const struct wait_stack *waker, const struct xp_wait_key *key)
{
    u32 flags = key->flags;
    bool same = waker && waker->sample->tgid == sleeper->tgid && waker->sample->start == sleeper->start;
    size_t n = 1;
    if (flags & XP_WAIT_LOCKED && !key->with) /* too many locks in this interval */
        flags &= ~XP_WAIT_LOCKED;
    if (flags & XP_WAIT_LOCKED)
        n += put_lock(w, to + n, sleeper, key);
    if (flags & XP_WAIT_WOKEN)
        n += put_waker(to + n, room - n, waker, key->with);
    to[0] = XP_WAIT_WORD(flags | (flags & XP_WAIT_WOKEN && same ? XP_WAIT_OWN : 0), n);
    return n;
}

/* A sample: the reason, the kernel's part, the user's part. */
static void make(struct waits *w, struct xp_sample *to, const struct wait_stack *user, const struct wait_stack *kernel,
                 const struct wait_stack *waker, const struct probe_wait *row, u8 event)
{
    const struct xp_sample *u = user->sample;
    size_t nk = kernel ? kernel->sample->nkernel : 0, reason;
    *to = *u;
    to->type = XP_RECORD_SAMPLE;
    to->event = event;
    to->weight = row->sum.ns;
    to->count = row->sum.count > UINT32_MAX ? UINT32_MAX : (u32)row->sum.count;
    nk = nk < XP_MAX_KERNEL ? nk : XP_MAX_KERNEL;
    reason = put_reason(w, to->words, XP_MAX_REASON - nk, u, waker, &row->key);
    if (kernel)
        memcpy(to->words + reason, kernel->sample->words, 8 * nk);
    memcpy(to->words + reason + nk, u->words + u->nkernel, 8 * u->nuser);
    to->nkernel = (u16)(reason + nk);
}

static int event_of(const struct wait_events *events, u32 flags)
{
    return flags & XP_WAIT_LOCKED     ? events->lock
           : flags & XP_WAIT_RUNQUEUE ? events->runqueue
           : flags & XP_WAIT_WOKEN    ? events->wakeup
                                      : events->offcpu;
}

static void take_row(struct waits *w, const struct probe_wait *row, int event, struct xp_sample *room,
                     const struct waits_user *to)
{
    struct wait_stack *user = waits_find(w, row->key.user), *kernel = waits_find(w, row->key.kernel);
    struct wait_stack *waker = row->key.flags & XP_WAIT_WOKEN ? waits_find(w, row->key.with) : NULL;
    if (event < 0)
        return;
    if (!user || user->sample->nkernel) {
        w->lost += row->sum.count;
        return;
    }
    user->used = w->interval;
    if (kernel)
        kernel->used = w->interval;
    if (waker)
        waker->used = w->interval;
    make(w, room, user, kernel, waker, row, (u8)event);
    to->sample(to->ctx, room, &(struct xp_amount){room->count, room->weight}, 1);
}

struct xp_sample *waits_room(void)
{
    return malloc(sizeof(struct xp_sample) + 8 * (XP_MAX_REASON + XP_MAX_USER));
}

int waits_take(struct waits *w, const struct probe_waits *rows, const struct wait_events *events, waits_use *use,
               void *ctx)
{
    struct waits_user to = {use, ctx};
    AUTO_FREE struct xp_sample *room = waits_room();
    if (!room)
        return -ENOMEM;
    for (size_t i = 0; i < rows->sums.n; i++) {
        const struct probe_wait *row = &rows->sums.v[i];
        take_row(w, row, event_of(events, row->key.flags), room, &to);
    }
    for (size_t i = 0; i < rows->kinds.n; i++)
        waits_take_sum(w, &rows->kinds.v[i], events, room, &to);
    w->interval++;
    holders_tick(&w->holders);
    tags_tick(&w->tags);
    forget_old(w);
    return 0;
}
