/* Waits of the event wakeup: who has ended them. */
#include "pipeline/waits_made_test.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    CHECK_EQ(waits_end_with(w, key, (struct xp_wait){4, 5000}, seen), 0);
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
    waits_keep_made(&w, 11, 7, 100, 2, false);
    waits_keep_made(&w, 12, 0, 200, 1, false);
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
    waits_keep_made(&w, 11, 7, 100, 2, false);
    keep_waker(&w, 21, 43, "a", XP_CAUSE_PENDING, true);
    CHECK_EQ(waits_open(&w), 1);
    keep_waker(&w, 21, 43, "a", XP_CAUSE_END, false);
    CHECK_EQ(waits_open(&w), 0);
    for (unsigned i = 0; i < 4; i++) {
        take_woken(&w, 21, &seen);
        CHECK_EQ(seen.words[0], WOKEN(9));
    }
    waits_end_none(&w);
    waits_end_none(&w);
    waits_keep_made(&w, 11, 7, 100, 2, false);
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
    waits_keep_made(&w, 11, 7, 100, 2, false);
    waits_keep_made(&w, 12, 0, 200, DEEP, false);
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
