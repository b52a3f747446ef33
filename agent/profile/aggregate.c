#include "profile/aggregate.h"
#include "base/cleanup.h"
#include "base/shares.h"
#include "base/vec.h"
#include "profile/lookup.h"
#include "profile/reason.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CHUNK_WORDS (32u << 10) /* 256 KiB: at most 4 % is lost where the deepest stack does not fit a chunk's end */
#define ROW_BYTES   16          /* of a row in a lookup table, about */
#define VALUE_WORDS (sizeof(struct xp_amount) / sizeof(u64))
_Static_assert(CHUNK_WORDS >= XP_MAX_REASON + XP_MAX_USER + XP_MAX_VALUES * VALUE_WORDS, "every stack fits a chunk");

struct chunk {
    struct chunk *next;
    u64 words[CHUNK_WORDS]; /* of each stack: its words, then its values */
};
struct aggregate {
    size_t nevents;
    u8 nvalues[XP_MAX_EVENTS], ncounted[XP_MAX_EVENTS]; /* of each event */
    size_t max_bytes, bytes;
    struct shares shares; /* of the bytes in use, by cgroup; limit 0: everybody may have all */
    u64 dropped;
    u64 seed;             /* of all hashes; random, and without influence on any order */
    struct chunk *chunks; /* the newest first */
    size_t used;          /* words of the newest chunk */
    VEC(struct agg_process) processes;
    VEC(struct agg_stack) stacks;
    VEC(struct agg_thread) threads;
    struct lookup process_rows, stack_rows, thread_rows;
    u32 last_process, timed; /* consecutive samples are often of one process; bits of events (aggregate_keep_times) */
};

int aggregate_new(struct aggregate **out, size_t nevents, size_t max_bytes)
{
    struct aggregate *a = calloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    a->nevents = nevents < XP_MAX_EVENTS ? nevents : XP_MAX_EVENTS;
    memset(a->nvalues, 1, sizeof(a->nvalues));
    memset(a->ncounted, 1, sizeof(a->ncounted));
    a->max_bytes = max_bytes;
    if (getrandom(&a->seed, sizeof(a->seed), GRND_NONBLOCK) != sizeof(a->seed))
        a->seed = (uintptr_t)a;
    *out = a;
    return 0;
}

void aggregate_share(struct aggregate *a)
{
    a->shares.limit = a->max_bytes / 4 * 3;
}

void aggregate_widen(struct aggregate *a, size_t event, size_t nvalues, size_t ncounted)
{
    a->nvalues[event] = (u8)nvalues;
    a->ncounted[event] = (u8)ncounted;
}

