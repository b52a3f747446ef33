#include "profile/aggregate.h"
#include "base/cleanup.h"
#include "profile/fixture_test.h"
#include <errno.h>

#define EVENTS         4
#define AUTO_AGGREGATE __attribute__((cleanup(aggregate_free)))

static const struct fixture_sample PLAIN = {"demo", 20, 0, XP_CAUSE_END,
                                            5,      1,  2, {W_KERNEL(0x10), W_LEAF(2, 0x3000), W(2, 0x1000)}};

static struct aggregate *make(size_t bytes)
{
    struct aggregate *a = NULL;
    return aggregate_new(&a, EVENTS, bytes) ? NULL : a;
}

TEST(aggregate_counts_equal_stacks_once)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20);
    struct fixture_sample s = PLAIN;
    CHECK_EQ(fixture_add(a, &s), 0);
    s.weight = 7;
    CHECK_EQ(fixture_add(a, &s), 0);
    s.event = 3;
    CHECK_EQ(fixture_add(a, &s), 0);
    size_t n, np;
    const struct agg_stack *stacks = aggregate_stacks(a, &n);
    const struct agg_process *processes = aggregate_processes(a, &np);
    CHECK_EQ(n, 2); /* of two events */
    CHECK_EQ(np, 1);
    CHECK_STR(processes[0].comm, "demo");
    CHECK_EQ(processes[0].start, 20000);
    CHECK_EQ(stacks[0].values[0].count, 2);
    CHECK_EQ(stacks[0].values[0].value, 12);
    CHECK(stacks[1].event == 3 && stacks[1].nvalues == 1);
    CHECK_EQ(stacks[1].values[0].count, 1);
    CHECK_EQ(stacks[1].values[0].value, 7);
    CHECK_EQ(stacks[0].nkernel, 1);
    CHECK(!memcmp(stacks[0].words, PLAIN.words, 3 * sizeof(u64)));
}

TEST(aggregate_tells_stacks_apart)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20);
    struct fixture_sample s = PLAIN;
    fixture_add(a, &s);
    s.cause = XP_CAUSE_NO_RULE; /* the same words, another ending */
    fixture_add(a, &s);
    s.tgid = 21; /* another process */
    fixture_add(a, &s);
    s.comm = "renamed"; /* an exec */
    fixture_add(a, &s);
    s.nuser = 1; /* a prefix */
    fixture_add(a, &s);
    s.words[1] ^= XP_WORD_EXACT;
    fixture_add(a, &s);
    size_t n, np;
    aggregate_stacks(a, &n);
    aggregate_processes(a, &np);
    CHECK_EQ(n, 6);
    CHECK_EQ(np, 3);
}

/* By their numbers, where the kernel side says both. */
TEST(aggregate_tells_threads_apart)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20);
    AUTO_AGGREGATE struct aggregate *b = make(1 << 20);
    struct xp_sample s = {.count = 1, .weight = 1, .tgid = 20, .cause = XP_CAUSE_KTHREAD, .comm = "demo"};
    for (u32 tid = 21; tid < 24; tid++) {
        s.tid = tid;
        CHECK_EQ(aggregate_add(a, &s), 0);
    }
    size_t n;
    const struct agg_stack *stacks = aggregate_stacks(a, &n);
    CHECK(n == 1 && !aggregate_thread(a, stacks[0].thread)->tid);
    for (u32 tid = 21; tid < 24; tid++) {
        s.tid = tid;
        s.nstid = tid - 20;
        CHECK_EQ(aggregate_add(a, &s), 0);
        CHECK_EQ(aggregate_add(a, &s), 0);
    }
    CHECK_EQ(aggregate_merge(b, a), 0);
    stacks = aggregate_stacks(b, &n);
    CHECK_EQ(n, 4);
    const struct agg_thread *last = aggregate_thread(b, stacks[3].thread);
    CHECK(last->tid == 23 && last->nstid == 3 && stacks[3].values[0].count == 2);
}

static int add_at(struct aggregate *a, u64 time, u8 event)
{
    struct {
        struct xp_sample s;
        u64 word;
    } r = {.s = {.type = XP_RECORD_SAMPLE, .time = time, .weight = 5, .count = 1, .start = 1, .tgid = 20, .tid = 21},
           .word = W_LEAF(2, 0x3000)};
    r.s.nuser = 1;
    r.s.event = event;
    snprintf(r.s.comm, sizeof(r.s.comm), "demo");
    return aggregate_add(a, &r.s);
}

