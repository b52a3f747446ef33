/* Writes the index, rows and rules of a table image (layout: bpf/xprof.h).
 *
 * Rows arrive in ascending order of file offset and are written directly to their final position. A row with the same
 * rule as the previous one is dropped. Rules are numbered in the order of their first use. Writing can be rewound to a
 * mark, to remove the rows of a malformed FDE. All memory is limited before the first row. Within that limit only the
 * numbering of rules can fail; its error is sticky.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "cfi/loops.h"
#include <stddef.h>
#include <string.h>

struct rows {
    u64 lo;     /* file offset of block 0 */
    u64 last;   /* the rule of the last row */
    u32 *index; /* nblocks + 1, being filled */
    u32 *rows;  /* cap of them */
    u32 n, cap;
    u32 block; /* index[] is filled up to here */
    u32 nblocks;
    bool loop; /* rows that follow are of a loop (loops.h) */
    int err;   /* sticky: -ENOSPC too many rules, -ENOMEM */
    /* The dictionary: rule -> number, open addressing; slots hold number + 1. */
    u64 *rules;
    u16 *slots;
    u32 nrules, max_rules;
    unsigned shift; /* 64 - log2(slots) */
};

struct rows_mark {
    u64 last;
    u32 n, block;
};

/* index and rows are borrowed. Returns 0 or -ENOMEM. */
int rows_init(struct rows *w, u64 lo, u32 nblocks, u32 *index, u32 *rows, u32 cap, u32 max_rules);
/* Fills the rest of the index. */
void rows_finish(struct rows *w);
void rows_free(struct rows *w);
u32 rows_new_rule(struct rows *w, u64 word);

static inline u64 rule_word(struct xp_rule r)
{
    u64 w;
    memcpy(&w, &r, sizeof(w));
    return w;
}

static inline u32 rows_slot(const struct rows *w, u64 word)
{
    return (u32)((word * 0x9e3779b97f4a7c15ull) >> w->shift);
}

static inline u32 rows_rule(struct rows *w, u64 word)
{
    u32 mask = (u32)(~0ull >> w->shift), i = rows_slot(w, word);
    for (; w->slots[i]; i = (i + 1) & mask)
        if (w->rules[w->slots[i] - 1] == word)
            return w->slots[i] - 1u;
    return rows_new_rule(w, word);
}

static inline u64 rows_loop_word(u64 word)
{
    struct xp_rule r;
    memcpy(&r, &word, sizeof(r));
    r.kind = loop_kind(r.kind);
    return rule_word(r);
}

/* Adds a row: from `offset` on the rule is `word`. `offset` is above every earlier one and below the end of block
 * nblocks - 1. The caller makes sure that w->cap is not exceeded. */
static inline void rows_emit(struct rows *w, u64 offset, u64 word)
{
    if (w->loop)
        word = rows_loop_word(word);
    if (word == w->last)
        return;
    u32 at = (u32)(offset - w->lo) & (XP_BLOCK - 1), block = (u32)((offset - w->lo) >> XP_BLOCK_SHIFT);
    w->last = word;
    while (w->block < block)
        w->index[++w->block] = w->n;
    w->rows[w->n++] = at | rows_rule(w, word) << 16;
}

static inline struct rows_mark rows_mark(const struct rows *w)
{
    return (struct rows_mark){w->last, w->n, w->block};
}
static inline void rows_rewind(struct rows *w, struct rows_mark m)
{
    w->last = m.last;
    w->n = m.n;
    w->block = m.block;
}
