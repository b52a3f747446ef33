#include "pipeline/waits_made_test.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <string.h>

/* A sum of another kind has one stack and several values. */
TEST(waits_join_sums_of_kinds_with_their_stacks)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen = {0};
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 2, false);
    waits_keep_made(&w, 12, 0, 200, 2, false);
    struct probe_sum sums[] = {
        {.key = {.stack = 12}, .sum.of = {{9, 9}}, .event = 9},         /* nobody's */
        {.key = {.stack = 13}, .sum.of = {{3, 1}, {4, 1}}, .event = 9}, /* not known */
        {.key = {.stack = 11}, .sum.of = {{0, 4096}, {2, 70}}, .event = 9},
    };
    struct probe_waits rows = {.kinds = {.v = sums, .n = 3, .cap = 3}};
    CHECK_EQ(waits_take(&w, &rows, &WAITS_EVENTS, waits_see, &seen), 0);
    CHECK(seen.n == 1 && seen.last.event == 9 && seen.last.type == XP_RECORD_SAMPLE && seen.last.count == 2);
    CHECK(seen.last.nuser == 2 && !seen.last.nkernel && seen.words[1] == 101);
    CHECK(seen.nvalues == XP_MAX_VALUES && seen.values[0].value == 4096 && seen.values[1].count == 2);
    CHECK_EQ(w.lost, 9 + 7);
}

/* Sums are told apart by files and peers, too; and what nobody was seen to do is shown nevertheless. */
TEST(waits_put_tags_and_owners_into_samples)
{
    CLEANUP(waits_free) struct waits w;
    struct seen seen = {0};
    waits_init(&w);
    waits_keep_made(&w, 11, 7, 100, 2, false);
    struct xp_sample owner = {.type = XP_RECORD_STACK, .weight = 12, .cgroup = 7, .flags = XP_SAMPLE_NOBODY};
    waits_keep(&w, &owner, false);
    struct xp_tag_event e = {.type = XP_RECORD_TAG, .what = XP_TAG_PATH, .key = 6, .cgroup = 7, .len = 2};
    memcpy(e.text + XP_TAG_TEXT - 2, "/a", 2);
    tags_keep(&w.tags, &e);
    u64 label = XP_LABEL(XP_LABEL_NAME, 0);
    struct probe_sum sums[] = {{.key = {12, label, 0}, .sum.of = {{0, 5}}},
                               {.key = {11, label, 6}, .sum.of = {{0, 9}}}};
    struct probe_waits rows = {.kinds = {.v = sums, .n = 2, .cap = 2}};
    CHECK_EQ(waits_take(&w, &rows, &WAITS_EVENTS, waits_see, &seen), 0);
    CHECK(seen.n == 2 && !w.lost);
    CHECK(seen.last.nkernel == 2 && seen.last.nuser == 2 && seen.words[2] == 100);
    CHECK(seen.words[0] == label && seen.words[1] == ((u64)XP_WORD_NAME << 60 | '/' | 'a' << 8));
}