TEST(aggregate_keeps_samples_apart_by_their_times_if_asked_to)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20), *b = make(1 << 20);
    size_t n;
    aggregate_keep_times(a, 1u << 1);
    for (u64 time = 100; time < 103; time++) {
        CHECK_EQ(add_at(a, time, 1), 0);
        CHECK_EQ(add_at(a, time, 2), 0);
    }
    CHECK_EQ(aggregate_merge(b, a), 0); /* as they are */
    const struct agg_stack *stacks = aggregate_stacks(b, &n);
    CHECK_EQ(n, 4);
    CHECK_EQ(aggregate_thread(b, stacks[0].thread)->time, 100);
    CHECK_EQ(aggregate_thread(b, stacks[0].thread)->tid, 21);
    CHECK(!aggregate_thread(b, stacks[1].thread)->time && stacks[1].values[0].count == 3);
}

TEST(aggregate_ignores_bytes_behind_comm)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20);
    struct xp_sample s = {.comm = "sh\0junk"};
    CHECK_EQ(aggregate_add(a, &s), 0);
    memcpy(s.comm, "sh\0other", 8);
    CHECK_EQ(aggregate_add(a, &s), 0);
    memcpy(s.comm, "sixteen bytes...", 16); /* no NUL at all */
    CHECK_EQ(aggregate_add(a, &s), 0);
    size_t np;
    const struct agg_process *p = aggregate_processes(a, &np);
    CHECK_EQ(np, 2);
    CHECK_STR(p[1].comm, "sixteen bytes...");
}

TEST(aggregate_checks_samples)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20);
    static const struct {
        unsigned nkernel, nuser;
        u8 event, cause;
        u64 words[2];
    } bad[] = {
        {XP_MAX_KERNEL + 1, 0, 0, 0, {0}},
        {0, XP_MAX_USER + 1, 0, 0, {0}},
        {0, 0, EVENTS, 0, {0}},
        {0, 0, 0, XP_CAUSE_COUNT, {0}},
        {0, 1, 0, 0, {XP_FILE_WORD(XP_WORD_TOLD + 1ull, 2, 0)}},
        {0, 1, 0, 0, {W_KERNEL(0)}},
        {1, 0, 0, 0, {W(2, 0)}},
        {1, 1, 0, 0, {W_KERNEL(0), XP_FILE_WORD(14ull, 2, 0)}},
    };
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 2 * sizeof(u64) * XP_MAX_USER);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (size_t k = 0; k < 2 * XP_MAX_USER; k++) /* all right but for what the row says */
            s->words[k] = k < bad[i].nkernel ? W_KERNEL(0) : W(2, 0);
        s->nkernel = (u16)bad[i].nkernel;
        s->nuser = (u16)bad[i].nuser;
        s->event = bad[i].event;
        s->cause = bad[i].cause;
        for (size_t k = 0; k < 2 && bad[i].words[k]; k++)
            s->words[k] = bad[i].words[k];
        CHECK_EQ(aggregate_add(a, s), -EBADMSG);
    }
    size_t n;
    aggregate_stacks(a, &n);
    CHECK_EQ(n, 0);
    CHECK_EQ(aggregate_dropped(a), 8);
}

/* Distinct stacks of `depth` words. */
static int add_unique(struct aggregate *a, u64 number, unsigned depth)
{
    struct fixture_sample s = {"many", 30 + (u32)(number % 100), 0, XP_CAUSE_END, 1, 0, depth, {0}};
    for (unsigned i = 0; i < depth; i++)
        s.words[i] = W(2, i ? i * 16 : number);
    return fixture_add(a, &s);
}

TEST(aggregate_keeps_many_stacks_and_their_words)
{
    AUTO_AGGREGATE struct aggregate *a = make(64 << 20);
    for (unsigned round = 0; round < 2; round++)
        for (u64 i = 0; i < 20000; i++)
            CHECK_EQ(add_unique(a, i, 1 + i % 30), 0);
    size_t n;
    const struct agg_stack *s = aggregate_stacks(a, &n);
    CHECK_EQ(n, 20000);
    for (u64 i = 0; i < n; i++) {
        CHECK_EQ(s[i].words[0], W(2, i));
        CHECK_EQ(s[i].values[0].count, 2);
    }
}

/* A stack pays for the values of its own event only. */
TEST(aggregate_has_the_values_of_an_event)
{
    enum { MANY = 20000, DEPTH = 30 };
    size_t bytes[XP_MAX_VALUES + 1];
    for (size_t nvalues = 1; nvalues <= XP_MAX_VALUES; nvalues++) {
        AUTO_AGGREGATE struct aggregate *a = NULL;
        CHECK_EQ(aggregate_new(&a, XP_MAX_EVENTS, 64 << 20), 0);
        CHECK_EQ(aggregate_events(a), XP_MAX_EVENTS);
        aggregate_widen(a, 0, nvalues, nvalues);
        for (u64 i = 0; i < MANY; i++)
            CHECK_EQ(add_unique(a, i, DEPTH), 0);
        bytes[nvalues] = aggregate_bytes(a);
    }
    CHECK(bytes[1] < MANY * (DEPTH * sizeof(u64) + 96));
    CHECK(bytes[4] - bytes[1] > MANY * 2 * sizeof(struct xp_amount));
    CHECK(bytes[4] - bytes[1] < MANY * 4 * sizeof(struct xp_amount));
}

