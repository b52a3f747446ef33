#include "pipeline/waits.h"
#include "base/cleanup.h"
#include "pipeline/wrong_frees.h"
#include "profile/frames.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wait_stack {
    u64 key;
    struct xp_sample *sample; /* owned, with its words */
    u32 used;                 /* the interval in which it was sent or referred to last */
    bool open;                /* still being unwound */
    bool kept;                /* others may refer to it at any time */
    u8 event;                 /* whose `level` it is, */
    u8 value;                 /* and which of its values */
    struct xp_amount level;   /* what is left of all that it brought (struct wait_events: levels) */
};

void waits_init(struct waits *w)
{
    *w = (struct waits){.bytes.limit = WAITS_STACK_BYTES, .tags.bytes.limit = TAGS_BYTES};
}

static size_t words_of(const struct xp_sample *s)
{
    return (size_t)s->nkernel + s->nuser;
}

static size_t size_of(const struct wait_stack *k)
{
    return sizeof(*k) + sizeof(*k->sample) + 8 * words_of(k->sample);
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

static struct wait_stack *find(const struct waits *w, u64 key)
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
    size_t len = sizeof(*s) + 8 * words_of(s);
    struct wait_stack *known = find(w, s->weight);
    if (known) { /* sent again in a new interval, or by another CPU at the same time, or for another kind */
        known->used = w->interval;
        known->kept |= (s->flags & XP_SAMPLE_KEPT) != 0;
    }
    if (known && !known->open)
        return;
    AUTO_FREE struct xp_sample *copy = malloc(len);
    if (!copy)
        return;
    memcpy(copy, s, len);
    if (known ? replace(w, known, copy, open) : add(w, copy, open))
        TAKE_PTR(copy);
}

size_t waits_open(const struct waits *w)
{
    return w->open;
}

/* ---- The end of an interval -------------------------------------------------------------------------------------- */

static bool has_level(const struct wait_stack *k)
{
    return k->level.count || k->level.value;
}

/* Those that nobody referred to for an interval, and of which nothing is left, go. A stack may be sent at the end of
 * one for a wait that the next one brings. */
