#include "pipeline/go_table.h"
#include "base/clock.h"
#include <errno.h>
#include <string.h>

#define BUCKETS_MAX (1u << 17)
#define WINDOW      16384 /* bytes that are read at once */
#define WINDOWS     8
#define PAGE        4096
#define READ_NS     200000000ull
#define CYCLES      3 /* in which allocations wait for the end of a garbage collection */
#define MEMORY_KIND 1 /* memProfile */

/* The layout has been the same since Go 1.9: src/runtime/mprof.go, bucket, memRecord. */
struct bucket_head {
    u64 next, all_next, kind, hash, size, depth;
}; /* then its stack, and a struct record */
struct record {
    struct go_cycle active, future[CYCLES];
};

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

struct window {
    u64 at;
    int n; /* bytes, or -errno; 0: nothing was read so far */
    u8 bytes[WINDOW];
};
struct go_memory {
    go_memory_read *read;
    void *ctx;
    u32 tgid;
    u64 deadline;
    struct window windows[WINDOWS];
};

int go_memory_new(struct go_memory **out, go_memory_read *read, void *ctx)
{
    struct go_memory *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->read = read;
    m->ctx = ctx;
    *out = m;
    return 0;
}

void go_memory_free(struct go_memory **m)
{
    free(*m);
    *m = NULL;
}

static void begin(struct go_memory *m, u32 tgid)
{
    m->tgid = tgid;
    m->deadline = now_ns() + READ_NS;
    for (size_t i = 0; i < WINDOWS; i++)
        m->windows[i].n = 0;
}

static bool has(const struct window *w, u64 at)
{
    return w->n > 0 && at >= w->at && at - w->at < (u64)w->n;
}

/* Memory may begin, or end, within a window: what is asked for is then read from its own page on. Memory that is in a
 * file may be slow to come: not even a single bucket is waited for longer than for all of them. Returns 0 or -errno. */
static int window_at(struct go_memory *m, u64 at, const struct window **out)
{
    const u64 from[] = {at & ~(u64)(WINDOW - 1), at & ~(u64)(PAGE - 1)};
    struct window *w = &m->windows[at / WINDOW % WINDOWS];
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]) && !has(w, at); i++) {
        if (now_ns() > m->deadline)
            return -E2BIG;
        w->at = from[i];
        w->n = m->read(m->ctx, m->tgid, w->at, w->bytes, WINDOW - (size_t)(w->at % WINDOW));
        if (w->n == -EREMOTEIO)
            return w->n;
    }
    *out = w;
    return has(w, at) ? 0 : -EFAULT;
}

static int read_at(struct go_memory *m, u64 at, void *to, size_t len)
{
    for (size_t done = 0; done < len;) {
        const struct window *w;
        int rc = window_at(m, at + done, &w);
        if (rc)
            return rc;
        size_t from = (size_t)(at + done - w->at), left = (size_t)w->n - from;
        size_t n = left < len - done ? left : len - done;
        memcpy((u8 *)to + done, w->bytes + from, n);
        done += n;
    }
    return 0;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void add(struct go_cycle *to, const struct go_cycle *from)
{
    to->allocs += from->allocs;
    to->frees += from->frees;
    to->alloc_bytes += from->alloc_bytes;
    to->free_bytes += from->free_bytes;
}

/* Cycles that have ended count; one of them may not have been added yet. `cycle`: runtime's mProfCycle, its number, and
 * in bit 0 whether it was. */
static struct go_bucket sums(const struct record *r, u32 cycle)
{
    struct go_bucket b = {.sum = r->active};
    for (size_t i = 0; i < CYCLES; i++)
        add(&b.waiting, &r->future[i]);
    if (!(cycle & 1))
        add(&b.sum, &r->future[(cycle >> 1) % CYCLES]);
    return b;
}

/* Returns 0 or -errno. *at becomes the next bucket. */
static int read_bucket(struct go_memory *m, u32 cycle, u64 *at, struct go_table *t)
{
    struct bucket_head head;
    struct record record;
    int rc = *at % 8 ? -EBADMSG : read_at(m, *at, &head, sizeof(head));
    if (rc)
        return rc;
    if (head.kind != MEMORY_KIND || head.depth > GO_TABLE_DEPTH)
        return -EBADMSG;
    if (VEC_RESERVE(&t->words, t->words.n + head.depth + 1) || VEC_RESERVE(&t->buckets, t->buckets.n + 1))
        return -ENOMEM;
    u64 stack = *at + sizeof(head), bytes = 8 * head.depth;
    rc = read_at(m, stack, t->words.v + t->words.n, bytes);
    if (!rc)
        rc = read_at(m, stack + bytes, &record, sizeof(record));
    if (rc)
        return rc;
    struct go_bucket b = sums(&record, cycle);
    b.first = (u32)t->words.n;
    b.n = (u32)head.depth;
    t->any |= (record.active.allocs | record.active.frees) != 0;
    t->words.n += head.depth;
    t->buckets.v[t->buckets.n++] = b;
    *at = head.all_next;
    return 0;
}

/* Before the first garbage collection has ended, runtime/pprof takes all. */
static void take_waiting(struct go_table *t)
{
    for (size_t i = 0; i < t->buckets.n && !t->any; i++)
        t->buckets.v[i].sum = t->buckets.v[i].waiting;
}

/* Not from a window. */
static bool is_still(struct go_memory *m, u64 at, u32 cycle)
{
    u32 now;
    return m->read(m->ctx, m->tgid, at, &now, sizeof(now)) == sizeof(now) && now == cycle;
}

static void shrink(void **v, size_t *cap, size_t n, size_t size)
{
    void *less = n && n < *cap ? reallocarray(*v, n, size) : NULL;
    if (!less)
        return;
    *v = less;
    *cap = n;
}

/* The table is kept, and has no more memory then than go_table_bytes says. */
static void trim(struct go_table *t)
{
    shrink((void **)&t->words.v, &t->words.cap, t->words.n, sizeof(*t->words.v));
    shrink((void **)&t->buckets.v, &t->buckets.cap, t->buckets.n, sizeof(*t->buckets.v));
}

u64 go_table_bytes(const struct go_table *t)
{
    return t->words.n * sizeof(*t->words.v) + t->buckets.n * sizeof(*t->buckets.v);
}

int go_table_read(struct go_memory *m, u32 tgid, u64 base, const struct go_heap *where, u64 room, struct go_table *out)
{
    u64 at;
    u32 cycle = 1;
    begin(m, tgid);
    int rc = read_at(m, base + where->buckets, &at, sizeof(at));
    if (!rc && where->rate)
        rc = read_at(m, base + where->rate, &out->rate, sizeof(out->rate));
    if (!rc && where->cycle)
        rc = read_at(m, base + where->cycle, &cycle, sizeof(cycle));
    while (!rc && at) {
        rc = read_bucket(m, cycle, &at, out);
        if (!rc && (out->buckets.n > BUCKETS_MAX || go_table_bytes(out) > room || now_ns() > m->deadline))
            rc = -E2BIG;
    }
    if (rc)
        return rc;
    take_waiting(out);
    trim(out);
    return !where->cycle || is_still(m, base + where->cycle, cycle) ? 0 : -EAGAIN;
}

void go_table_free(struct go_table *t)
{
    vec_free(&t->words);
    vec_free(&t->buckets);
}