TEST(aggregate_adds_all_values_of_an_event)
{
    AUTO_AGGREGATE struct aggregate *a = NULL, *more = NULL;
    struct aggregate **const both[] = {&a, &more};
    const struct xp_amount values[] = {{1, 10}, {2, 20}, {3, 30}, {4, 40}};
    const u64 words[] = {W_LEAF(2, 7)};
    struct xp_sample *s = calloc(1, sizeof(*s) + sizeof(words));
    s->nuser = 1;
    s->event = 1;
    memcpy(s->words, words, sizeof(words));
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(aggregate_new(both[i], 2, 1 << 20), 0);
        aggregate_widen(*both[i], 1, 3, 2);
        CHECK_EQ(aggregate_add_values(*both[i], s, values, 4), 0);
    }
    CHECK_EQ(aggregate_merge(a, more), 0);
    size_t n;
    const struct agg_stack *k = aggregate_stacks(a, &n);
    CHECK(n == 1 && k[0].nvalues == 3 && k[0].event == 1);
    CHECK(k[0].values[0].count == 2 && k[0].values[2].count == 6 && k[0].values[2].value == 60);
    CHECK_EQ(agg_count(k), 6); /* the third one is a level */
    free(s);
}

TEST(aggregate_is_bounded)
{
    const size_t bytes = 2 << 20;
    AUTO_AGGREGATE struct aggregate *a = make(bytes);
    u64 kept = 0, dropped = 0;
    for (u64 i = 0; i < 20000; i++)
        *(add_unique(a, i, 30) ? &dropped : &kept) += 1;
    CHECK(aggregate_bytes(a) <= bytes);
    CHECK(dropped > 0);
    CHECK(kept * 30 * sizeof(u64) > bytes / 3); /* not most of it wasted */
    CHECK_EQ(aggregate_dropped(a), dropped);
    CHECK_EQ(add_unique(a, 0, 30), 0); /* stacks that it knows still count */
    AUTO_AGGREGATE struct aggregate *none = make(0);
    CHECK_EQ(add_unique(none, 0, 30), -ENOSPC);
    CHECK_EQ(aggregate_dropped(none), 1);
}

/* A stack of a cgroup's process that no other one has. */
static int add_of(struct aggregate *a, u64 cgroup, u32 tgid, u64 number)
{
    struct {
        struct xp_sample s;
        u64 words[30];
    } x = {.s = {.cgroup = cgroup, .tgid = tgid, .nuser = 30, .cause = XP_CAUSE_END, .count = 1, .weight = 1}};
    for (unsigned i = 0; i < 30; i++)
        x.words[i] = W(2, i ? i * 16 : number);
    return aggregate_add(a, &x.s);
}

/* Those of one cgroup, whether of one process or of a new one each, leave room for those of others; also in a merge. */
TEST(aggregate_has_shares)
{
    enum { HOG = 7, VICTIM, THIRD, MANY = 20000, FEW = 300 };
    for (u32 processes = 1; processes <= MANY; processes *= MANY) {
        AUTO_AGGREGATE struct aggregate *a = make(2 << 20);
        AUTO_AGGREGATE struct aggregate *b = make(2 << 20);
        aggregate_share(a);
        u64 kept = 0;
        for (u32 i = 0; i < MANY; i++)
            kept += !add_of(a, HOG, 1 + i % processes, i);
        CHECK(kept * 30 * sizeof(u64) > (2 << 20) / 3);
        for (u32 i = 0; i < FEW; i++) {
            CHECK_EQ(add_of(a, VICTIM, 2, i), 0);
            CHECK_EQ(add_of(b, THIRD, 3, i), 0);
        }
        CHECK_EQ(add_of(a, HOG, 1, 0), 0); /* known ones count */
        CHECK_EQ(add_of(a, HOG, 1, MANY), -ENOSPC);
        CHECK_EQ(aggregate_merge(a, b), 0);
        CHECK_EQ(aggregate_dropped(a), MANY - kept + 1);
        CHECK_EQ(aggregate_merge(b, a), 0); /* b has no shares, a is empty */
        CHECK_EQ(add_of(a, HOG, 1, MANY), 0);
    }
}

