#include "pipeline/waits.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "proc/proc.h"
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OFFCPU   3
#define RUNQUEUE 5
#define LOCK     6
#define WAKEUP   7
#define DEEP     (XP_MAX_KERNEL + 20)

static const struct wait_events EVENTS = {OFFCPU, RUNQUEUE, WAKEUP, LOCK, 0, 0, 0};

/* What waits_take passed on. */
struct seen {
    size_t n;
    struct xp_sample last;
    struct xp_amount values[XP_MAX_VALUES];
    size_t nvalues;
    u64 words[XP_MAX_REASON + XP_MAX_USER];
};

static void see(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
    struct seen *to = ctx;
    to->n++;
    to->last = *s;
    memcpy(to->values, values, n * sizeof(*values));
    to->nvalues = n;
    memcpy(to->words, s->words, 8 * ((size_t)s->nkernel + s->nuser));
}

/* A stack of `n` words base, base + 1, ...: a user stack of cgroup, or a kernel stack if that is 0. */
static void keep(struct waits *w, u64 key, u64 cgroup, u64 base, size_t n, bool open)
{
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 8 * n);
    if (!s)
        return;
    *s = (struct xp_sample){.type = XP_RECORD_STACK, .weight = key, .cgroup = cgroup, .tgid = cgroup ? 42 : 0};
    *(cgroup ? &s->nuser : &s->nkernel) = (u16)n;
    for (size_t i = 0; i < n; i++)
        s->words[i] = base + i;
    waits_keep(w, s, open);
}

/* Ends an interval with one sum. */
static int take(struct waits *w, struct xp_wait_key key, struct xp_wait sum, struct seen *seen)
{
    struct probe_wait row = {.key = key, .sum = sum};
    struct probe_waits rows = {.sums = {.v = &row, .n = 1, .cap = 1}};
    *seen = (struct seen){0};
    return waits_take(w, &rows, &EVENTS, see, seen);
}

static int take_none(struct waits *w)
{
    struct probe_waits rows = {0};
    return waits_take(w, &rows, &EVENTS, see, NULL);
}

TEST(waits_join_a_sum_with_its_stacks)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 3, false);
    keep(&w, 13, 7, 300, 2, false);
    keep(&w, 12, 0, 200, 2, false);
    struct xp_wait_key key = {.user = 11, .kernel = 12, .flags = XP_WAIT_IO | XP_WAIT_DEEP};
    CHECK_EQ(take(&w, key, (struct xp_wait){4, 5000}, &seen), 0);
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(seen.last.type, XP_RECORD_SAMPLE);
    CHECK_EQ(seen.last.event, OFFCPU);
    CHECK_EQ(seen.last.tgid, 42);
    CHECK_EQ(seen.last.cgroup, 7);
    CHECK_EQ(seen.last.count, 4);
    CHECK_EQ(seen.last.weight, 5000);
    CHECK_EQ(seen.last.nkernel, 3);
    CHECK_EQ(seen.last.nuser, 3);
    const u64 words[] = {XP_WAIT_WORD(XP_WAIT_IO | XP_WAIT_DEEP, 1), 200, 201, 100, 101, 102};
    CHECK(!memcmp(seen.words, words, sizeof(words)));
    CHECK_EQ(w.lost, 0);
}

TEST(waits_without_a_kernel_stack_have_their_reason)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.n, 1);
    const u64 words[] = {XP_WAIT_WORD(0, 1), 100, 101};
    CHECK_EQ(seen.last.nkernel, 1);
    CHECK(!memcmp(seen.words, words, sizeof(words)));
}

/* A sum of another kind has one stack and several values. */
TEST(waits_join_sums_of_kinds_with_their_stacks)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen = {0};
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    keep(&w, 12, 0, 200, 2, false);
    struct probe_sum sums[] = {
        {.key = {.stack = 12}, .sum.of = {{9, 9}}, .event = 9},         /* nobody's */
        {.key = {.stack = 13}, .sum.of = {{3, 1}, {4, 1}}, .event = 9}, /* not known */
        {.key = {.stack = 11}, .sum.of = {{0, 4096}, {2, 70}}, .event = 9},
    };
    struct probe_waits rows = {.kinds = {.v = sums, .n = 3, .cap = 3}};
    CHECK_EQ(waits_take(&w, &rows, &EVENTS, see, &seen), 0);
    CHECK(seen.n == 1 && seen.last.event == 9 && seen.last.type == XP_RECORD_SAMPLE && seen.last.count == 2);
    CHECK(seen.last.nuser == 2 && !seen.last.nkernel && seen.words[1] == 101);
    CHECK(seen.nvalues == XP_MAX_VALUES && seen.values[0].value == 4096 && seen.values[1].count == 2);
    CHECK_EQ(w.lost, 9 + 7);
}

