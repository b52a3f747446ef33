#include "profile/sum_label.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "bpf/heap.h"
#include "profile/fixture_test.h"
#include "profile/formats.h"
#include "profile/recorded.h"
#include "profile/subset.h"

TEST(sum_labels_have_texts)
{
    char text[SUM_LABEL_TEXT];
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_NAME, XP_TEXT('a', 'n', 'o', 'n', 0, 0, 0)), text), "[anon]");
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_WRITE, XP_TEXT('v', 'd', 'a', 0, 0, 0, 0)), text), "[write vda]");
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_DIRECT, XP_TEXT('e', 'x', 't', '4', 0, 0, 0)), text), "[direct ext4]");
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_WRITE_BACK, XP_TEXT('n', 'v', 'm', 'e', '0', 'n', '1')), text),
              "[write-back nvme0n1]");
}

TEST(sum_labels_of_wrong_frees_have_no_names)
{
    char text[SUM_LABEL_TEXT];
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_FREED_TWICE, 0), text), "[double free]");
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_FREED, 0), text), "[freed before by]");
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_IN_CODE, 0), text), "[free of code or constants]");
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_KEY, 0), text), "[unknown]");
}

TEST(sum_labels_that_nobody_knows_are_harmless)
{
    char text[SUM_LABEL_TEXT];
    CHECK_STR(sum_label_text(XP_LABEL(15, 0), text), "[unknown]");
    CHECK_STR(sum_label_text(XP_LABEL(XP_LABEL_NAME, XP_TEXT('a', ';', '\n', 'b', 0, 0, 0)), text), "[a??b]");
}

TEST(sum_labels_may_be_longer_than_a_word)
{
    const u64 words[XP_NAME_WORDS] = {XP_LABEL(XP_LABEL_NAME, XP_TEXT('k', 'm', 'a', 'l', 'l', 'o', 'c')),
                                      XP_LABEL_MORE | XP_TEXT('-', 'c', 'g', '-', '1', 'k', 0), XP_LABEL_MORE};
    const u64 full[XP_NAME_WORDS] = {words[0], words[0], words[0]}, none[XP_NAME_WORDS] = {0};
    char text[32];
    sum_label_long(words, text, sizeof(text));
    CHECK_STR(text, "[kmalloc-cg-1k]");
    sum_label_long(full, text, sizeof(text));
    CHECK_STR(text, "[kmallockmallockmalloc]");
    sum_label_long(none, text, sizeof(text));
    CHECK_STR(text, "[unknown]");
}

TEST(sum_tags_are_the_bytes_of_their_words)
{
    char text[SUM_TAG_TEXT];
    const u64 words[] = {(u64)XP_WORD_NAME << 60 | XP_TEXT('/', 'v', 'a', 'r', '/', 'l', 'o'),
                         (u64)XP_WORD_NAME << 60 | 'g'};
    CHECK_STR(sum_tag_text(words, 2, text), "/var/log");
    CHECK_STR(sum_tag_text(words, 0, text), "");
}

#define W_LABEL     XP_LABEL(XP_LABEL_NAME, XP_TEXT('e', 'x', 't', '4', 0, 0, 0))
#define W_NAME(...) ((u64)XP_WORD_NAME << 60 | XP_TEXT(__VA_ARGS__))

/* The tag is no frame, tells stacks apart, and comes as a label that servers have, too; and back. */
TEST(sum_tags_become_labels_of_samples)
{
    static const struct fixture_sample samples[] = {
        {"x",
         1,
         0,
         XP_CAUSE_END,
         7,
         3,
         1,
         {W_LABEL, W_NAME('/', 'a', 0, 0, 0, 0, 0), W_KERNEL(0x1010), W_LEAF(2, 0x1000)}},
        {"x",
         1,
         0,
         XP_CAUSE_END,
         9,
         3,
         1,
         {W_LABEL, W_NAME('/', 'b', 0, 0, 0, 0, 0), W_KERNEL(0x1010), W_LEAF(2, 0x1000)}},
    };
    CLEANUP(profile_free) struct profile all = {0}, part = {0}, back = {0};
    CLEANUP(recorded_free) struct recorded r = {0};
    AUTO_BUF struct buf pprof = {0};
    char why[256];
    CHECK(!fixture_profile(samples, 2, &all) && !profile_init(&part) && !profile_init(&back));
    all.events[0] = event_kind_find("file");
    CHECK(all.stacks.n == 2 && all.stacks.v[0].n == 3);
    CHECK_STR(profile_text(&all, all.stacks.v[0].tag), "/a");
    struct subset s = {.stacks = (u32[]){1}, .n = 1};
    CHECK_EQ(profile_subset(&all, &s, &part), 0);
    CHECK_EQ(encode_pprof_plain(&part, false, &pprof), 0);
    CHECK_EQ(recorded_read(pprof.data, pprof.len, &back, &r, why, sizeof(why)), 0);
    CHECK(back.stacks.n == 1 && back.stacks.v[0].value[0] == 9);
    CHECK_STR(profile_text(&back, back.stacks.v[0].tag), "/b");
}
