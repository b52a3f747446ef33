/* Decides which call paths leak, by what they hold at several looks: blocks that are old by then, so that what comes
 * and goes at short term is not among them. A path leaks if what it holds for good grows all the time. What grows and
 * shrinks again does not, nor what is allocated once, or in a few steps. Pure: the caller looks.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

#define LEAKS_STACKS 32768 /* that are followed; of others nothing is known */

struct leaks;

struct leak {
    u64 stack;              /* its key */
    struct xp_amount grown; /* objects and bytes, from the first look to the last */
};
typedef VEC(struct leak) leaks_list;

int leaks_new(struct leaks **out); /* 0 or -ENOMEM */
void leaks_free(struct leaks **l);

/* Whether it is time for another look: the longer it takes, the rarer, because their number is limited. */
bool leaks_due(const struct leaks *l, u64 now_ns);
/* Begins a look. What is not passed to leaks_hold until the next one begins is not held. */
void leaks_look(struct leaks *l, u64 now_ns);
void leaks_hold(struct leaks *l, u64 stack, struct xp_amount held);

/* Whether there were enough looks to tell a leak from anything else. */
bool leaks_can_tell(const struct leaks *l);
/* Returns the time from the first look to the last, in ns. */
u64 leaks_span_ns(const struct leaks *l);
/* Appends the leaks, those that grow fastest first. Returns 0 or -ENOMEM. */
int leaks_find(const struct leaks *l, leaks_list *out);
