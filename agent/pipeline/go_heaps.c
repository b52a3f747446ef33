#include "pipeline/go_heaps.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/shares.h"
#include "opener/hung.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define PAUSE_NS    200000000ull /* between two looks at a program, at least */
#define PAUSE_TIMES 100          /* as long as a look has taken */
#define TRIES       2            /* when it changes meanwhile */
#define LONG_NS     50000000ull  /* those that take longer do not delay others more */

struct shown {
    struct xp_amount allocated, held;
};
struct program {
    struct xp_wanted who;
    struct xp_mapping map;
    struct go_heap where;
    struct go_table table; /* as it was read last */
    struct shown *shown;   /* of each bucket, oldest first */
    size_t nshown;
    u64 bytes; /* that its cgroup is charged */
    bool known, ended, refused;
    u64 due_ns;
};
struct go_heaps {
    pthread_mutex_t lock; /* for the list, the bytes, and all of a program that ended, or that is shown */
    struct go_heaps_config config;
    struct go_memory *memory;
    VEC(struct program *) programs;
    struct shares bytes;     /* of programs, by cgroup */
    struct hung_place place; /* of the process that is being read */
    u64 due_ns;              /* when the next one may be read */
    size_t next;
};

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* Blocks are sampled as if each byte was, once in `rate` bytes: this is what they stand for, and how runtime/pprof
 * rounds it (Go's src/runtime/pprof/protomem.go: scaleHeapSample). */
static struct xp_amount scaled(u64 count, u64 bytes, u64 rate)
{
    if (!count || !bytes)
        return (struct xp_amount){0};
    if (rate <= 1)
        return (struct xp_amount){count, bytes};
    double scale = 1 / (1 - exp(-((double)bytes / (double)count) / (double)rate));
    return (struct xp_amount){(u64)((double)count * scale), (u64)((double)bytes * scale)};
}

static u64 less(u64 a, u64 b)
{
    return a > b ? a - b : 0;
}

static struct shown values_of(const struct go_table *t, const struct go_bucket *b)
{
    const struct go_cycle *s = &b->sum;
    return (struct shown){
        scaled(s->allocs, s->alloc_bytes, t->rate),
        scaled(less(s->allocs, s->frees), less(s->alloc_bytes, s->free_bytes), t->rate),
    };
}

/* ---- Following --------------------------------------------------------------------------------------------------- */

/* Memory of a process may be in a file that does not answer, as in sleepers_read. */
static int read_memory(void *ctx, u32 tgid, u64 at, void *to, size_t len)
{
    const struct go_heaps *g = ctx;
    if (hung_is(g->config.hung, &g->place, now_ns()))
        return -EREMOTEIO;
    int n = g->config.read(g->config.ctx, tgid, at, to, len);
    if (n == -EREMOTEIO)
        hung_note(g->config.hung, &g->place, now_ns());
    return n;
}

int go_heaps_new(struct go_heaps **out, const struct go_heaps_config *config)
{
    struct go_heaps *g = calloc(1, sizeof(*g));
    if (!g || go_memory_new(&g->memory, read_memory, g)) {
        free(g);
        return -ENOMEM;
    }
    g->config = *config;
    g->bytes.limit = config->limit;
    pthread_mutex_init(&g->lock, NULL);
    *out = g;
    return 0;
}

/* Charges the cgroup of a program for all that is kept of it. Returns false if that is more than its share. */
static bool charge(struct go_heaps *g, struct program *p, u64 bytes)
{
    if (bytes > p->bytes && !shares_take(&g->bytes, p->who.cgroup, bytes - p->bytes))
        return false;
    if (bytes < p->bytes)
        shares_give(&g->bytes, p->who.cgroup, p->bytes - bytes);
    p->bytes = bytes;
    return true;
}

static void free_program(struct go_heaps *g, struct program *p)
{
    charge(g, p, 0);
    go_table_free(&p->table);
    free(p->shown);
    free(p);
}

static void count_refused(struct go_heaps *g)
{
    __atomic_add_fetch(g->config.refused, 1, __ATOMIC_RELAXED);
}

void go_heaps_free(struct go_heaps **gg)
{
    struct go_heaps *g = *gg;
    if (!g)
        return;
    for (size_t i = 0; i < g->programs.n; i++)
        free_program(g, g->programs.v[i]);
    vec_free(&g->programs);
    shares_free(&g->bytes);
    go_memory_free(&g->memory);
    pthread_mutex_destroy(&g->lock);
    free(g);
    *gg = NULL;
}

static struct program *find(const struct go_heaps *g, u32 tgid, u32 file)
{
    for (size_t i = 0; i < g->programs.n; i++) {
        struct program *p = g->programs.v[i];
        if (p->who.tgid == tgid && (!file || p->map.file == file) && !p->ended)
            return p;
    }
    return NULL;
}

/* Under the lock. Returns 0 or -errno. */
static int add(struct go_heaps *g, struct program *p)
{
    if (!charge(g, p, sizeof(*p))) {
        count_refused(g);
        return -ENOSPC;
    }
    struct program **place = VEC_PUSH(&g->programs);
    if (!place) {
        charge(g, p, 0);
        return -ENOMEM;
    }
    *place = p;
    return 0;
}

void go_heaps_follow(struct go_heaps *g, const struct xp_wanted *who, const struct xp_mapping *m,
                     const struct go_heap *where)
{
    AUTO_FREE struct program *p = calloc(1, sizeof(*p));
    if (!p)
        return;
    *p = (struct program){.who = *who, .map = *m, .where = *where};
    pthread_mutex_lock(&g->lock);
    if (!find(g, who->tgid, m->file) && !add(g, p))
        TAKE_PTR(p);
    pthread_mutex_unlock(&g->lock);
}

void go_heaps_leave(struct go_heaps *g, u32 tgid)
{
    pthread_mutex_lock(&g->lock);
    for (struct program *p; (p = find(g, tgid, 0));)
        p->ended = true;
    pthread_mutex_unlock(&g->lock);
}

/* What was allocated before the program was followed is not shown, unless it is to be. Returns 0 or -ENOMEM. */
static int show(const struct go_heaps *g, struct program *p, const struct go_table *fresh)
{
    size_t n = fresh->buckets.n;
    struct shown *more = n > p->nshown ? reallocarray(p->shown, n, sizeof(*more)) : p->shown;
    if (n > p->nshown && !more)
        return -ENOMEM;
    p->shown = more;
    while (p->nshown < n) {
        struct shown before = {0};
        if (!p->known && !g->config.since_start)
            before.allocated = values_of(fresh, &fresh->buckets.v[n - 1 - p->nshown]).allocated;
        p->shown[p->nshown++] = before;
    }
    return 0;
}

/* The table of before is taken from `fresh`, which has it then. Returns 0 or -errno, which leaves that table. */
static int publish(struct go_heaps *g, struct program *p, struct go_table *fresh)
{
    u64 before = p->bytes, shown = fresh->buckets.n * sizeof(*p->shown);
    if (fresh->buckets.n < p->nshown)
        return -EBADMSG;
    if (!charge(g, p, sizeof(*p) + go_table_bytes(fresh) + shown))
        return -E2BIG;
    if (show(g, p, fresh)) {
        charge(g, p, before);
        return -ENOMEM;
    }
    struct go_table old = p->table;
    p->table = *fresh;
    p->known = true;
    *fresh = old;
    return 0;
}

static u64 room_for(struct go_heaps *g, const struct program *p)
{
    pthread_mutex_lock(&g->lock);
    u64 room = g->bytes.limit - g->bytes.used + p->bytes;
    pthread_mutex_unlock(&g->lock);
    return room;
}

/* Returns 0 or -errno: go_table_read. */
static int read_once(struct go_heaps *g, struct program *p)
{
    struct go_table fresh = {0};
    u64 base = p->map.start - p->map.pgoff;
    g->place = hung_place_of_process(p->who.tgid, p->who.start, p->who.cgroup);
    int rc = go_table_read(g->memory, p->who.tgid, base, &p->where, room_for(g, p), &fresh);
    if (!rc) {
        pthread_mutex_lock(&g->lock);
        rc = publish(g, p, &fresh);
        pthread_mutex_unlock(&g->lock);
    }
    go_table_free(&fresh);
    return rc;
}

static void look_at(struct go_heaps *g, struct program *p)
{
    u64 began = now_ns();
    int rc = -EAGAIN;
    for (int tries = 0; rc == -EAGAIN && tries < TRIES; tries++)
        rc = read_once(g, p);
    if (rc == -E2BIG && !p->refused) /* once, however often it is read in vain */
        count_refused(g);
    p->refused = rc == -E2BIG || (rc && p->refused);
    u64 now = now_ns(), took = now - began;
    g->due_ns = now + PAUSE_TIMES * (took < LONG_NS ? took : LONG_NS);
    p->due_ns = now + PAUSE_NS;
}

/* The next one whose time has come. It stays as long as it has not ended, which this thread tells. */
static struct program *next_due(struct go_heaps *g, bool at_once)
{
    struct program *due = NULL;
    u64 now = now_ns();
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->programs.n && !due; i++) {
        struct program *p = g->programs.v[g->next++ % g->programs.n];
        if (!p->ended && (at_once || p->due_ns <= now))
            due = p;
    }
    pthread_mutex_unlock(&g->lock);
    return due;
}

