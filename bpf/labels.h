/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The first word of stacks that are told apart by more than their frames (XP_WORD_LABEL). Part of bpf/xprof.h.
 */
#pragma once

/* XP_WORD_LABEL: enum xp_label in bits 56-59, and a name of up to 7 bytes, the first one the lowest. Words of
 * XP_WORD_NAME may follow: the rest of a long name, XP_NAME_WORDS in all, marked by XP_LABEL_MORE; or up to
 * XP_TAG_WORDS with the text of a tag (bpf/sums.h). */
enum xp_label {
    XP_LABEL_NAME, /* the name says it */
    /* What was done with the disk of that name: */
    XP_LABEL_READ,
    XP_LABEL_WRITE,
    XP_LABEL_DISCARD,
    XP_LABEL_FLUSH,
    XP_LABEL_WRITE_BACK, /* written by a thread of the kernel, later than by who made the data */
    XP_LABEL_DIRECT,     /* files of the file system of that name, without the page cache */
    XP_LABELS
};
#define XP_LABEL(what, name) ((u64)XP_WORD_LABEL << 60 | (u64)(what) << 56 | (name))
#define XP_LABEL_MORE        ((u64)XP_WORD_NAME << 60 | 1ull << 56)
#define XP_LABEL_WHAT(w)     ((u32)((w) >> 56) & 15)
#define XP_TEXT(a, b, c, d, e, f, g) \
    ((u64)(a) | (u64)(b) << 8 | (u64)(c) << 16 | (u64)(d) << 24 | (u64)(e) << 32 | (u64)(f) << 40 | (u64)(g) << 48)
