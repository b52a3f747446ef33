#include "pipeline/waits_made_test.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "proc/proc.h"
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

TEST(waits_join_a_sum_with_its_stacks)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 3, false);
    waits_keep_made(&w, 13, 7, 300, 2, false);
    waits_keep_made(&w, 12, 0, 200, 2, false);
    struct xp_wait_key key = {.user = 11, .kernel = 12, .flags = XP_WAIT_IO | XP_WAIT_DEEP};
    CHECK_EQ(waits_end_with(&w, key, (struct xp_wait){4, 5000}, &seen), 0);
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
    waits_keep_made(&w, 11, 7, 100, 2, false);
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.n, 1);
    const u64 words[] = {XP_WAIT_WORD(0, 1), 100, 101};
    CHECK_EQ(seen.last.nkernel, 1);
    CHECK(!memcmp(seen.words, words, sizeof(words)));
}

TEST(waits_limit_the_kernel_part)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 2, false);
    waits_keep_made(&w, 12, 0, 200, DEEP, false);
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 11, .kernel = 12}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.last.nkernel, 1 + XP_MAX_KERNEL);
    CHECK_EQ(seen.words[XP_MAX_KERNEL], 200 + XP_MAX_KERNEL - 1);
    CHECK_EQ(seen.words[1 + XP_MAX_KERNEL], 100);
}

TEST(waits_of_unknown_stacks_are_lost)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    waits_keep_made(&w, 12, 0, 200, 2, false);
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 11, .kernel = 12}, (struct xp_wait){4, 9}, &seen), 0);
    CHECK_EQ(seen.n, 0);
    CHECK_EQ(w.lost, 4);
    /* A kernel stack names no process. */
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 12}, (struct xp_wait){3, 9}, &seen), 0);
    CHECK_EQ(seen.n, 0);
    CHECK_EQ(w.lost, 7);
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 0}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(w.lost, 8);
}

TEST(waits_forget_stacks_without_use)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 2, false); /* sent once */
    waits_keep_made(&w, 13, 7, 300, 2, false); /* referred to */
    waits_keep_made(&w, 12, 0, 200, 2, false); /* the same, of the kernel */
    waits_keep_made(&w, 15, 7, 500, 2, false); /* sent again and again */
    CHECK_EQ(waits_end_none(&w), 0);
    CHECK_EQ(w.stacks.n, 4); /* the wait may be in the next interval */
    for (int i = 0; i < 5; i++) {
        waits_keep_made(&w, 15, 7, 500, 2, false);
        CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 13, .kernel = 12}, (struct xp_wait){1, 9}, &seen), 0);
        CHECK_EQ(seen.n, 1);
        CHECK_EQ(seen.words[1], 200);
        CHECK_EQ(seen.words[3], 300);
        CHECK_EQ(w.stacks.n, 3);
    }
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 15}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.words[1], 500); /* found where it was moved to */
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(w.lost, 1);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(waits_end_none(&w), 0);
    CHECK_EQ(w.stacks.n, 0);
    CHECK_EQ(w.bytes.used, 0);
}

TEST(waits_keep_a_stack_once)
{
    CLEANUP(waits_free) struct waits w;
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 2, false);
    u64 used = w.bytes.used;
    waits_keep_made(&w, 11, 7, 500, 9, false); /* the first one stays */
    waits_keep_made(&w, 11, 7, 500, 9, true);
    CHECK_EQ(w.stacks.n, 1);
    CHECK_EQ(w.bytes.used, used);
}

TEST(waits_of_events_that_nobody_records_are_left_out)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen = {0};
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 2, false);
    struct probe_wait two[] = {{.key = {.user = 11}, .sum = {1, 9}},
                               {.key = {.user = 11, .flags = XP_WAIT_RUNQUEUE}, .sum = {2, 8}}};
    struct probe_waits rows = {.sums = {.v = two, .n = 2, .cap = 2}};
    CHECK_EQ(waits_take(&w, &rows, &(struct wait_events){-1, RUNQUEUE, -1, -1, 0, 0, 0}, waits_see, &seen), 0);
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(seen.last.event, RUNQUEUE);
    CHECK_EQ(seen.last.weight, 8);
    CHECK_EQ(seen.words[0], XP_WAIT_WORD(XP_WAIT_RUNQUEUE, 1));
    CHECK_EQ(waits_take(&w, &rows, &(struct wait_events){OFFCPU, -1, -1, -1, 0, 0, 0}, waits_see, &seen), 0);
    CHECK_EQ(seen.n, 2);
    CHECK_EQ(seen.last.event, OFFCPU);
    CHECK_EQ(seen.last.weight, 9);
    two[0].key.user = two[1].key.user = 99;
    CHECK_EQ(waits_take(&w, &rows, &(struct wait_events){-1, -1, -1, -1, 0, 0, 0}, waits_see, &seen), 0);
    CHECK_EQ(seen.n, 2);
    CHECK_EQ(w.lost, 0);
}

