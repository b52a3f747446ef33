/* Divides a limited resource among its owners, so that no owner can starve the others: an owner may hold up to
 * SHARES_PART times the amount that is free. A single owner gets four fifths of the resource. Each further owner that
 * takes its maximum leaves a fifth of the rest free, so a new owner always finds some. The algorithm does not depend on
 * the number of owners or on which of them are idle (dynamic thresholds, as network switches use them for port buffers:
 * Choudhury and Hahne, 1998).
 *
 * Amounts are in any unit. Not synchronised.
 */
#pragma once
#include "base/map.h"
#include <stdbool.h>

#define SHARES_PART 4
#define SHARES_ALL  (~(uint64_t)0) /* an owner without a share: may hold everything */

struct shares {     /* initialize with {.limit = ...}; release with shares_free */
    uint64_t limit; /* total amount to divide */
    uint64_t used;
    struct map held; /* owner -> amount, for owners that hold some */
};

/* Takes `n` for an owner. Returns false and takes nothing if that exceeds the owner's share or the free amount. */
bool shares_take(struct shares *s, uint64_t owner, uint64_t n);
/* Gives back what was taken. */
void shares_give(struct shares *s, uint64_t owner, uint64_t n);
uint64_t shares_held(const struct shares *s, uint64_t owner);
/* Tells whether the owner holds more than its share, which shrinks as others take theirs. Evict from such owners
 * first. */
bool shares_over(const struct shares *s, uint64_t owner);
void shares_free(struct shares *s);
