#include "pipeline/waits.h"
#include "base/cleanup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wait_stack {
    u64 key;
    struct xp_sample *sample; /* owned, with its words */
    u32 used;                 /* the interval in which it was sent or referred to last */
    bool open;                /* still being unwound */
};

void waits_init(struct waits *w)
{
    *w = (struct waits){.bytes.limit = WAITS_STACK_BYTES};
}

static size_t words_of(const struct xp_sample *s)
{
    return (size_t)s->nkernel + s->nuser;
}

static size_t size_of(const struct wait_stack *k)
{
    return sizeof(*k) + sizeof(*k->sample) + 8 * words_of(k->sample);
}

static u64 owner_of(const struct wait_stack *k)
{
    return k->sample->nkernel ? SHARES_ALL : k->sample->cgroup;
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
}

static struct wait_stack *find(const struct waits *w, u64 key)
{
    const u64 *place = key ? map_get(&w->places, key) : NULL;
    return place ? &w->stacks.v[*place - 1] : NULL;
}

/* A new entry takes over the sample. */
static bool add(struct waits *w, struct xp_sample *sample, bool open)
{
    struct wait_stack fresh = {.key = sample->weight, .sample = sample, .used = w->interval, .open = open};
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
    struct wait_stack fresh = {.key = k->key, .sample = sample, .used = w->interval, .open = open};
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
    if (known) /* sent again in a new interval, or by another CPU at the same time */
        known->used = w->interval;
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

/* Those that nobody referred to for an interval go. A stack may be sent at the end of one for a wait that the next one
 * brings. */
static void forget_old(struct waits *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->stacks.n; i++) {
        struct wait_stack *k = &w->stacks.v[i];
        if (k->used + 1 < w->interval) {
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
    void (*sample)(void *ctx, const struct xp_sample *s);
    void *ctx;
};

/* A name as words, if there is one. Returns their number. */
static size_t put_name(u64 *words, const char *name)
{
    char text[7 * XP_NAME_WORDS] = "";
    if (!name)
        return 0;
    memcpy(text, name, strnlen(name, sizeof(text)));
    for (size_t i = 0; i < XP_NAME_WORDS; i++) {
        words[i] = (u64)XP_WORD_NAME << 60;
        for (size_t k = 0; k < 7; k++)
            words[i] |= (u64)(u8)text[7 * i + k] << 8 * k;
    }
    return XP_NAME_WORDS;
}

/* Writes the words of the reason; returns their number. */
static size_t put_reason(struct waits *w, const struct xp_sample *user, const struct xp_wait_key *key, u64 *words)
{
    size_t n = 1;
    u32 flags = key->flags;
    if (flags & XP_WAIT_LOCKED && !key->with) /* too many locks in this interval */
        flags &= ~XP_WAIT_LOCKED;
    if (flags & XP_WAIT_LOCKED) {
        words[n++] = key->with;
        n += put_name(words + n, key->tid ? holders_name(&w->holders, user->tgid, user->start, key->tid) : NULL);
    }
    words[0] = XP_WAIT_WORD(flags, n);
    return n;
}

/* A sample: the reason, the kernel's part, the user's part. */
static void make(struct waits *w, struct xp_sample *to, const struct wait_stack *user, const struct wait_stack *kernel,
                 const struct probe_wait *row, u8 event)
{
    const struct xp_sample *u = user->sample;
    size_t nk = kernel ? kernel->sample->nkernel : 0, reason;
    *to = *u;
    to->type = XP_RECORD_SAMPLE;
    to->event = event;
    to->weight = row->sum.ns;
    to->count = row->sum.count > UINT32_MAX ? UINT32_MAX : (u32)row->sum.count;
    reason = put_reason(w, u, &row->key, to->words);
    nk = nk < XP_MAX_KERNEL - reason ? nk : XP_MAX_KERNEL - reason;
    if (kernel)
        memcpy(to->words + reason, kernel->sample->words, 8 * nk);
    memcpy(to->words + reason + nk, u->words + u->nkernel, 8 * u->nuser);
    to->nkernel = (u16)(nk + reason);
}

static void take_row(struct waits *w, const struct probe_wait *row, int event, struct xp_sample *room,
                     const struct user *to)
{
    struct wait_stack *user = find(w, row->key.user), *kernel = find(w, row->key.kernel);
    if (event < 0)
        return;
    if (!user || user->sample->nkernel) {
        w->lost += row->sum.count;
        return;
    }
    user->used = w->interval;
    if (kernel)
        kernel->used = w->interval;
    make(w, room, user, kernel, row, (u8)event);
    to->sample(to->ctx, room);
}

static int event_of(const struct wait_events *events, u32 flags)
{
    return flags & XP_WAIT_LOCKED ? events->lock : flags & XP_WAIT_RUNQUEUE ? events->runqueue : events->offcpu;
}

int waits_take(struct waits *w, const struct probe_waits *rows, struct wait_events events,
               void (*use)(void *ctx, const struct xp_sample *s), void *ctx)
{
    struct user to = {use, ctx};
    AUTO_FREE struct xp_sample *room = malloc(sizeof(*room) + 8 * (XP_MAX_KERNEL + XP_MAX_USER));
    if (!room)
        return -ENOMEM;
    for (size_t i = 0; i < rows->sums.n; i++) {
        const struct probe_wait *row = &rows->sums.v[i];
        take_row(w, row, event_of(&events, row->key.flags), room, &to);
    }
    w->interval++;
    holders_tick(&w->holders);
    forget_old(w);
    return 0;
}
