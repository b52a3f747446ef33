/* Divides something bounded among those who use it, so that one of them cannot take it away from the others: an owner
 * may hold SHARES_PART times as much as is free. One owner alone gets four fifths; each further one that takes all that
 * it can leaves a fifth of the rest, so the next newcomer always finds some. Nobody needs to know how many owners there
 * are, or which of them are idle (dynamic thresholds, as switches use them for the buffers of their ports: Choudhury
 * and Hahne, 1998).
 *
 * Amounts are in any unit. Not synchronised.
 */
#pragma once
#include "base/map.h"
#include <stdbool.h>

#define SHARES_PART 4
#define SHARES_ALL  (~(uint64_t)0) /* an owner without a share: may hold everything */

struct shares {     /* {.limit = ...} at first; ends with shares_free */
    uint64_t limit; /* to be divided */
    uint64_t used;
    struct map held; /* owner -> amount, of those that hold some */
};

/* Takes `n` for an owner. False: it is over its share, or there is not so much left; nothing is taken then. */
bool shares_take(struct shares *s, uint64_t owner, uint64_t n);
/* Gives back what was taken. */
void shares_give(struct shares *s, uint64_t owner, uint64_t n);
uint64_t shares_held(const struct shares *s, uint64_t owner);
/* Does it hold more than its share, as others have taken of theirs since? It should be the first to lose some. */
bool shares_over(const struct shares *s, uint64_t owner);
void shares_free(struct shares *s);
