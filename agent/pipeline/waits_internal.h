/* What the parts of waits.h share: the stacks that are kept. */
#pragma once
#include "pipeline/waits.h"

struct wait_stack {
    u64 key;
    struct xp_sample *sample; /* owned, with its words */
    u32 used;                 /* the interval in which it was sent or referred to last */
    bool open;                /* still being unwound */
    bool kept;                /* others may refer to it at any time */
    u8 event;                 /* whose `level` it is, */
    u8 value;                 /* and which of its values */
    struct xp_amount level;   /* what is left of all that it brought (struct wait_events: levels) */
};

static inline size_t waits_words(const struct xp_sample *s)
{
    return (size_t)s->nkernel + s->nuser;
}

static inline bool waits_has_level(const struct wait_stack *k)
{
    return k->level.count || k->level.value;
}

struct waits_user { /* who gets samples */
    waits_use *sample;
    void *ctx;
};

/* Returns the stack of a key; NULL: it is not known. Valid until another one is kept. */
struct wait_stack *waits_find(const struct waits *w, u64 key);
/* Returns room for any sample, to be freed; NULL: there is no memory. */
struct xp_sample *waits_room(void);

/* ---- waits_sums.c ---- */
/* Passes a sum on as a sample, which is made in `room`. */
void waits_take_sum(struct waits *w, const struct probe_sum *row, const struct wait_events *events,
                    struct xp_sample *room, const struct waits_user *to);
