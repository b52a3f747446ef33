#include "profile/sum_label.h"
#include "bpf/heap.h"
#include <stdio.h>

/* 7 bytes, the first one the lowest. Names come from the kernel; what is no letter of one is not shown. */
static void read_name(u64 word, char out[8])
{
    for (size_t i = 0; i < 7; i++) {
        char c = (char)(word >> 8 * i);
        out[i] = (char)(!c || (c > ' ' && c <= '~' && c != ';') ? c : '?');
    }
    out[7] = 0;
}

void sum_label_long(const u64 *words, char *out, size_t size)
{
    char name[7 * XP_NAME_WORDS + 8];
    for (size_t i = 0; i < XP_NAME_WORDS; i++)
        read_name(words[i], name + 7 * i);
    snprintf(out, size, "[%s]", name[0] ? name : "unknown");
}

const char *sum_label_text(u64 word, char out[SUM_LABEL_TEXT])
{
    static const char *const verbs[XP_LABELS] = {
        [XP_LABEL_NAME] = "",          [XP_LABEL_READ] = "read ",
        [XP_LABEL_WRITE] = "write ",   [XP_LABEL_DISCARD] = "discard ",
        [XP_LABEL_FLUSH] = "flush ",   [XP_LABEL_WRITE_BACK] = "write-back ",
        [XP_LABEL_DIRECT] = "direct ",
    };
    static const char *const wholes[XP_BAD_LABELS] = {
        [XP_LABEL_FREED_TWICE] = "[double free]",    [XP_LABEL_INSIDE] = "[free inside a block]",
        [XP_LABEL_ON_STACK] = "[free of a stack]",   [XP_LABEL_IN_CODE] = "[free of code or constants]",
        [XP_LABEL_IN_DATA] = "[free of a variable]", [XP_LABEL_FREED] = "[freed before by]",
        [XP_LABEL_ALLOCATED] = "[allocated by]",     [XP_LABEL_UNKNOWN] = "[unknown]",
    };
    u32 what = XP_LABEL_WHAT(word);
    char name[8];
    if (what < XP_BAD_LABELS && wholes[what]) {
        snprintf(out, SUM_LABEL_TEXT, "%s", wholes[what]);
        return out;
    }
    read_name(word, name);
    snprintf(out, SUM_LABEL_TEXT, "[%s%s]", what < XP_LABELS ? verbs[what] : "", name[0] ? name : "unknown");
    return out;
}

/* 7 bytes in each word, the first one the lowest. */
const char *sum_tag_text(const u64 *words, size_t n, char out[SUM_TAG_TEXT])
{
    size_t len = 7 * (n < XP_TAG_WORDS ? n : XP_TAG_WORDS);
    for (size_t i = 0; i < len; i++)
        out[i] = (char)(words[i / 7] >> 8 * (i % 7));
    out[len] = 0;
    return out;
}
