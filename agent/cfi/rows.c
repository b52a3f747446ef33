#include "cfi/rows.h"
#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS_LOG2 11 /* 4 KiB of slots: most files have a few hundred rules */

static void insert(struct rows *w, u32 number)
{
    u32 mask = (u32)(~0ull >> w->shift), i = rows_slot(w, w->rules[number]);
    while (w->slots[i])
        i = (i + 1) & mask;
    w->slots[i] = (u16)(number + 1);
}

/* Twice the slots, and half as many rules: the load stays at or below a half. */
static int grow(struct rows *w)
{
    size_t slots = (size_t)2 << (64 - w->shift);
    u64 *rules = reallocarray(w->rules, slots / 2, sizeof(*rules));
    if (!rules)
        return -ENOMEM;
    w->rules = rules;
    u16 *empty = calloc(slots, sizeof(*empty));
    if (!empty)
        return -ENOMEM;
    free(w->slots);
    w->slots = empty;
    w->shift--;
    for (u32 i = 0; i < w->nrules; i++)
        insert(w, i);
    return 0;
}

u32 rows_new_rule(struct rows *w, u64 word)
{
    if (w->nrules >= w->max_rules) {
        w->err = -ENOSPC;
        return 0;
    }
    if (w->nrules == 1u << (63 - w->shift)) {
        int err = grow(w);
        if (err) {
            w->err = err;
            return 0;
        }
    }
    w->rules[w->nrules] = word;
    insert(w, w->nrules);
    return w->nrules++;
}

int rows_init(struct rows *w, u64 lo, u32 nblocks, u32 *index, u32 *rows, u32 cap, u32 max_rules)
{
    *w = (struct rows){
        .lo = lo, .nblocks = nblocks, .index = index, .rows = rows, .cap = cap, .max_rules = max_rules, .shift = 64};
    w->shift = 64 - FIRST_SLOTS_LOG2 + 1;
    if (grow(w)) {
        rows_free(w);
        return -ENOMEM;
    }
    rows_new_rule(w, 0); /* number 0 is XP_CFA_NONE, the sentinel's */
    rows[0] = 0;
    index[0] = 1;
    w->n = 1;
    return 0;
}

void rows_finish(struct rows *w)
{
    while (w->block < w->nblocks)
        w->index[++w->block] = w->n;
}

void rows_free(struct rows *w)
{
    free(w->rules);
    free(w->slots);
    w->rules = NULL;
    w->slots = NULL;
}
