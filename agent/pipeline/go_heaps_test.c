/* Tables as Go's runtime has them, in this program's memory. */
#include "pipeline/go_heaps.h"
#include "base/clock.h"
#include "base/test.h"
#include "opener/hung.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { EVENT = 2, BASE = 1 << 20, SIZE = 1 << 17, TGID = 77, FILE_ID = 5, CGROUP = 10 };
#define POINTER (BASE + 64) /* to the newest bucket */
#define RATE    (BASE + 72)
#define CYCLE   (BASE + 80)
#define CODE    0x7000000ull

struct fake {
    u8 memory[SIZE];
    u64 end;            /* of what buckets use */
    u32 tgid;           /* that was asked for */
    bool gone;          /* the process is */
    bool hangs;         /* its memory does not answer */
    u64 slow_us, reads; /* what reading takes; how often it was tried */
    u64 refused;
    u64 hole, after;                           /* addresses between them are not mapped */
    struct xp_amount alloc, held, alloc_of[4]; /* what was taken; by the first offset of the stack */
    u64 samples;
    struct xp_sample last;
    u64 words[4];
};

static void put(struct fake *f, u64 at, u64 value)
{
    memcpy(f->memory + (at - BASE), &value, sizeof(value));
}

static u64 get(const struct fake *f, u64 at)
{
    u64 value;
    memcpy(&value, f->memory + (at - BASE), sizeof(value));
    return value;
}

static int read_memory(void *ctx, u32 tgid, u64 at, void *to, size_t len)
{
    struct fake *f = ctx;
    f->tgid = tgid;
    f->reads++;
    if (f->slow_us)
        usleep((useconds_t)f->slow_us);
    if (f->hangs)
        return -EREMOTEIO;
    if (f->gone || at < BASE || at >= BASE + SIZE)
        return -EFAULT;
    if (at >= f->hole && at < f->after)
        return -EFAULT;
    u64 left = (at < f->hole ? f->hole : BASE + SIZE) - at;
    memcpy(to, f->memory + (at - BASE), len < left ? len : left);
    return (int)(len < left ? len : left);
}

static void start(struct fake *f)
{
    memset(f, 0, sizeof(*f));
    f->end = BASE + 4096 - 40; /* buckets cross windows */
    put(f, RATE, 1);
    put(f, CYCLE, 1);
}

/* A bucket with a stack of two return addresses. Returns where its record begins: that of the active cycle. */
static u64 bucket(struct fake *f, u64 pc)
{
    u64 at = f->end;
    put(f, at + 8, get(f, POINTER));
    put(f, at + 16, 1);
    put(f, at + 40, 2);
    put(f, at + 48, pc);
    put(f, at + 56, CODE + 0x900);
    put(f, POINTER, at);
    f->end += 48 + 16 + 4 * 32;
    return at + 64;
}

static void count(struct fake *f, u64 record, u64 allocs, u64 frees, u64 size)
{
    put(f, record, allocs);
    put(f, record + 8, frees);
    put(f, record + 16, allocs * size);
    put(f, record + 24, frees * size);
}

static void use(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
    struct fake *f = ctx;
    CHECK_EQ(n, XP_MAX_VALUES);
    f->alloc.count += values[0].count;
    f->alloc.value += values[0].value;
    f->held.count += values[1].count;
    f->held.value += values[1].value;
    f->samples++;
    f->last = *s;
    memcpy(f->words, s->words, 8 * (s->nuser < 4 ? s->nuser : 4));
}

static void take(struct go_heaps *g, struct fake *f)
{
    memset(&f->alloc, 0, sizeof(f->alloc));
    memset(&f->held, 0, sizeof(f->held));
    f->samples = 0;
    go_heaps_look(g, true);
    go_heaps_take(g, use, f);
}

static void follow_one(struct go_heaps *g, u32 tgid, u64 cgroup)
{
    const struct xp_wanted who = {.tgid = tgid, .start = 9, .cgroup = cgroup, .comm = "prog"};
    const struct xp_mapping m = {CODE, CODE + 0x1000, 0x400, tgid, FILE_ID};
    const u64 base = CODE - 0x400;
    const struct go_heap where = {GO_HEAP_MAGIC, 1, POINTER - base, RATE - base, CYCLE - base};
    go_heaps_follow(g, &who, &m, &where);
}

