/* Sets of code addresses: the possible targets of a jump through a register, if functions share a body that only
 * differs in this target ("lea r8, [second_pass]; jmp first_pass"). Sets are numbered; equal sets have equal numbers.
 */
#pragma once
#include "base/vec.h"
#include "synth/code.h"
#include "synth/state.h"

#define TARGETS_MAX      16   /* addresses in a set; larger sets become VALUE_UNKNOWN */
#define TARGETS_MAX_SETS 4096 /* of a file */

struct targets {
    u32 n;
    u64 v[TARGETS_MAX]; /* ascending */
};
struct target_sets {
    struct code *code; /* sets only contain addresses in its gaps */
    VEC(struct targets) v;
};

/* Returns a value that represents two different ones: VALUE_TARGETS, or VALUE_UNKNOWN if that is not possible. */
u64 targets_either(struct target_sets *t, u64 a, u64 b);
