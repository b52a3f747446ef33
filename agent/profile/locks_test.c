/* Locks by name: frames, labels, and waits that are for something else; named at once or later. */
#include "profile/locks.h"
#include "base/cleanup.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"
#include "profile/frames.h"
#include "profile/lock_kinds.h"
#include "profile/recorded.h"
#include "profile/subset.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))
#define SCHEDULE     W_KERNEL(0x200010)
#define WAITS_LEAF   W_LEAF(2, 0x3010), W(2, 0x1010)
#define CONDITION    W_LEAF(2, 0x4010), W(2, 0x1010)
#define GIL          W_LEAF(2, 0x4010), W(2, 0x5010), W(2, 0x1010)
#define HOLDER       (u64) XP_WORD_NAME << 60 | 0x72657469727720ull >> 8, (u64)XP_WORD_NAME << 60, (u64)XP_WORD_NAME << 60
#define KERNEL_LOCK  W_LOCK_AT(XP_LOCK_KERNEL, 0xff888101230000ull)

/* Weights are powers of two, so that sums say what they are of. */
static const struct fixture_sample LOCKS[] = {
    {"a", 20, 0, XP_CAUSE_END, 1, 3, 2, {W_LOCKED(2), W_LOCK(2, 0x9000), SCHEDULE, WAITS_LEAF}},
    {"a", 20, 0, XP_CAUSE_END, 2, 6, 2, {W_LOCKED(5), W_LOCK(2, 0x9118), HOLDER, SCHEDULE, WAITS_LEAF}},
    {"a", 20, 0, XP_CAUSE_END, 4, 2, 2, {W_LOCKED(2), W_LOCK(3, 0x3040), WAITS_LEAF}},
    {"a", 20, 0, XP_CAUSE_END, 8, 2, 2, {W_LOCKED(2), W_LOCK(4, 0x3040), WAITS_LEAF}},
    {"a", 20, 0, XP_CAUSE_END, 16, 2, 2, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x55d0c0a2b0), WAITS_LEAF}},
    {"a", 20, 0, XP_CAUSE_END, 32, 2, 2, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x55d0c0a2f0), WAITS_LEAF}},
    {"a", 20, 0, XP_CAUSE_END, 64, 2, 2, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_STACK, 0x7ffd10), WAITS_LEAF}},
    {"a", 20, 0, XP_CAUSE_END, 128, 2, 2, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_SHARED, 0x7fff10), WAITS_LEAF}},
    {"a", 20, 0, XP_CAUSE_END, 256, 3, 2, {W_LOCKED(2), KERNEL_LOCK, SCHEDULE, CONDITION}},
    {"a", 20, 0, XP_CAUSE_END, 512, 3, 2, {W_LOCKED(2), W_LOCK(2, 0x9000), SCHEDULE, CONDITION}},
    {"a", 20, 0, XP_CAUSE_END, 1024, 2, 2, {W_WAIT(0), SCHEDULE, CONDITION}},
    {"c", 40, 0, XP_CAUSE_END, 3, 2, 3, {W_LOCKED(2), W_LOCK(2, 0x9200), GIL}},
    {"c", 40, 0, XP_CAUSE_END, 4, 2, 3, {W_LOCKED(2), W_LOCK(2, 0x9204), GIL}},
    {"c", 40, 0, XP_CAUSE_END, 5, 2, 2, {W_LOCKED(2), W_LOCK(2, 0x9204), WAITS_LEAF}},
    {"b", 30, 0, XP_CAUSE_END, 2048, 2, 2, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x55d0c0a2b0), WAITS_LEAF}},
};

static const char SHOWN[] =
    "a;main;leaf;[lock: broken+0x3040] 8\n"
    "a;main;leaf;[lock: heap] 48\n"
    "a;main;leaf;[lock: libplain.so.1+0x4040] 4\n"
    "a;main;leaf;[lock: shared] 128\n"
    "a;main;leaf;[lock: stack] 64\n"
    "a;main;leaf;schedule_[k];[lock: counter_lock] 1\n"
    "a;main;leaf;schedule_[k];[lock: table+0x18] 2\n"
    "a;main;pthread_cond_wait;schedule_[k];[lock: kernel in schedule] 256\n"
    "a;main;pthread_cond_wait;schedule_[k];[other] 1024\n"
    "b;main;leaf;[lock: heap] 2048\n"
    "c;main;leaf;[lock: table+0x104] 5\n"
    "c;main;take_gil;pthread_cond_wait;[lock: GIL] 7\n";

static void check_shown(const struct profile *p)
{
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("collapsed")->encode(p, &b), 0);
    buf_char(&b, 0);
    CHECK_STR(b.data, SHOWN);
}

