/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Which occurrences of a tracepoint, or of a probe at a function, count, and as how much: conditions on the fields of
 * its record (there, the registers), known when the program is loaded. A condition is a choice of ways; in each, some
 * terms hold. Include bpf/types.h first.
 */
#pragma once

#define XP_TP_TERMS  8
#define XP_TP_WAYS   8
#define XP_TP_TEXT   64         /* bytes of a text that are compared */
#define XP_TP_RECORD (1u << 12) /* bytes of a record that fields may be in */

enum xp_tp_source {
    XP_TP_NOTHING,
    XP_TP_UNSIGNED, /* a number of 1, 2, 4 or 8 bytes of the record */
    XP_TP_SIGNED,
    XP_TP_ARRAY, /* text in the record */
    XP_TP_DATA,  /* text behind it: __data_loc, the upper half of 4 bytes is its length, the lower where it is */
    XP_TP_USER,  /* text in the memory of the process: its address is in the record */
    XP_TP_COMM,  /* text: the name of the thread */
    XP_TP_PID,   /* numbers */
    XP_TP_TID,
    XP_TP_ELAPSED, /* how long a call took, in ns */
};
#define XP_TP_IS_TEXT(source) ((source) >= XP_TP_ARRAY && (source) <= XP_TP_COMM)
enum xp_tp_test { XP_TP_EQUAL, XP_TP_LESS, XP_TP_GREATER, XP_TP_BITS }; /* the last one: any of these */

struct xp_tp_field {
    u32 offset; /* in the record */
    u16 size;
    u8 source; /* enum xp_tp_source */
    u8 late;   /* of a call that is timed: known at its end, where it is in the record */
};
struct xp_tp_term {
    struct xp_tp_field field;
    u64 number;
    u8 test; /* enum xp_tp_test; texts are compared for equality */
    u8 negated;
    u8 length; /* of the text, with its end unless any text goes on like this */
    u8 pad[5];
    char text[XP_TP_TEXT];
};
struct xp_tp {
    struct xp_tp_field value; /* XP_TP_NOTHING: an occurrence counts as one */
    u32 period;               /* one of so many occurrences counts, for all of them */
    u32 nterms, nways;
    u32 late;      /* terms, as bits, that are judged when a call ends */
    u32 arguments; /* of a USDT probe, as bits: those that terms and the value are about */
    u32 pad;
    u8 ways[XP_TP_WAYS]; /* terms, as bits */
    struct xp_tp_term terms[XP_TP_TERMS];
};