static void forget_old(struct waits *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->stacks.n; i++) {
        struct wait_stack *k = &w->stacks.v[i];
        if (k->used + 1 < w->interval && !has_level(k) && !k->kept) {
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

struct user {
    waits_use *sample;
    void *ctx;
};

/* Only a limit of the room is cut off: the root's end of the waker. */
static size_t put_words(u64 *to, size_t room, const u64 *words, size_t n)
{
    size_t put = n < room ? n : room;
    for (size_t i = 0; i < put; i++)
        to[i] = words[put - 1 - i];
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
    return n + put_words(to + n, room - n, s->words, words_of(s));
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
                     const struct user *to)
{
    struct wait_stack *user = find(w, row->key.user), *kernel = find(w, row->key.kernel);
    struct wait_stack *waker = row->key.flags & XP_WAIT_WOKEN ? find(w, row->key.with) : NULL;
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

static void make_of_kind(struct xp_sample *to, const struct wait_stack *stack, u64 label, u8 event, u64 count)
{
    bool labelled = XP_WORD_KIND(label) == XP_WORD_LABEL;
    *to = *stack->sample;
    to->words[0] = label;
    memcpy(to->words + labelled, stack->sample->words, 8 * words_of(stack->sample));
    to->nkernel = (u16)(to->nkernel + labelled);
    to->type = XP_RECORD_SAMPLE;
    to->event = event;
    to->count = count > UINT32_MAX ? UINT32_MAX : (u32)count;
}

/* Turns a value into the change of what is left: less than nothing is never left. Changes may be negative: they are
 * added modulo 2^64, and what an interval began with is there already (waits_carry). Returns what went away without
 * having come. */
static u64 change_level(struct wait_stack *stack, struct xp_amount came, struct xp_amount gone, struct xp_amount *value)
{
    struct xp_amount old = stack->level;
    struct xp_amount now = {old.count + came.count, old.value + came.value};
    u64 unknown = gone.count > now.count ? gone.count - now.count : 0;
    now.count -= gone.count - unknown;
    now.value -= gone.value < now.value ? gone.value : now.value;
    now.value = now.count ? now.value : 0;
    stack->level = now;
    *value = (struct xp_amount){now.count - old.count, now.value - old.value};
    return unknown;
}

/* What an ended process had left was dropped (waits_carry), and may be decided, or freed, later: that is no loss. */
static void change_levels(struct waits *w, struct wait_stack *stack, const struct probe_sum *row,
                          const struct wait_events *events, struct xp_amount values[XP_MAX_VALUES])
{
    bool open = events->open_levels >> row->event & 1, lent = events->lent_levels >> row->event & 1;
    struct xp_amount closed = {values[0].count + values[1].count, values[0].value + values[1].value};
    stack->event = row->event;
    stack->value = open ? 2 : 1;
    if (open)
        change_level(stack, values[2], closed, &values[2]);
    else
        w->lost += change_level(stack, values[0], values[1], &values[1]) * !lent;
}

static const struct xp_sample *stack_of(const void *waits, u64 key)
{
    const struct wait_stack *k = find(waits, key);
    return k ? k->sample : NULL;
}

/* A sum of a kind: its stack is one, kernel words and user words. */
static void take_sum(struct waits *w, const struct probe_sum *row, const struct wait_events *events,
                     struct xp_sample *room, const struct user *to)
{
    bool levels = events->levels >> row->event & 1, open = events->open_levels >> row->event & 1;
    struct wait_stack *stack = find(w, row->key.stack);
    struct xp_amount values[XP_MAX_VALUES];
    u64 count = 0, counted = events->lent_levels >> row->event & 1 ? 1 : XP_MAX_VALUES;
    for (size_t i = 0; i < counted; i++)
        count += row->sum.of[i].count;
    if (!stack || (!stack->sample->tgid && !(stack->sample->flags & XP_SAMPLE_NOBODY))) {
        w->lost += open ? row->sum.of[2].count : count;
        return;
    }
    stack->used = w->interval;
    memcpy(values, row->sum.of, sizeof(values));
    make_of_kind(room, stack, row->key.label, row->event, levels ? values[0].count : open ? values[2].count : count);
    if (levels || open)
        change_levels(w, stack, row, events, values);
    tags_put(&w->tags, row->key.tag, room);
    if (wrong_free_is(stack->sample))
        wrong_free_join(room, stack->sample, stack_of, w);
    to->sample(to->ctx, room, values, XP_MAX_VALUES);
}

static struct xp_sample *room_for_sample(void)
{
    return malloc(sizeof(struct xp_sample) + 8 * (XP_MAX_REASON + XP_MAX_USER));
}

int waits_add(const struct waits *w, u64 key, u8 event, const struct xp_amount values[XP_MAX_VALUES], waits_use *use,
              void *ctx)
{
    const struct wait_stack *stack = find(w, key);
    AUTO_FREE struct xp_sample *room = stack ? room_for_sample() : NULL;
    if (!room)
        return stack ? -ENOMEM : -ENODATA;
    make_of_kind(room, stack, 0, event, 0);
    use(ctx, room, values, XP_MAX_VALUES);
    return 0;
}

int waits_carry(struct waits *w, bool (*lives)(u32 tgid), waits_use *use, void *ctx)
{
    AUTO_FREE struct xp_sample *room = room_for_sample();
    if (!room)
        return -ENOMEM;
    u32 asked = 0;
    bool alive = false;
    for (size_t i = 0; i < w->stacks.n; i++) {
        struct wait_stack *k = &w->stacks.v[i];
        if (!has_level(k) && !k->kept)
            continue;
        if (!asked || asked != k->sample->tgid)
            alive = lives(asked = k->sample->tgid);
        if (!alive) {
            k->level = (struct xp_amount){0};
            k->kept = false;
        }
        if (!has_level(k))
            continue;
        struct xp_amount values[XP_MAX_VALUES] = {{0}};
        values[k->value] = k->level;
        make_of_kind(room, k, 0, k->event, 0);
        use(ctx, room, values, XP_MAX_VALUES);
    }
    return 0;
}

int waits_take(struct waits *w, const struct probe_waits *rows, const struct wait_events *events, waits_use *use,
               void *ctx)
{
    struct user to = {use, ctx};
    AUTO_FREE struct xp_sample *room = room_for_sample();
    if (!room)
        return -ENOMEM;
    for (size_t i = 0; i < rows->sums.n; i++)
        take_row(w, &rows->sums.v[i], event_of(events, rows->sums.v[i].key.flags), room, &to);
    for (size_t i = 0; i < rows->kinds.n; i++)
        take_sum(w, &rows->kinds.v[i], events, room, &to);
    w->interval++;
    holders_tick(&w->holders);
    tags_tick(&w->tags);
    forget_old(w);
    return 0;
}
