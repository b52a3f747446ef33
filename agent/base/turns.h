/* Divides a thread's time among those that it works for, so that one with endless work delays its own only. Time is
 * limited per round, and an owner may begin work as long as it has used less than TURNS_PART times what is left of the
 * round: a single owner gets four fifths of it, and whoever comes next still finds some (as with memory, shares.h).
 * Where the order is free, whoever used least lately should be first.
 *
 * Work is not interrupted, so it may exceed the limit; what it takes counts. Not synchronised.
 */
#pragma once
#include "base/map.h"
#include <stdbool.h>

#define TURNS_PART 4

struct turns {         /* initialize with {0}: no limit; release with turns_free */
    uint64_t limit_ns; /* of the round; 0: none */
    uint64_t used_ns;
    struct map now;  /* owner -> ns in this round */
    struct map past; /* the same of the rounds before: half of the last one, a quarter of the one before it, ... */
};

/* Begins a round. */
void turns_begin(struct turns *t, uint64_t limit_ns);
/* Tells whether there is time for work of this owner. Once it is false, it stays so until the next round. */
bool turns_may(const struct turns *t, uint64_t owner);
/* Notes time that work took. */
void turns_spend(struct turns *t, uint64_t owner, uint64_t ns);
/* Returns what an owner used lately, in ns. */
uint64_t turns_spent(const struct turns *t, uint64_t owner);
void turns_free(struct turns *t);
