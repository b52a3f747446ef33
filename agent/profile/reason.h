/* The reason of a wait: the first words of its stack (XP_WORD_WAIT in bpf/xprof.h). */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/sums.h"
#include <stdbool.h>
#include <stddef.h>

/* Returns the number of words of the reason at the beginning of n kernel words; 0: the stack has none. The caller has
 * checked that they are there (reason_valid). */
static inline size_t reason_words(const u64 *words, size_t n)
{
    return n && XP_WORD_KIND(words[0]) == XP_WORD_WAIT ? XP_WAIT_WORDS(words[0]) : 0;
}
/* Returns the number of words of the name of the label at the beginning of n kernel words; 0: they have none. */
static inline size_t label_name_words(const u64 *words, size_t n)
{
    if (!n || XP_WORD_KIND(words[0]) != XP_WORD_LABEL)
        return 0;
    size_t name = 1;
    while (name < n && name < XP_NAME_WORDS && words[name] >> 56 == XP_LABEL_MORE >> 56)
        name++;
    return name == XP_NAME_WORDS ? name : 1;
}

/* The same with those of the tag behind it. */
static inline size_t label_words(const u64 *words, size_t n)
{
    size_t name = label_name_words(words, n), label = name;
    while (name == 1 && label < n && label <= XP_TAG_WORDS && XP_WORD_KIND(words[label]) == XP_WORD_NAME)
        label++;
    return label;
}
/* Frames, and locks. */
static inline bool word_in_file(u64 word)
{
    u32 kind = XP_WORD_KIND(word);
    return (kind >= XP_WORD_CFI && kind <= XP_WORD_TOLD) || (kind == XP_WORD_LOCK && word & XP_LOCK_IN_FILE);
}
/* Whether n kernel words begin with a reason that they contain as a whole, or with none. */
bool reason_valid(const u64 *words, size_t n);

/* What is to be shown of a reason: its items, leaf first. Frames are items of one word, those of runtimes of two.
 */
struct reason_item {
    const u64 *words;
    size_t n;
    bool waker; /* of the waker; otherwise of what was waited for */
};
struct reason_walk { /* begins as {.words = ...} */
    const u64 *words;
    size_t done; /* words that were shown */
};
/* The next item in *out: what ended the wait, its holder and the lock, last the word XP_WORD_WAIT itself. False: there
 * is none left. */
bool reason_next(struct reason_walk *w, struct reason_item *out);
/* Writes the name in XP_NAME_WORDS words, NUL-terminated; returns `out`. */
const char *reason_name(const u64 *words, char out[7 * XP_NAME_WORDS + 1]);