/* "VALUE LABEL HOLDER\n" of each stack with a lock, by value. */
static void labels(const struct profile *p, struct buf *out)
{
    for (u64 value = 1; value <= 2048; value *= 2)
        for (size_t i = 0; i < p->stacks.n; i++) {
            const struct prof_stack *s = &p->stacks.v[i];
            const struct prof_location *lock = stack_lock(p, s);
            if (s->value[0] != value || !lock)
                continue;
            buf_printf(out, "%llu ", (unsigned long long)value);
            lock_label(p, lock, out);
            buf_printf(out, "%s%s\n", s->holder ? " " : "", profile_text(p, s->holder));
        }
    buf_char(out, 0);
}

static const char LABELS[] =
    "1 counter_lock (demo)\n"
    "2 table+0x18 (demo) writer\n"
    "4 libplain.so.1+0x4040\n"
    "4 GIL (demo)\n"
    "8 broken+0x3040\n"
    "16 heap 0x55d0c0a2b0\n"
    "32 heap 0x55d0c0a2f0\n"
    "64 stack 0x7ffd10\n"
    "128 shared 0x7fff10\n"
    "256 kernel in schedule 0xffff888101230000\n"
    "2048 heap 0x55d0c0a2b0\n";

static void check_labels(const struct profile *p)
{
    AUTO_BUF struct buf b = {0};
    labels(p, &b);
    CHECK_STR(b.data, LABELS);
}

TEST(locks_are_the_leaves_of_their_stacks)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(LOCKS, COUNT(LOCKS), &p), 0);
    check_shown(&p);
    check_labels(&p);
}

TEST(locks_in_all_formats)
{
    static const char *const formats[] = {"svg", "speedscope", "text", "top"};
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(LOCKS, COUNT(LOCKS), &p), 0);
    for (size_t i = 0; i < COUNT(formats); i++) {
        AUTO_BUF struct buf b = {0};
        const struct encoder *e = encoder_by_name(formats[i]);
        if (!e)
            continue;
        CHECK_EQ(e->encode(&p, &b), 0);
        buf_char(&b, 0);
        if (!strstr(b.data, "heap]"))
            test_fail(__FILE__, __LINE__, "%s: %s", formats[i], b.data);
    }
}

/* A wait that is not for a lock is left out where it counts as one, and only there. */
TEST(locks_leave_out_what_is_none)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(LOCKS, COUNT(LOCKS), &p), 0);
    CHECK_EQ(p.left_out.count, 1);
    CHECK_EQ(p.left_out.value, 512);
    CHECK_EQ(p.stacks.n, COUNT(LOCKS) - 1);
    CHECK_EQ(locks_judge(&p, false), 0);
    CHECK_EQ(p.left_out.count, 1);
}

/* Of a wait that was too short for its stack, others for the same lock tell what it was for. */
TEST(locks_judge_waits_without_a_stack_by_others)
{
    static const struct fixture_sample waits[] = {
        {"a", 20, 0, XP_CAUSE_END, 1, 2, 2, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x100), WAITS_LEAF}},
        {"a", 20, 0, XP_CAUSE_NOT_TAKEN, 2, 2, 0, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x100)}},
        {"a", 20, 0, XP_CAUSE_END, 4, 2, 2, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x200), CONDITION}},
        {"a", 20, 0, XP_CAUSE_NOT_TAKEN, 8, 2, 0, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x200)}},
        {"a", 20, 0, XP_CAUSE_NOT_TAKEN, 16, 2, 0, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x300)}}, /* nobody knows */
        {"a", 20, 0, XP_CAUSE_NOT_WANTED, 32, 2, 0, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x400)}},
    };
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(waits, COUNT(waits), &p), 0);
    u64 kept = 0;
    for (size_t i = 0; i < p.stacks.n; i++)
        kept += p.stacks.v[i].value[0];
    CHECK_EQ(kept, 1 + 2 + 32);
    CHECK_EQ(p.left_out.value, 4 + 8 + 16);
}

/* Time of event loops and of pools goes on request; locks and sleeps stay. */
TEST(locks_hide_idle_threads)
{
    static const struct fixture_sample waits[] = {
        {"a", 20, 0, XP_CAUSE_END, 1, 3, 2, {W_WAIT(0), SCHEDULE, W_KERNEL(0x204010), WAITS_LEAF}},
        {"a", 20, 0, XP_CAUSE_END, 2, 3, 2, {W_WAIT(0), SCHEDULE, W_KERNEL(0x205010), CONDITION}},
        {"a", 20, 0, XP_CAUSE_END, 4, 3, 2, {W_WAIT(0), SCHEDULE, W_KERNEL(0x205010), WAITS_LEAF}},
        {"a", 20, 0, XP_CAUSE_END, 8, 3, 2, {W_WAIT(0), SCHEDULE, W_KERNEL(0x206010), WAITS_LEAF}},
        {"a", 20, 0, XP_CAUSE_END, 16, 1, 2, {SCHEDULE, WAITS_LEAF}}, /* no wait */
        {"a", 20, 0, XP_CAUSE_END, 32, 2, 2, {W_LOCKED(2), W_LOCK(2, 0x9000), WAITS_LEAF}},
    };
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(waits, COUNT(waits), &p), 0);
    CHECK_EQ(p.stacks.n, COUNT(waits));
    CHECK_EQ(locks_judge(&p, true), 0);
    CHECK_EQ(p.idle.count, 2);
    CHECK_EQ(p.idle.value, 1 + 2);
    CHECK_EQ(p.left_out.count, 0);
    CHECK_EQ(p.stacks.n, COUNT(waits) - 2);
}