static size_t count(struct go_heaps *g)
{
    pthread_mutex_lock(&g->lock);
    size_t n = g->programs.n;
    pthread_mutex_unlock(&g->lock);
    return n;
}

void go_heaps_look(struct go_heaps *g, bool at_once)
{
    for (size_t n = at_once ? count(g) : 1; n && (at_once || g->due_ns <= now_ns()); n--) {
        struct program *p = next_due(g, at_once);
        if (!p)
            return;
        look_at(g, p);
    }
}

/* ---- Taking ------------------------------------------------------------------------------------------------------ */

static u64 word_of(const struct program *p, u64 pc)
{
    if (pc < p->map.start || pc >= p->map.end)
        return XP_WORD_ADDR(pc);
    return XP_FILE_WORD(XP_WORD_TOLD, p->map.file, XP_WORD_OFFSET(pc - p->map.start + p->map.pgoff));
}

static void make(const struct go_heaps *g, const struct program *p, const struct go_bucket *b, struct xp_sample *to)
{
    *to = (struct xp_sample){.type = XP_RECORD_SAMPLE,
                             .start = p->who.start,
                             .cgroup = p->who.cgroup,
                             .tgid = p->who.tgid,
                             .tid = p->who.tgid,
                             .event = (u8)g->config.event,
                             .cause = XP_CAUSE_END,
                             .nuser = (u16)b->n};
    memcpy(to->comm, p->who.comm, sizeof(to->comm));
    for (u32 i = 0; i < b->n; i++)
        to->words[i] = word_of(p, p->table.words.v[b->first + i]);
}

