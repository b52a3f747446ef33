/* Sets of code addresses: where a jump through a register may go, when functions that differ only in that share a body
 * ("lea r8, [second_pass]; jmp first_pass"). Each set is numbered; equal sets have equal numbers.
 */
#pragma once
#include "base/vec.h"
#include "synth/code.h"
#include "synth/state.h"

#define TARGETS_MAX      16   /* addresses in a set; more are not known any more */
#define TARGETS_MAX_SETS 4096 /* of a file */

struct targets {
    u32 n;
    u64 v[TARGETS_MAX]; /* ascending */
};
struct target_sets {
    struct code *code; /* an address outside of its gaps is in no set */
    VEC(struct targets) v;
};

/* A value that is either of two different ones: VALUE_TARGETS, or VALUE_UNKNOWN when it cannot be told. */
u64 targets_either(struct target_sets *t, u64 a, u64 b);