TEST(waits_limit_the_kernel_part)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    keep(&w, 12, 0, 200, DEEP, false);
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 11, .kernel = 12}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.last.nkernel, 1 + XP_MAX_KERNEL);
    CHECK_EQ(seen.words[XP_MAX_KERNEL], 200 + XP_MAX_KERNEL - 1);
    CHECK_EQ(seen.words[1 + XP_MAX_KERNEL], 100);
}

TEST(waits_of_unknown_stacks_are_lost)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 12, 0, 200, 2, false);
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 11, .kernel = 12}, (struct xp_wait){4, 9}, &seen), 0);
    CHECK_EQ(seen.n, 0);
    CHECK_EQ(w.lost, 4);
    /* A kernel stack names no process. */
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 12}, (struct xp_wait){3, 9}, &seen), 0);
    CHECK_EQ(seen.n, 0);
    CHECK_EQ(w.lost, 7);
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 0}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(w.lost, 8);
}

TEST(waits_forget_stacks_without_use)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false); /* sent once */
    keep(&w, 13, 7, 300, 2, false); /* referred to */
    keep(&w, 12, 0, 200, 2, false); /* the same, of the kernel */
    keep(&w, 15, 7, 500, 2, false); /* sent again and again */
    CHECK_EQ(take_none(&w), 0);
    CHECK_EQ(w.stacks.n, 4); /* the wait may be in the next interval */
    for (int i = 0; i < 5; i++) {
        keep(&w, 15, 7, 500, 2, false);
        CHECK_EQ(take(&w, (struct xp_wait_key){.user = 13, .kernel = 12}, (struct xp_wait){1, 9}, &seen), 0);
        CHECK_EQ(seen.n, 1);
        CHECK_EQ(seen.words[1], 200);
        CHECK_EQ(seen.words[3], 300);
        CHECK_EQ(w.stacks.n, 3);
    }
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 15}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.words[1], 500); /* found where it was moved to */
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(w.lost, 1);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(take_none(&w), 0);
    CHECK_EQ(w.stacks.n, 0);
    CHECK_EQ(w.bytes.used, 0);
}

TEST(waits_keep_a_stack_once)
{
    CLEANUP(waits_free) struct waits w;
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    u64 used = w.bytes.used;
    keep(&w, 11, 7, 500, 9, false); /* the first one stays */
    keep(&w, 11, 7, 500, 9, true);
    CHECK_EQ(w.stacks.n, 1);
    CHECK_EQ(w.bytes.used, used);
}

TEST(waits_of_events_that_nobody_records_are_left_out)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen = {0};
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    struct probe_wait two[] = {{.key = {.user = 11}, .sum = {1, 9}},
                               {.key = {.user = 11, .flags = XP_WAIT_RUNQUEUE}, .sum = {2, 8}}};
    struct probe_waits rows = {.sums = {.v = two, .n = 2, .cap = 2}};
    CHECK_EQ(waits_take(&w, &rows, &(struct wait_events){-1, RUNQUEUE, -1, -1, 0, 0, 0}, see, &seen), 0);
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(seen.last.event, RUNQUEUE);
    CHECK_EQ(seen.last.weight, 8);
    CHECK_EQ(seen.words[0], XP_WAIT_WORD(XP_WAIT_RUNQUEUE, 1));
    CHECK_EQ(waits_take(&w, &rows, &(struct wait_events){OFFCPU, -1, -1, -1, 0, 0, 0}, see, &seen), 0);
    CHECK_EQ(seen.n, 2);
    CHECK_EQ(seen.last.event, OFFCPU);
    CHECK_EQ(seen.last.weight, 9);
    two[0].key.user = two[1].key.user = 99;
    CHECK_EQ(waits_take(&w, &rows, &(struct wait_events){-1, -1, -1, -1, 0, 0, 0}, see, &seen), 0);
    CHECK_EQ(seen.n, 2);
    CHECK_EQ(w.lost, 0);
}

