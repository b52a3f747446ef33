/* Applies one instruction to a state (state.h) and finds where control goes next. */
#pragma once
#include "synth/state.h"

enum step_to {
    STEP_ON, /* to the next instruction */
    STEP_RET,
    STEP_JUMP,   /* to `target` */
    STEP_BRANCH, /* to `target`, or on */
    STEP_CALL,   /* of `target`, 0: not known; then on, if it returns */
    STEP_SWITCH, /* to wherever `table` says */
    STEP_STOP,   /* nowhere */
};

struct step {
    enum step_to to;
    bool changed; /* the rules may have (rules.h) */
    u64 target;   /* address */
    u64 table; /* address of the table of an indirect jump: of s32 relative to itself, or of addresses; 0: not known */
    bool absolute;
    u64 targets; /* VALUE_TARGETS: it goes to one of these; or 0 */
};

/* Where orphans store relative to the CFA they assume: what is read there later is not what was there at first. */
#define STORES_MAX 64
struct stores {
    u32 n; /* above STORES_MAX: too many to tell */
    s32 from[STORES_MAX], to[STORES_MAX];
};
bool stores_touch(const struct stores *m, s32 off);

/* The instruction at index `at` of the code (it numbers a new base), whose successor is at address `next`. If it calls,
 * the callee keeps the registers `kept`. `m`: NULL, or notes what is stored. */
void step(struct state *s, const struct insn *x, u64 next, u32 at, u16 kept, struct stores *m, struct step *out);