TEST(aggregate_merges)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20);
    AUTO_AGGREGATE struct aggregate *b = make(1 << 20);
    struct fixture_sample s = PLAIN, other = PLAIN;
    other.comm = "other";
    fixture_add(a, &s);
    fixture_add(b, &other); /* so that the process has another row there */
    fixture_add(b, &s);
    CHECK_EQ(aggregate_merge(a, b), 0);
    size_t n, np;
    const struct agg_stack *stacks = aggregate_stacks(a, &n);
    const struct agg_process *processes = aggregate_processes(a, &np);
    CHECK_EQ(n, 2);
    CHECK_EQ(np, 2);
    CHECK_EQ(stacks[0].values[0].count, 2);
    CHECK_EQ(stacks[0].values[0].value, 10);
    CHECK_STR(processes[stacks[1].process].comm, "other");
    aggregate_stacks(b, &n);
    CHECK_EQ(n, 0);
    CHECK_EQ(aggregate_bytes(b), 0);
    CHECK_EQ(fixture_add(b, &s), 0); /* and it can be used again */
}

TEST(aggregate_tells_threads_apart_by_name)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20);
    AUTO_AGGREGATE struct aggregate *b = make(1 << 20);
    struct fixture_sample one = PLAIN, two = PLAIN, none = PLAIN;
    one.comm = "demo@one";
    two.comm = "demo@two";
    fixture_add(a, &none);
    fixture_add(a, &one);
    fixture_add(b, &two); /* so that the name has another row there */
    fixture_add(b, &one);
    CHECK_EQ(aggregate_merge(a, b), 0);
    size_t n, np;
    const struct agg_stack *stacks = aggregate_stacks(a, &n);
    aggregate_processes(a, &np);
    CHECK(n == 3 && np == 1);
    CHECK_STR(aggregate_thread(a, stacks[0].thread)->name, "");
    CHECK_STR(aggregate_thread(a, stacks[1].thread)->name, "one");
    CHECK_STR(aggregate_thread(a, stacks[2].thread)->name, "two");
    CHECK(stacks[1].values[0].count == 2 && stacks[2].values[0].count == 1);
}

TEST(aggregate_merge_counts_what_does_not_fit)
{
    AUTO_AGGREGATE struct aggregate *small = make(0);
    AUTO_AGGREGATE struct aggregate *b = make(1 << 20);
    for (unsigned i = 0; i < 3; i++)
        fixture_add(b, &PLAIN);
    CHECK_EQ(aggregate_merge(small, b), -ENOSPC);
    CHECK_EQ(aggregate_dropped(small), 3);
}

static u8 cut_if_alone(void *ctx, const struct agg_stack *s)
{
    ++*(int *)ctx;
    return s->values[0].count > 1 ? s->cause : XP_CAUSE_NO_RULE;
}

/* Each stack is asked about once, and has what is said of it; its counts stay. */
TEST(aggregate_causes_can_be_decided_in_the_end)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20);
    struct fixture_sample s = PLAIN;
    int asked = 0;
    size_t n;
    fixture_add(a, &s);
    fixture_add(a, &s);
    s.tgid = 21;
    fixture_add(a, &s);
    aggregate_reclassify(a, cut_if_alone, &asked);
    const struct agg_stack *stacks = aggregate_stacks(a, &n);
    CHECK(n == 2 && asked == 2);
    CHECK(stacks[0].cause == XP_CAUSE_END && stacks[0].values[0].count == 2);
    CHECK(stacks[1].cause == XP_CAUSE_NO_RULE && stacks[1].values[0].count == 1);
}

/* What was merged away leaves an empty one behind, which can be used again and owes nothing. */
TEST(aggregate_is_empty_after_a_merge)
{
    AUTO_AGGREGATE struct aggregate *a = make(1 << 20), *b = make(1 << 20), *small = make(1);
    struct fixture_sample s = PLAIN;
    size_t n;
    CHECK_EQ(fixture_add(a, &s), 0);
    CHECK_EQ(fixture_add(small, &s), -ENOSPC);
    CHECK_EQ(aggregate_dropped(small), 1);
    CHECK_EQ(aggregate_merge(b, small), 0);
    CHECK(aggregate_dropped(b) == 1 && aggregate_dropped(small) == 0);
    CHECK_EQ(aggregate_merge(b, a), 0);
    aggregate_stacks(a, &n);
    CHECK_EQ(n, 0);
    aggregate_processes(a, &n);
    CHECK_EQ(n, 0);
    s.weight = 9;
    CHECK_EQ(fixture_add(a, &s), 0);
    const struct agg_stack *stacks = aggregate_stacks(a, &n);
    CHECK(n == 1 && stacks[0].values[0].value == 9);
    CHECK_EQ(aggregate_merge(b, a), 0);
    stacks = aggregate_stacks(b, &n);
    CHECK(n == 1 && stacks[0].values[0].value == 14 && stacks[0].values[0].count == 2);
    CHECK_EQ(aggregate_dropped(b), 1);
}
