/* Applies one instruction to a state (state.h) and finds where control goes next. */
#pragma once
#include "synth/state.h"

enum step_to {
    STEP_ON, /* to the next instruction */
    STEP_RET,
    STEP_JUMP,   /* to `target` */
    STEP_BRANCH, /* to `target`, or on */
    STEP_CALL,   /* calls `target` (0: unknown), then continues if that returns */
    STEP_SWITCH, /* to the targets in `table` */
    STEP_STOP,   /* nowhere */
};

struct step {
    enum step_to to;
    bool changed; /* the rules may have changed (rules.h) */
    u64 target;   /* address */
    u64 table; /* address of the table of an indirect jump: of s32 relative to itself, or of addresses; 0: not known */
    bool absolute;
    u64 targets; /* VALUE_TARGETS: jumps to one of these; or 0 */
};

/* Stores of an orphan, relative to the assumed CFA: later reads there do not return the initial value. */
#define STORES_MAX 64
struct stores {
    u32 n; /* above STORES_MAX: too many to track */
    s32 from[STORES_MAX], to[STORES_MAX];
};
bool stores_touch(const struct stores *m, s32 off);

/* Applies the instruction at index `at` of the code (used as the number of a new base), whose successor is at address
 * `next`. If it is a call, the callee preserves the registers `kept`. `m`: records stores; may be NULL. */
void step(struct state *s, const struct insn *x, u64 next, u32 at, u16 kept, struct stores *m, struct step *out);
