/* Puts the reasons of waits into the stacks of a profile, once its kernel frames have names: causes, names of others,
 * and marks, as frames of their own, which all stacks with the same one share.
 */
#pragma once
#include "profile/profile.h"

/* pprof's readers want every frame in a mapping. */
#define WAIT_MAPPING  "[wait]"  /* causes */
#define LOCK_MAPPING  "[lock]"  /* locks that are in no file (locks.h) */
#define LABEL_MAPPING "[label]" /* what tells sums of one stack apart (sum_label.h) */
#define WAKER_MAPPING "[waker]" /* processes of wakers, and marks instead of their frames */

/* A word that is no frame, in the stack that it came from. */
struct wait_place {
    size_t at;        /* in profile.stack_locations: to be filled in */
    const u64 *words; /* one; of a waker's name, XP_NAME_WORDS */
    u16 nkernel;      /* of a cause: kernel frames, from at + 1 on */
    u32 stack;        /* row of profile.stacks */
};
/* Returns 0 or -ENOMEM. */
int wait_frames_add(struct profile *p, const struct wait_place *places, size_t n);
/* Returns the kind of word (XP_WORD_*) whose frames are in a mapping of this name; 0: it is none of these. */
u8 wait_mapping_kind(const char *mapping);