/* Back to the state before the first stack. */
static void clear(struct aggregate *a)
{
    for (struct chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    a->chunks = NULL;
    a->used = a->bytes = 0;
    a->dropped = 0;
    a->last_process = 0;
    vec_free(&a->processes);
    vec_free(&a->stacks);
    vec_free(&a->threads);
    lookup_free(&a->process_rows);
    lookup_free(&a->stack_rows);
    lookup_free(&a->thread_rows);
    shares_free(&a->shares);
}

void aggregate_free(struct aggregate **a)
{
    if (!*a)
        return;
    clear(*a);
    free(TAKE_PTR(*a));
}

/* ---- Room, within the budget ------------------------------------------------------------------------------------ */

static bool charge(struct aggregate *a, size_t bytes)
{
    if (bytes > a->max_bytes - a->bytes)
        return false;
    a->bytes += bytes;
    return true;
}

/* Counts what a cgroup takes itself; the rest is room for growth. */
static bool take_share(struct aggregate *a, u64 cgroup, size_t bytes)
{
    return !a->shares.limit || shares_take(&a->shares, cgroup, bytes);
}

/* Room for one more row: grows by a half, so that a budget is not left half unused by the last doubling. */
static bool room_row(struct aggregate *a, void **v, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    size_t more = *cap ? *cap / 2 : 16;
    if (!charge(a, more * size))
        return false;
    void *p = reallocarray(*v, *cap + more, size);
    if (!p) {
        a->bytes -= more * size;
        return false;
    }
    *v = p;
    *cap += more;
    return true;
}
#define ROOM_ROW(a, vec) room_row((a), (void **)&(vec)->v, &(vec)->cap, (vec)->n, sizeof(*(vec)->v))

/* Puts a row whose room in the table is already there. */
static bool put_row(struct aggregate *a, struct lookup *l, u64 hash, size_t row)
{
    size_t more = lookup_growth(l);
    if (row >= UINT32_MAX || !charge(a, more))
        return false;
    if (!lookup_put(l, hash, (u32)row))
        return true;
    a->bytes -= more;
    return false;
}

/* Place for n words that nobody has taken yet; the caller moves `used`. */
static u64 *room_words(struct aggregate *a, size_t n)
{
    if (a->chunks && a->used + n <= CHUNK_WORDS)
        return a->chunks->words + a->used;
    if (!charge(a, sizeof(struct chunk)))
        return NULL;
    struct chunk *c = malloc(sizeof(*c));
    if (!c) {
        a->bytes -= sizeof(*c);
        return NULL;
    }
    c->next = a->chunks;
    a->chunks = c;
    a->used = 0;
    return c->words;
}

/* ---- Processes -------------------------------------------------------------------------------------------------- */

static bool same_process(const struct agg_process *x, const struct agg_process *y)
{
    return x->start == y->start && x->tgid == y->tgid && x->cgroup == y->cgroup &&
           !memcmp(x->comm, y->comm, sizeof(x->comm));
}

static u64 process_hash(const struct aggregate *a, const struct agg_process *p)
{
    u64 key[5] = {p->start, p->cgroup, p->tgid};
    memcpy(key + 3, p->comm, 16);
    return lookup_hash(key, 5, a->seed);
}

static int process_row(struct aggregate *a, const struct agg_process *key, u32 *out)
{
    if (a->last_process < a->processes.n && same_process(&a->processes.v[a->last_process], key)) {
        *out = a->last_process;
        return 0;
    }
    u64 hash = process_hash(a, key);
    u32 row;
    for (struct probe p = lookup_start(&a->process_rows, hash); lookup_next(&a->process_rows, &p, &row);)
        if (same_process(&a->processes.v[row], key)) {
            *out = a->last_process = row;
            return 0;
        }
    if (!take_share(a, key->cgroup, sizeof(*key) + ROW_BYTES))
        return -ENOSPC;
    if (!ROOM_ROW(a, &a->processes) || !put_row(a, &a->process_rows, hash, a->processes.n))
        return -ENOSPC;
    *out = a->last_process = (u32)a->processes.n;
    a->processes.v[a->processes.n++] = *key;
    return 0;
}

/* ---- Threads: names and numbers, each once ----------------------------------------------------------------------- */

/* 0 stands for one of which nothing is known. */
static int thread_row(struct aggregate *a, u64 cgroup, const struct agg_thread *key, u32 *out)
{
    u64 words[4] = {0, 0, (u64)key->tid << 32 | key->nstid, key->time};
    u32 row = *out = 0;
    if (!key->name[0] && !key->tid)
        return 0;
    memcpy(words, key->name, 2 * sizeof(words[0]));
    u64 hash = lookup_hash(words, 4, a->seed);
    for (struct probe p = lookup_start(&a->thread_rows, hash); lookup_next(&a->thread_rows, &p, &row);)
        if (!memcmp(&a->threads.v[row], key, sizeof(*key))) {
            *out = row + 1;
            return 0;
        }
    if (!take_share(a, cgroup, sizeof(*key) + ROW_BYTES))
        return -ENOSPC;
    if (!ROOM_ROW(a, &a->threads) || !put_row(a, &a->thread_rows, hash, a->threads.n))
        return -ENOSPC;
    a->threads.v[a->threads.n++] = *key;
    *out = (u32)a->threads.n;
    return 0;
}

const struct agg_thread *aggregate_thread(const struct aggregate *a, u32 thread)
{
    static const struct agg_thread none;
    return thread ? &a->threads.v[thread - 1] : &none;
}

/* ---- Stacks ----------------------------------------------------------------------------------------------------- */

static bool same_stack(const struct agg_stack *x, const struct agg_stack *y)
{
    return x->process == y->process && x->thread == y->thread && x->nkernel == y->nkernel && x->nuser == y->nuser &&
           x->cause == y->cause && x->event == y->event &&
           !memcmp(x->words, y->words, (x->nkernel + x->nuser) * sizeof(u64));
}

/* The stack equal to `key`, made when it is new (with a copy of the words, and counts of 0); NULL without room. */
static struct agg_stack *stack_get(struct aggregate *a, const struct agg_stack *key)
{
    size_t n = (size_t)key->nkernel + key->nuser;
    u64 who = (u64)key->process << 32 | (u64)key->nkernel << 16 | (u64)key->event << 8 | key->cause;
    u64 hash = lookup_hash(key->words, n, a->seed ^ hash_u64(who ^ hash_u64(key->thread)));
    u32 row;
    for (struct probe p = lookup_start(&a->stack_rows, hash); lookup_next(&a->stack_rows, &p, &row);)
        if (same_stack(&a->stacks.v[row], key))
            return &a->stacks.v[row];
    size_t nvalues = key->nvalues * VALUE_WORDS;
    size_t bytes = (n + nvalues) * sizeof(u64) + sizeof(*key) + ROW_BYTES;
    u64 cgroup = a->processes.v[key->process].cgroup;
    if (!take_share(a, cgroup, bytes))
        return NULL;
    u64 *words = room_words(a, n + nvalues);
    if (!words || !ROOM_ROW(a, &a->stacks) || !put_row(a, &a->stack_rows, hash, a->stacks.n)) {
        shares_give(&a->shares, cgroup, bytes);
        return NULL;
    }
    memcpy(words, key->words, n * sizeof(u64));
    memset(words + n, 0, nvalues * sizeof(u64));
    a->used += n + nvalues;
    struct agg_stack *s = &a->stacks.v[a->stacks.n++];
    *s = *key;
    s->words = words;
    s->values = (struct xp_amount *)(words + n);
    return s;
}

/* Frames of runtimes are whole: each first word is followed by its second one, which stands nowhere else. */
static bool user_words_valid(const u64 *words, size_t n)
{
    u32 kinds = 0, may = 2u * (1u << XP_WORD_V8) - 1; /* bit k: there is a word of kind k */
    bool whole = true, begun = false;
    for (size_t i = 0; i < n; i++) {
        u32 kind = XP_WORD_KIND(words[i]);
        kinds |= 1u << kind;
        whole &= begun == (kind == XP_WORD_MORE);
        begun = XP_IS_RUNTIME(words[i]);
    }
    return whole && !begun && !(kinds & ~(may | 1u << XP_WORD_LABEL));
}

/* A record that is not from our own programs, or from another version of them, must not become a stack. */
static bool valid(const struct aggregate *a, const struct xp_sample *s)
{
    if (s->nuser > XP_MAX_USER || s->event >= a->nevents || s->cause >= XP_CAUSE_COUNT ||
        !reason_valid(s->words, s->nkernel))
        return false;
    size_t reason = reason_words(s->words, s->nkernel) + label_words(s->words, s->nkernel);
    if (s->nkernel > XP_MAX_REASON || s->nkernel - reason > XP_MAX_KERNEL)
        return false;
    u64 kernel = ~0ull;
    for (size_t i = reason; i < s->nkernel; i++)
        kernel &= s->words[i];
    _Static_assert(XP_WORD_KERNEL == 15, "all bits of the kind set");
    return XP_WORD_KIND(kernel) == XP_WORD_KERNEL && user_words_valid(s->words + s->nkernel, s->nuser);
}

static void add_values(struct agg_stack *to, const struct xp_amount *from, size_t n)
{
    for (size_t i = 0; i < n && i < to->nvalues; i++) {
        to->values[i].count += from[i].count;
        to->values[i].value += from[i].value;
    }
}

int aggregate_add_values(struct aggregate *a, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
    if (!valid(a, s)) {
        a->dropped++;
        return -EBADMSG;
    }
    struct agg_process who = {.start = s->start, .cgroup = s->cgroup, .tgid = s->tgid};
    u64 time = a->timed >> s->event & 1 ? s->time : 0;
    struct agg_thread thread = {.tid = time || s->nstid ? s->tid : 0, .nstid = s->nstid, .time = time};
    /* bytes after the NUL are no part of a name */
    memcpy(who.comm, s->comm, strnlen(s->comm, sizeof(s->comm)));
    memcpy(thread.name, s->thread, strnlen(s->thread, sizeof(s->thread)));
    struct agg_stack key = {.nkernel = s->nkernel,
                            .nuser = s->nuser,
                            .cause = s->cause,
                            .event = s->event,
                            .nvalues = a->nvalues[s->event],
                            .ncounted = a->ncounted[s->event],
                            .words = s->words};
    struct agg_stack *stack = NULL;
    if (!process_row(a, &who, &key.process) && !thread_row(a, s->cgroup, &thread, &key.thread))
        stack = stack_get(a, &key);
    if (!stack) {
        a->dropped++;
        return -ENOSPC;
    }
    add_values(stack, values, n);
    return 0;
}

int aggregate_add(struct aggregate *a, const struct xp_sample *s)
{
    return aggregate_add_values(a, s, &(struct xp_amount){.count = s->count, .value = s->weight}, 1);
}

static int merge_stack(struct aggregate *into, const struct aggregate *from, const struct agg_stack *s)
{
    struct agg_stack key = *s;
    struct agg_stack *to = NULL;
    const struct agg_process *who = &from->processes.v[s->process];
    const struct agg_thread *thread = aggregate_thread(from, s->thread);
    if (s->event < into->nevents && !process_row(into, who, &key.process) &&
        !thread_row(into, who->cgroup, thread, &key.thread))
        to = stack_get(into, &key);
    if (to)
        add_values(to, s->values, s->nvalues);
    else
        into->dropped += agg_count(s);
    return to ? 0 : -ENOSPC;
}

int aggregate_merge(struct aggregate *into, struct aggregate *from)
{
    int result = 0;
    into->dropped += from->dropped;
    for (size_t i = 0; i < from->stacks.n; i++)
        if (merge_stack(into, from, &from->stacks.v[i]))
            result = -ENOSPC;
    clear(from);
    return result;
}

void aggregate_reclassify(struct aggregate *a, u8 (*judge)(void *ctx, const struct agg_stack *s), void *ctx)
{
    for (size_t i = 0; i < a->stacks.n; i++)
        a->stacks.v[i].cause = judge(ctx, &a->stacks.v[i]);
}

/* ---- What there is ---------------------------------------------------------------------------------------------- */

const struct agg_process *aggregate_processes(const struct aggregate *a, size_t *n)
{
    *n = a->processes.n;
    return a->processes.v;
}

const struct agg_stack *aggregate_stacks(const struct aggregate *a, size_t *n)
{
    *n = a->stacks.n;
    return a->stacks.v;
}

void aggregate_keep_times(struct aggregate *a, u32 events)
{
    a->timed = events;
}

size_t aggregate_events(const struct aggregate *a)
{
    return a->nevents;
}

u64 aggregate_dropped(const struct aggregate *a)
{
    return a->dropped;
}

size_t aggregate_bytes(const struct aggregate *a)
{
    return a->bytes;
}
