/* What tells sums of the same stack apart (struct xp_sum_key), as text: the sort of memory, or the disk and what was
 * done with it. Labels are the leaves of their stacks. A tag behind a label, a file or a peer, becomes a label of the
 * sample.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/sums.h"
#include <stddef.h>

#define SUM_LABEL_TEXT 32

/* Writes the text of an XP_WORD_LABEL: "[anonymous]", "[write vda]". */
const char *sum_label_text(u64 word, char out[SUM_LABEL_TEXT]);
/* The same of a name that continues in words of kind XP_WORD_NAME, XP_NAME_WORDS in all. */
void sum_label_long(const u64 *words, char *out, size_t size);

#define SUM_TAG_TEXT (7 * XP_TAG_WORDS + 1)
/* Writes the text of a tag, the words behind its label; returns `out`. */
const char *sum_tag_text(const u64 *words, size_t n, char out[SUM_TAG_TEXT]);