static struct go_heaps *start_with(struct fake *f, bool since_start, u64 limit, struct hung *hung)
{
    struct go_heaps *g = NULL;
    const struct go_heaps_config config = {.event = EVENT,
                                           .since_start = since_start,
                                           .read = read_memory,
                                           .ctx = f,
                                           .hung = hung,
                                           .limit = limit,
                                           .refused = &f->refused};
    return go_heaps_new(&g, &config) ? NULL : g;
}

static struct go_heaps *follow(struct fake *f, bool since_start)
{
    struct go_heaps *g = start_with(f, since_start, GO_HEAPS_BYTES, NULL);
    follow_one(g, TGID, CGROUP);
    follow_one(g, TGID, CGROUP); /* does nothing */
    return g;
}

#define CHECK_SUM(f, a, b, c, d) \
    CHECK((f).alloc.count == (a) && (f).alloc.value == (b) && (f).held.count == (c) && (f).held.value == (d))

static struct fake f;

TEST(go_heaps_are_whole_tables)
{
    start(&f);
    count(&f, bucket(&f, CODE + 0x10), 10, 4, 100);
    count(&f, bucket(&f, CODE + 0x20), 1, 1, 1000);
    struct go_heaps *g = follow(&f, true);
    take(g, &f);
    CHECK_SUM(f, 11, 2000, 6, 600);
    CHECK(f.samples == 2 && f.tgid == TGID);
    CHECK(f.last.tgid == TGID && f.last.start == 9 && f.last.cgroup == 10 && !strcmp(f.last.comm, "prog"));
    CHECK(f.last.event == EVENT && f.last.nuser == 2 && f.last.cause == XP_CAUSE_END);
    CHECK_EQ(f.words[0], XP_FILE_WORD(XP_WORD_TOLD, FILE_ID, 0x420));
    take(g, &f);
    CHECK_EQ(f.samples, 0); /* nothing has changed */
    go_heaps_free(&g);
}

/* Memory begins where the runtime has it, not where a window would. */
TEST(go_heaps_are_read_beside_memory_that_is_not_mapped)
{
    for (int end = 0; end < 2; end++) {
        start(&f);
        f.hole = end ? BASE + 4096 : BASE + 32768;
        f.after = end ? BASE + 8192 : BASE + 36864;
        f.end = end ? BASE + 8192 : BASE + 36864;
        count(&f, bucket(&f, CODE + 0x11), 2, 1, 500);
        struct go_heaps *g = follow(&f, true);
        take(g, &f);
        CHECK_SUM(f, 2, 1000, 1, 500);
        go_heaps_free(&g);
    }
}

TEST(go_heaps_follow_changes)
{
    start(&f);
    u64 old = bucket(&f, CODE + 0x10);
    count(&f, old, 10, 4, 100);
    struct go_heaps *g = follow(&f, false);
    take(g, &f);
    CHECK_SUM(f, 0, 0, 6, 600); /* what was allocated before does not count, but is in use */
    count(&f, old, 12, 10, 100);
    count(&f, bucket(&f, CODE + 0x20), 3, 0, 10);
    take(g, &f);
    CHECK_SUM(f, 5, 230, (u64)-4 + 3, (u64)-400 + 30);
    go_heaps_begin(g);
    take(g, &f);
    CHECK_SUM(f, 0, 0, 5, 230); /* all that is in use, once in each interval */
    go_heaps_free(&g);
}

TEST(go_heaps_are_scaled_as_go_does)
{
    start(&f);
    put(&f, RATE, 512 << 10);
    count(&f, bucket(&f, CODE), 2, 1, 1024);
    struct go_heaps *g = follow(&f, true);
    take(g, &f);
    CHECK_SUM(f, 1025, 1049600, 512, 524800); /* 1 / (1 - exp(-1 / 512)) is 512.5002 */
    go_heaps_free(&g);
}

TEST(go_heaps_wait_for_the_end_of_a_collection)
{
    start(&f);
    u64 record = bucket(&f, CODE);
    count(&f, record + 32, 1, 0, 8); /* cycles 0, 1 and 2 to come */
    count(&f, record + 64, 10, 0, 8);
    count(&f, record + 96, 100, 0, 8);
    struct go_heaps *g = follow(&f, true);
    take(g, &f);
    CHECK_SUM(f, 111, 888, 111, 888); /* there was none so far: all of them count */
    go_heaps_free(&g);
    count(&f, record, 1000, 0, 8);
    put(&f, CYCLE, 1 | 4 << 1); /* cycle 4 was added already */
    g = follow(&f, true);
    take(g, &f);
    CHECK_SUM(f, 1000, 8000, 1000, 8000);
    go_heaps_free(&g);
    put(&f, CYCLE, 4 << 1); /* not yet: cycle 4 is the second one of three */
    g = follow(&f, true);
    take(g, &f);
    CHECK_SUM(f, 1010, 8080, 1010, 8080);
    go_heaps_free(&g);
}