TEST(waits_of_a_cgroup_leave_memory_to_others)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    for (u64 key = 1; key <= 2 * WAITS_STACK_BYTES / (8 * XP_MAX_USER); key++)
        keep(&w, 1000 + key, 7, key, XP_MAX_USER, false);
    CHECK(w.bytes.used > WAITS_STACK_BYTES / 2 && w.bytes.used <= WAITS_STACK_BYTES / 10 * 9);
    size_t n = w.stacks.n;
    keep(&w, 11, 8, 100, 3, false);
    keep(&w, 12, 0, 200, 3, false);
    CHECK_EQ(w.stacks.n, n + 2);
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 11, .kernel = 12}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(shares_held(&w.bytes, 8) + shares_held(&w.bytes, 7) + shares_held(&w.bytes, SHARES_ALL), w.bytes.used);
    CHECK(shares_held(&w.bytes, SHARES_ALL) > 0);
}

TEST(waits_replace_a_stack_that_is_still_being_unwound)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 1, true);
    keep(&w, 12, 7, 300, 1, true);
    CHECK_EQ(waits_open(&w), 2);
    keep(&w, 11, 7, 500, 4, true);
    CHECK_EQ(waits_open(&w), 2);
    keep(&w, 11, 7, 600, 3, false);
    CHECK_EQ(waits_open(&w), 1);
    CHECK_EQ(w.stacks.n, 2);
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.last.nuser, 3);
    CHECK_EQ(seen.words[1], 600);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(take_none(&w), 0);
    CHECK_EQ(waits_open(&w), 0);
    CHECK_EQ(w.bytes.used, 0);
}

TEST(waits_keep_what_they_have_without_room_for_more)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 1, true);
    for (u64 key = 1; key <= 2 * WAITS_STACK_BYTES / (8 * XP_MAX_USER); key++)
        keep(&w, 1000 + key, 7, key, XP_MAX_USER, false);
    u64 used = w.bytes.used;
    keep(&w, 11, 7, 500, XP_MAX_USER, true);
    CHECK_EQ(w.bytes.used, used);
    CHECK_EQ(waits_open(&w), 0); /* nobody waits for what has no room */
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.last.nuser, 1);
    CHECK_EQ(seen.words[1], 100);
}

TEST(waits_clamp_a_count_that_has_no_room)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 1, false);
    CHECK_EQ(take(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){(1ull << 32) + 5, 1ull << 40}, &seen), 0);
    CHECK_EQ(seen.last.count, UINT32_MAX);
    CHECK_EQ(seen.last.weight, 1ull << 40);
}

TEST(waits_for_locks_say_which_and_by_whom)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    const u64 lock = XP_LOCK_IN_FILE | XP_FILE_WORD(XP_WORD_LOCK, 9, 0x4080);
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    keep(&w, 12, 0, 200, DEEP, false);
    struct xp_wait_key key = {.user = 11, .kernel = 12, .with = lock, .flags = XP_WAIT_LOCKED};
    CHECK_EQ(take(&w, key, (struct xp_wait){2, 70}, &seen), 0);
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(seen.last.event, LOCK);
    CHECK_EQ(seen.last.nkernel, XP_MAX_KERNEL + 2);
    CHECK(seen.words[0] == XP_WAIT_WORD(XP_WAIT_LOCKED, 2) && seen.words[1] == lock && seen.words[2] == 200);
    CHECK_EQ(seen.words[XP_MAX_KERNEL + 2], 100);
    key.with = 0; /* its cgroup had too many */
    CHECK_EQ(take(&w, key, (struct xp_wait){2, 70}, &seen), 0);
    CHECK_EQ(seen.last.event, LOCK);
    CHECK(seen.words[0] == XP_WAIT_WORD(0, 1) && seen.words[1] == 200);
}