/* Differences may be negative: they are added modulo 2^64. */
static struct xp_amount change(struct xp_amount now, struct xp_amount before)
{
    return (struct xp_amount){now.count - before.count, now.value - before.value};
}

static void take_program(const struct go_heaps *g, struct program *p, struct xp_sample *room, waits_use *use, void *ctx)
{
    size_t n = p->table.buckets.n;
    for (size_t i = 0; i < n; i++) {
        const struct go_bucket *b = &p->table.buckets.v[n - 1 - i];
        struct shown now = values_of(&p->table, b), *before = &p->shown[i];
        struct xp_amount values[XP_MAX_VALUES] = {change(now.allocated, before->allocated),
                                                  change(now.held, before->held)};
        if (!(values[0].count | values[0].value | values[1].count | values[1].value))
            continue;
        *before = now;
        make(g, p, b, room);
        room->count = values[0].count > UINT32_MAX ? 0 : (u32)values[0].count;
        use(ctx, room, values, XP_MAX_VALUES);
    }
}

/* Nothing is read of them any more. */
static void free_ended(struct go_heaps *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->programs.n; i++) {
        if (g->programs.v[i]->ended)
            free_program(g, g->programs.v[i]);
        else
            g->programs.v[n++] = g->programs.v[i];
    }
    g->programs.n = n;
}

void go_heaps_take(struct go_heaps *g, waits_use *use, void *ctx)
{
    AUTO_FREE struct xp_sample *room = malloc(sizeof(*room) + 8 * GO_TABLE_DEPTH);
    if (!room)
        return;
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->programs.n; i++)
        take_program(g, g->programs.v[i], room, use, ctx);
    free_ended(g);
    pthread_mutex_unlock(&g->lock);
}

void go_heaps_begin(struct go_heaps *g)
{
    pthread_mutex_lock(&g->lock);
    free_ended(g);
    for (size_t i = 0; i < g->programs.n; i++) {
        struct program *p = g->programs.v[i];
        for (size_t k = 0; k < p->nshown; k++)
            p->shown[k].held = (struct xp_amount){0};
    }
    pthread_mutex_unlock(&g->lock);
}