/* Nothing of a file's lock is lost in a file of ours, named or not. */
static void read_again(const struct profile *p, struct profile *out, struct recorded *r)
{
    AUTO_BUF struct buf b = {0};
    char why[128];
    CHECK_EQ(encoder_by_name("pprof")->encode(p, &b), 0);
    CHECK_EQ(profile_init(out), 0);
    CHECK_EQ(recorded_read(b.data, b.len, out, r, why, sizeof(why)), 0);
}

TEST(locks_are_read_as_they_were_written)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_PROFILE struct profile q = {0};
    struct recorded r CLEANUP(recorded_free) = {0};
    CHECK_EQ(fixture_profile(LOCKS, COUNT(LOCKS), &p), 0);
    read_again(&p, &q, &r);
    check_shown(&q);
    check_labels(&q);
}

struct later {
    struct fixture_source fixture;
    const struct recorded *recorded;
};

static u32 number_of(const struct later *l, u32 id)
{
    static const char *const paths[] = {"/usr/bin/demo", "/usr/lib/libplain.so.1", "/tmp/broken"};
    for (u32 i = 0; i < COUNT(paths); i++)
        if (!strcmp(l->recorded->files.v[id - XP_FILE_FIRST].path, paths[i]))
            return i + 2;
    return 0;
}

static bool later_file(void *ctx, u32 id, const char **path, const char **build_id)
{
    struct later *l = ctx;
    return l->fixture.source.file(&l->fixture, number_of(l, id), path, build_id);
}

static int later_names(void *ctx, u32 id, const u64 *offsets, size_t n,
                       void (*use)(void *arg, const struct names *names), void *arg)
{
    struct later *l = ctx;
    return l->fixture.source.names(&l->fixture, number_of(l, id), offsets, n, use, arg);
}

static void take_raw(struct profile *out)
{
    CLEANUP(aggregate_free) struct aggregate *a = NULL;
    struct fixture_source f;
    fixture_source(&f);
    f.source.raw = true;
    f.source.names = NULL;
    CHECK_EQ(aggregate_new(&a, 1, 64 << 20), 0);
    for (size_t i = 0; i < COUNT(LOCKS); i++)
        CHECK_EQ(fixture_add(a, &LOCKS[i]), 0);
    CHECK_EQ(profile_init(out), 0);
    CHECK_EQ(symbolize(a, &f.source, out), 0);
    out->events[0] = event_kind_find("cpu");
    out->nevents = 1;
}

TEST(locks_are_named_later_as_at_once)
{
    AUTO_PROFILE struct profile raw = {0};
    AUTO_PROFILE struct profile p = {0};
    struct recorded r CLEANUP(recorded_free) = {0};
    struct later later = {.recorded = &r};
    AUTO_BUF struct buf b = {0};
    take_raw(&raw);
    CHECK_EQ(raw.left_out.count, 0);
    labels(&raw, &b);
    CHECK(strstr(b.data, "1 demo+0x9000\n") && strstr(b.data, "2 demo+0x9118 writer\n"));
    read_again(&raw, &p, &r);
    fixture_source(&later.fixture);
    CHECK_EQ(recorded_name(&p, &r, &(struct name_source){.ctx = &later, .file = later_file, .names = later_names}), 0);
    check_shown(&p);
    check_labels(&p);
    CHECK_EQ(p.left_out.count, 1);
    CHECK_EQ(p.left_out.value, 512);
}

TEST(locks_of_a_part_keep_their_labels)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_PROFILE struct profile part = {0};
    u32 rows[COUNT(LOCKS)];
    CHECK_EQ(fixture_profile(LOCKS, COUNT(LOCKS), &p), 0);
    for (u32 i = 0; i < p.stacks.n; i++)
        rows[i] = i;
    CHECK_EQ(profile_init(&part), 0);
    CHECK_EQ(profile_subset(&p, &(struct subset){.stacks = rows, .n = p.stacks.n}, &part), 0);
    check_labels(&part);
}