TEST(waits_for_locks_have_the_name_of_the_holder)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    char name[8 * XP_NAME_WORDS] = "", comm[16] = "";
    waits_init(&w);
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 8);
    *s = (struct xp_sample){.type = XP_RECORD_STACK, .weight = 11, .cgroup = 7, .tgid = (u32)getpid(), .nuser = 1};
    s->start = proc_start_ticks(s->tgid) * (NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
    waits_keep(&w, s, false);
    struct xp_wait_key key = {.user = 11, .with = 5, .flags = XP_WAIT_LOCKED, .tid = s->tgid};
    CHECK_EQ(take(&w, key, (struct xp_wait){2, 70}, &seen), 0);
    CHECK_EQ(seen.last.nkernel, 2 + XP_NAME_WORDS);
    CHECK_EQ(seen.words[0], XP_WAIT_WORD(XP_WAIT_LOCKED, 2 + XP_NAME_WORDS));
    for (size_t i = 0; i < XP_NAME_WORDS; i++) {
        CHECK_EQ(XP_WORD_KIND(seen.words[2 + i]), XP_WORD_NAME);
        memcpy(name + 7 * i, &seen.words[2 + i], 7);
    }
    prctl(PR_GET_NAME, comm);
    CHECK_STR(name, comm);
    key.tid = 0x3fffff; /* it was not the number of a thread */
    CHECK_EQ(take(&w, key, (struct xp_wait){2, 70}, &seen), 0);
    CHECK_EQ(seen.words[0], XP_WAIT_WORD(XP_WAIT_LOCKED, 2));
}

/* ---- Wakers ------------------------------------------------------------------------------------------------------ */

#define NAME(text) ((u64)XP_WORD_NAME << 60 | (text))
#define MARK(m)    ((u64)XP_WORD_MARK << 60 | (m))

/* A waker: 2 kernel frames, 3 of the user. */
static void keep_waker(struct waits *w, u64 key, u32 tgid, const char *comm, u8 cause, bool open)
{
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 8 * 5);
    if (!s)
        return;
    *s = (struct xp_sample){.type = XP_RECORD_STACK, .weight = key, .tgid = tgid, .nkernel = 2, .cause = cause};
    snprintf(s->comm, sizeof(s->comm), "%s", comm);
    s->nuser = tgid ? 3 : 0;
    for (u64 i = 0; i < 5; i++)
        s->words[i] = 400 + i;
    waits_keep(w, s, open);
}

static void take_woken(struct waits *w, u64 waker, struct seen *seen)
{
    struct xp_wait_key key = {.user = 11, .kernel = 12, .with = waker, .flags = XP_WAIT_WOKEN | XP_WAIT_DEEP};
    CHECK_EQ(take(w, key, (struct xp_wait){4, 5000}, seen), 0);
    CHECK_EQ(seen->n, 1);
    CHECK_EQ(seen->last.event, WAKEUP);
    CHECK_EQ(seen->last.weight, 5000);
    CHECK_EQ(seen->last.tgid, 42);
}
#define CHECK_WORDS(seen, ...)                                                   \
    do {                                                                         \
        const u64 words_[] = {__VA_ARGS__};                                      \
        CHECK_EQ((seen)->last.nkernel + (seen)->last.nuser, sizeof(words_) / 8); \
        CHECK(!memcmp((seen)->words, words_, sizeof(words_)));                   \
    } while (0)
#define WOKEN(n) XP_WAIT_WORD(XP_WAIT_WOKEN | XP_WAIT_DEEP, n)

TEST(waits_show_who_ended_them)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    keep(&w, 12, 0, 200, 1, false);
    keep_waker(&w, 21, 43, "abcdefghijkl", XP_CAUSE_END, false);
    take_woken(&w, 21, &seen);
    CHECK_WORDS(&seen, WOKEN(9), NAME(0x67666564636261), NAME(0x6c6b6a6968), NAME(0), 404, 403, 402, 401, 400, 200, 100,
                101);
    CHECK_EQ(seen.last.nkernel, 10);
    keep_waker(&w, 23, 44, "b", XP_CAUSE_FP_BROKEN, false);
    take_woken(&w, 23, &seen);
    CHECK_WORDS(&seen, WOKEN(10), NAME('b'), NAME(0), NAME(0), MARK(XP_CAUSE_FP_BROKEN), 404, 403, 402, 401, 400, 200,
                100, 101);
    keep_waker(&w, 25, 42, "c", XP_CAUSE_END, false);
    take_woken(&w, 25, &seen);
    CHECK_EQ(seen.words[0], XP_WAIT_WORD(XP_WAIT_WOKEN | XP_WAIT_DEEP | XP_WAIT_OWN, 9));
    keep_waker(&w, 27, 0, "", XP_CAUSE_KTHREAD, false);
    take_woken(&w, 27, &seen);
    CHECK_WORDS(&seen, WOKEN(4), MARK(XP_MARK_INTERRUPT), 401, 400, 200, 100, 101);
    keep_waker(&w, 29, 45, "d", XP_CAUSE_KTHREAD, false);
    take_woken(&w, 29, &seen);
    CHECK_EQ(seen.words[0], WOKEN(9));
    take_woken(&w, XP_WAKER_NONE, &seen);
    CHECK_WORDS(&seen, WOKEN(2), MARK(XP_MARK_STILL), 200, 100, 101);
    take_woken(&w, XP_WAKER_UNSEEN, &seen);
    CHECK_WORDS(&seen, WOKEN(2), MARK(XP_MARK_UNSEEN), 200, 100, 101);
    take_woken(&w, 99, &seen);
    CHECK_WORDS(&seen, WOKEN(2), MARK(XP_MARK_UNSEEN), 200, 100, 101);
}

