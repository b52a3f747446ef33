#include "profile/sum_label.h"
#include "base/test.h"
#include "bpf/heap.h"

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
                                      (u64)XP_WORD_NAME << 60 | XP_TEXT('-', 'c', 'g', '-', '1', 'k', 0),
                                      (u64)XP_WORD_NAME << 60};
    const u64 full[XP_NAME_WORDS] = {words[0], words[0], words[0]}, none[XP_NAME_WORDS] = {0};
    char text[32];
    sum_label_long(words, text, sizeof(text));
    CHECK_STR(text, "[kmalloc-cg-1k]");
    sum_label_long(full, text, sizeof(text));
    CHECK_STR(text, "[kmallockmallockmalloc]");
    sum_label_long(none, text, sizeof(text));
    CHECK_STR(text, "[unknown]");
}