TEST(go_heaps_outlive_their_programs_until_the_interval_ends)
{
    start(&f);
    count(&f, bucket(&f, CODE), 10, 4, 100);
    struct go_heaps *g = follow(&f, true);
    go_heaps_look(g, true);
    f.gone = true;
    take(g, &f);
    CHECK_SUM(f, 10, 1000, 6, 600);
    go_heaps_leave(g, TGID);
    take(g, &f);
    CHECK_EQ(f.samples, 0);
    go_heaps_begin(g);
    take(g, &f);
    CHECK_EQ(f.samples, 0); /* it holds nothing any more */
    go_heaps_free(&g);
}

/* A program may have written anything there. */
TEST(go_heaps_end_at_what_is_no_bucket)
{
    start(&f);
    u64 record = bucket(&f, CODE);
    count(&f, record, 1, 0, 8);
    u64 at = record - 64;
    struct go_heaps *g = follow(&f, true);
    const u64 wrong[][2] = {{at + 8, at}, {at + 8, 3},        {at + 8, 16},
                            {at + 16, 2}, {at + 40, 1 << 20}, {at + 40, ~0ull}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) { /* the first one is a circle */
        u64 right = get(&f, wrong[i][0]);
        put(&f, wrong[i][0], wrong[i][1]);
        take(g, &f);
        CHECK_EQ(f.samples, 0);
        put(&f, wrong[i][0], right);
    }
    take(g, &f);
    CHECK_SUM(f, 1, 8, 1, 8);
    go_heaps_free(&g);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

enum { LIMIT = 16384, PROGRAMS = 32 };

static u64 shown(struct go_heaps *g)
{
    go_heaps_begin(g);
    take(g, &f);
    return f.samples;
}

/* Their tables are the same, so each one has as much. */
TEST(go_heaps_of_a_container_leave_room_for_others)
{
    start(&f);
    for (u64 i = 0; i < 4; i++)
        count(&f, bucket(&f, CODE + i), 1, 0, 8);
    struct go_heaps *g = start_with(&f, true, LIMIT, NULL);
    for (u32 i = 0; i < PROGRAMS; i++)
        follow_one(g, 1000 + i, CGROUP);
    u64 first = shown(g), refused = f.refused;
    CHECK(first >= 4 && first < (u64)4 * PROGRAMS && first % 4 == 0);
    CHECK_EQ(refused, PROGRAMS - first / 4);
    CHECK_EQ(shown(g), first);
    CHECK_EQ(f.refused, refused); /* each is counted once */
    follow_one(g, TGID, CGROUP + 1);
    CHECK_EQ(shown(g), first + 4);
    CHECK_EQ(f.refused, refused);
    for (u32 i = 0; i < PROGRAMS; i++)
        go_heaps_leave(g, 1000 + i);
    CHECK_EQ(shown(g), 4);
    for (u32 i = 0; i < PROGRAMS; i++)
        follow_one(g, 2000 + i, CGROUP); /* there is room again */
    CHECK(shown(g) > first / 2);
    go_heaps_free(&g);
}

/* How many buckets are shown before there is no room for one more. `depth`: of their stacks. */
static u64 buckets_shown(u64 depth)
{
    start(&f);
    struct go_heaps *g = start_with(&f, true, LIMIT, NULL);
    follow_one(g, TGID, CGROUP);
    u64 n = 0, last = 0, before = 0;
    for (; n < SIZE / 256 - 32 && !f.refused; n++) {
        u64 record = bucket(&f, CODE);
        put(&f, record - 24, depth);
        count(&f, record - 16 + 8 * depth, 1, 0, 8);
        before = last;
        last = shown(g);
    }
    bool kept = last == n - 1 && before == last && shown(g) == last; /* what was read before is still shown */
    go_heaps_free(&g);
    return f.refused == 1 && kept ? last : 0;
}

/* Stacks without a word are not free, nor is what has been shown of them. */
TEST(go_heaps_are_charged_for_all_that_is_kept)
{
    for (u64 depth = 0; depth <= 8; depth += 8) {
        u64 size = sizeof(struct go_bucket) + 8 * depth + 2 * sizeof(struct xp_amount), n = buckets_shown(depth);
        CHECK(n * size > LIMIT / 2 && n * size < LIMIT);
    }
}

/* A process may map any number of them. */
TEST(go_heaps_follow_so_many_programs_at_most)
{
    start(&f);
    struct go_heaps *g = start_with(&f, true, LIMIT, NULL);
    for (u32 i = 0; i < 10 * PROGRAMS; i++)
        follow_one(g, 1000 + i, CGROUP);
    u64 refused = f.refused;
    CHECK(refused > 0 && refused < 10 * PROGRAMS);
    follow_one(g, TGID, CGROUP + 1);
    CHECK_EQ(f.refused, refused);
    go_heaps_free(&g);
}

/* A record of many short programs may have no end of an interval for long. */
TEST(go_heaps_of_programs_that_ended_take_no_room)
{
    start(&f);
    count(&f, bucket(&f, CODE), 1, 0, 8);
    struct go_heaps *g = start_with(&f, true, LIMIT, NULL);
    for (u32 i = 0; i < 2 * PROGRAMS; i++) {
        follow_one(g, 1000 + i, CGROUP);
        take(g, &f);
        CHECK_SUM(f, 1, 8, 1, 8);
        go_heaps_leave(g, 1000 + i);
    }
    CHECK_EQ(f.refused, 0);
    go_heaps_free(&g);
}

/* Each attempt costs seconds, and a child. */
TEST(go_heaps_leave_memory_alone_that_does_not_answer)
{
    struct hung *hung = NULL;
    start(&f);
    count(&f, bucket(&f, CODE), 1, 0, 8);
    CHECK_EQ(hung_new(&hung), 0);
    struct go_heaps *g = start_with(&f, true, GO_HEAPS_BYTES, hung);
    follow_one(g, TGID, CGROUP);
    f.hangs = true;
    for (int i = 0; i < 3; i++)
        take(g, &f);
    CHECK_EQ(f.reads, 1);
    CHECK_EQ(hung_places(hung, now_ns()), 1);
    f.hangs = false;
    follow_one(g, TGID + 1, CGROUP + 1); /* others are read */
    take(g, &f);
    CHECK_SUM(f, 1, 8, 1, 8);
    CHECK_EQ(f.refused, 0);
    go_heaps_free(&g);
    hung_free(&hung);
    f.hangs = true;
    f.reads = 0;
    g = follow(&f, true);
    take(g, &f); /* nobody remembers: once per look all the same */
    CHECK_EQ(f.reads, 1);
    go_heaps_free(&g);
}

TEST(go_heaps_do_not_wait_for_slow_memory)
{
    start(&f);
    f.end = BASE + 32768; /* not beside the pointer to it */
    count(&f, bucket(&f, CODE), 1, 0, 8);
    struct go_heaps *g = follow(&f, true);
    f.slow_us = 210000;
    take(g, &f);
    CHECK_EQ(f.reads, 1);
    CHECK(f.refused == 1 && !f.samples);
    f.slow_us = 0;
    take(g, &f);
    CHECK_SUM(f, 1, 8, 1, 8);
    go_heaps_free(&g);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

struct reader {
    struct go_heaps *g;
    bool done; /* atomic */
};

static void *read_them(void *arg)
{
    struct reader *r = arg;
    for (u32 i = 0; i < 1000; i++) {
        follow_one(r->g, i, CGROUP);
        go_heaps_look(r->g, true);
        go_heaps_leave(r->g, i);
    }
    __atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
    return NULL;
}

/* For make race: the list shrinks while it is searched. */
TEST(go_heaps_are_taken_while_programs_come_and_go)
{
    pthread_t thread;
    start(&f);
    count(&f, bucket(&f, CODE), 1, 0, 8);
    struct reader r = {.g = start_with(&f, true, GO_HEAPS_BYTES, NULL)};
    CHECK_EQ(pthread_create(&thread, NULL, read_them, &r), 0);
    while (!__atomic_load_n(&r.done, __ATOMIC_ACQUIRE)) {
        go_heaps_take(r.g, use, &f);
        go_heaps_begin(r.g);
    }
    pthread_join(thread, NULL);
    go_heaps_take(r.g, use, &f); /* those that ended after the last time */
    take(r.g, &f);
    CHECK(!f.samples && !f.refused);
    go_heaps_free(&r.g);
}
