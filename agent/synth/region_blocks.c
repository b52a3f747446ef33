/* The blocks of regions: found, made, and taken back with their region. The idea is in analysis.h. */
#include "synth/analysis.h"
#include <errno.h>

struct block *region_block_at(struct analysis *a, u32 at)
{
    for (u32 i = a->granules[at >> BLOCK_GRANULE]; i; i = a->blocks.v[i - 1].next)
        if (a->blocks.v[i - 1].at == at)
            return &a->blocks.v[i - 1];
    return NULL;
}

struct block *region_block_of(struct analysis *a, u32 at)
{
    u32 last = at > BLOCK_MAX_BYTES ? (at - BLOCK_MAX_BYTES) >> BLOCK_GRANULE : 0;
    for (u32 g = (at >> BLOCK_GRANULE) + 1; g-- > last;)
        for (u32 i = a->granules[g]; i; i = a->blocks.v[i - 1].next) {
            struct block *b = &a->blocks.v[i - 1];
            if (b->at <= at && at < b->at + b->len)
                return b;
        }
    return NULL;
}

struct block *region_add_block(struct analysis *a, u32 at, const struct state *s)
{
    if (a->states.n >= MAX_LIVE_BLOCKS) {
        region_current(a)->bad = true;
        return NULL;
    }
    if (a->blocks.n >= MAX_BLOCKS) {
        analysis_drop(a, SYNTH_DROP_MEMORY);
        return NULL;
    }
    struct block *b = VEC_PUSH(&a->blocks);
    struct state *copy = b ? VEC_PUSH(&a->states) : NULL;
    if (!copy) {
        a->err = -ENOMEM;
        return NULL;
    }
    u32 *head = &a->granules[at >> BLOCK_GRANULE];
    *b = (struct block){.at = at, .region = a->current, .next = *head};
    *head = (u32)a->blocks.n;
    *copy = *s;
    a->code.marks[at] |= CODE_LEAD;
    region_current(a)->nblocks++;
    return b;
}

static void unlink_block(struct analysis *a, const struct block *b)
{
    u32 me = (u32)(b - a->blocks.v) + 1, *p = &a->granules[b->at >> BLOCK_GRANULE];
    while (*p && *p != me)
        p = &a->blocks.v[*p - 1].next;
    if (*p)
        *p = b->next;
    a->code.marks[b->at] &= (u8)~CODE_LEAD;
    for (u32 i = 0; i < b->len; i++)
        a->code.marks[b->at + i] &= (u8) ~(CODE_INSN | CODE_MID);
}

void region_take_back(struct analysis *a, u32 region)
{
    struct region *r = &a->regions.v[region];
    for (u32 i = 0; i < r->nblocks && !r->gone; i++)
        unlink_block(a, &a->blocks.v[r->first_block + i]);
    r->gone = true;
    if (r->first_block + r->nblocks == a->blocks.n)
        a->blocks.n = r->first_block;
    if (r->first_row + r->nrows == a->rows.n)
        a->rows.n = r->first_row;
    r->nblocks = r->nrows = 0;
}
