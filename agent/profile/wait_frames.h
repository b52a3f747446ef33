/* Puts the causes of waits into the stacks of a profile, once its kernel frames have names: as frames of their own at
 * the leaf, which all stacks with the same cause share.
 */
#pragma once
#include "profile/profile.h"

#define WAIT_MAPPING "[wait]" /* pprof's readers want every frame in a mapping */

/* A word of kind XP_WORD_WAIT in the stack that it came from. */
struct wait_place {
    size_t at;   /* in profile.stack_locations: to be filled in */
    u16 nkernel; /* kernel frames, from at + 1 on */
    u8 flags;    /* XP_WAIT_* */
};
/* Returns 0 or -ENOMEM. */
int wait_frames_add(struct profile *p, const struct wait_place *places, size_t n);