/* A waker's stack is kept, waited for and replaced like that of a sleeper. */
TEST(waits_keep_stacks_of_wakers)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    keep_waker(&w, 21, 43, "a", XP_CAUSE_PENDING, true);
    CHECK_EQ(waits_open(&w), 1);
    keep_waker(&w, 21, 43, "a", XP_CAUSE_END, false);
    CHECK_EQ(waits_open(&w), 0);
    for (unsigned i = 0; i < 4; i++) {
        take_woken(&w, 21, &seen);
        CHECK_EQ(seen.words[0], WOKEN(9));
    }
    take_none(&w);
    take_none(&w);
    keep(&w, 11, 7, 100, 2, false);
    take_woken(&w, 21, &seen);
    CHECK_EQ(seen.words[0], WOKEN(2)); /* nobody had referred to it for an interval */
}

/* What does not fit is cut off at the waker's root. */
TEST(waits_limit_the_waker)
{
    CLEANUP(waits_free) struct waits w;
    AUTO_FREE struct seen *seen = calloc(1, sizeof(*seen));
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 8 * (XP_MAX_KERNEL + XP_MAX_USER));
    CHECK(seen && s);
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    keep(&w, 12, 0, 200, DEEP, false);
    *s = (struct xp_sample){.weight = 21, .tgid = 43, .nkernel = XP_MAX_KERNEL, .nuser = XP_MAX_USER};
    for (u64 i = 0; i < XP_MAX_KERNEL + XP_MAX_USER; i++)
        s->words[i] = 1000 + i;
    waits_keep(&w, s, false);
    take_woken(&w, 21, seen);
    CHECK_EQ(seen->last.nkernel, XP_MAX_REASON);
    CHECK_EQ(XP_WAIT_WORDS(seen->words[0]), XP_MAX_REASON - XP_MAX_KERNEL);
    CHECK_EQ(seen->words[XP_MAX_REASON - XP_MAX_KERNEL - 1], 1000);
    CHECK_EQ(seen->words[XP_MAX_REASON], 100);
}

/* Sums are told apart by files and peers, too; and what nobody was seen to do is shown nevertheless. */
TEST(waits_put_tags_and_owners_into_samples)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen = {0};
    waits_init(&w);
    keep(&w, 11, 7, 100, 2, false);
    struct xp_sample owner = {.type = XP_RECORD_STACK, .weight = 12, .cgroup = 7, .flags = XP_SAMPLE_NOBODY};
    waits_keep(&w, &owner, false);
    struct xp_tag_event e = {.type = XP_RECORD_TAG, .what = XP_TAG_PATH, .key = 6, .cgroup = 7, .len = 2};
    memcpy(e.text + XP_TAG_TEXT - 2, "/a", 2);
    tags_keep(&w.tags, &e);
    u64 label = XP_LABEL(XP_LABEL_NAME, 0);
    struct probe_sum sums[] = {{.key = {12, label, 0}, .sum.of = {{0, 5}}},
                               {.key = {11, label, 6}, .sum.of = {{0, 9}}}};
    struct probe_waits rows = {.kinds = {.v = sums, .n = 2, .cap = 2}};
    CHECK_EQ(waits_take(&w, &rows, &EVENTS, see, &seen), 0);
    CHECK(seen.n == 2 && !w.lost);
    CHECK(seen.last.nkernel == 2 && seen.last.nuser == 2 && seen.words[2] == 100);
    CHECK(seen.words[0] == label && seen.words[1] == ((u64)XP_WORD_NAME << 60 | '/' | 'a' << 8));
}