TEST(waits_of_a_cgroup_leave_memory_to_others)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    for (u64 key = 1; key <= 2 * WAITS_STACK_BYTES / (8 * XP_MAX_USER); key++)
        waits_keep_made(&w, 1000 + key, 7, key, XP_MAX_USER, false);
    CHECK(w.bytes.used > WAITS_STACK_BYTES / 2 && w.bytes.used <= WAITS_STACK_BYTES / 10 * 9);
    size_t n = w.stacks.n;
    waits_keep_made(&w, 11, 8, 100, 3, false);
    waits_keep_made(&w, 12, 0, 200, 3, false);
    CHECK_EQ(w.stacks.n, n + 2);
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 11, .kernel = 12}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(shares_held(&w.bytes, 8) + shares_held(&w.bytes, 7) + shares_held(&w.bytes, SHARES_ALL), w.bytes.used);
    CHECK(shares_held(&w.bytes, SHARES_ALL) > 0);
}

TEST(waits_replace_a_stack_that_is_still_being_unwound)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 1, true);
    waits_keep_made(&w, 12, 7, 300, 1, true);
    CHECK_EQ(waits_open(&w), 2);
    waits_keep_made(&w, 11, 7, 500, 4, true);
    CHECK_EQ(waits_open(&w), 2);
    waits_keep_made(&w, 11, 7, 600, 3, false);
    CHECK_EQ(waits_open(&w), 1);
    CHECK_EQ(w.stacks.n, 2);
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.last.nuser, 3);
    CHECK_EQ(seen.words[1], 600);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(waits_end_none(&w), 0);
    CHECK_EQ(waits_open(&w), 0);
    CHECK_EQ(w.bytes.used, 0);
}

TEST(waits_keep_what_they_have_without_room_for_more)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 1, true);
    for (u64 key = 1; key <= 2 * WAITS_STACK_BYTES / (8 * XP_MAX_USER); key++)
        waits_keep_made(&w, 1000 + key, 7, key, XP_MAX_USER, false);
    u64 used = w.bytes.used;
    waits_keep_made(&w, 11, 7, 500, XP_MAX_USER, true);
    CHECK_EQ(w.bytes.used, used);
    CHECK_EQ(waits_open(&w), 0); /* nobody waits for what has no room */
    CHECK_EQ(waits_end_with(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){1, 9}, &seen), 0);
    CHECK_EQ(seen.last.nuser, 1);
    CHECK_EQ(seen.words[1], 100);
}

TEST(waits_clamp_a_count_that_has_no_room)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 1, false);
    CHECK_EQ(
        waits_end_with(&w, (struct xp_wait_key){.user = 11}, (struct xp_wait){(1ull << 32) + 5, 1ull << 40}, &seen), 0);
    CHECK_EQ(seen.last.count, UINT32_MAX);
    CHECK_EQ(seen.last.weight, 1ull << 40);
}

TEST(waits_for_locks_say_which_and_by_whom)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen;
    const u64 lock = XP_LOCK_IN_FILE | XP_FILE_WORD(XP_WORD_LOCK, 9, 0x4080);
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 2, false);
    waits_keep_made(&w, 12, 0, 200, DEEP, false);
    struct xp_wait_key key = {.user = 11, .kernel = 12, .with = lock, .flags = XP_WAIT_LOCKED};
    CHECK_EQ(waits_end_with(&w, key, (struct xp_wait){2, 70}, &seen), 0);
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(seen.last.event, LOCK);
    CHECK_EQ(seen.last.nkernel, XP_MAX_KERNEL + 2);
    CHECK(seen.words[0] == XP_WAIT_WORD(XP_WAIT_LOCKED, 2) && seen.words[1] == lock && seen.words[2] == 200);
    CHECK_EQ(seen.words[XP_MAX_KERNEL + 2], 100);
    key.with = 0; /* its cgroup had too many */
    CHECK_EQ(waits_end_with(&w, key, (struct xp_wait){2, 70}, &seen), 0);
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
    CHECK_EQ(waits_end_with(&w, key, (struct xp_wait){2, 70}, &seen), 0);
    CHECK_EQ(seen.last.nkernel, 2 + XP_NAME_WORDS);
    CHECK_EQ(seen.words[0], XP_WAIT_WORD(XP_WAIT_LOCKED, 2 + XP_NAME_WORDS));
    for (size_t i = 0; i < XP_NAME_WORDS; i++) {
        CHECK_EQ(XP_WORD_KIND(seen.words[2 + i]), XP_WORD_NAME);
        memcpy(name + 7 * i, &seen.words[2 + i], 7);
    }
    prctl(PR_GET_NAME, comm);
    CHECK_STR(name, comm);
    key.tid = 0x3fffff; /* it was not the number of a thread */
    CHECK_EQ(waits_end_with(&w, key, (struct xp_wait){2, 70}, &seen), 0);
    CHECK_EQ(seen.words[0], XP_WAIT_WORD(XP_WAIT_LOCKED, 2));
}
