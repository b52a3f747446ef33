/* What is known at one place of the code: a value for each register and for a few slots of the stack.
 *
 * A value is a kind, a base and an offset in one u64, so that "equal" is one comparison. The base of a stack address
 * is 0 for the CFA, or the number of the instruction (its index + 1) that set rsp to something that cannot be told from
 * the CFA: and rsp, -N; sub rsp, reg. Where paths meet, values that differ become unknown: the lattice is three high,
 * so each place settles after a few dozen visits.
 */
#pragma once
#include "bpf/types.h"
#include "synth/insn.h"
#include <stdbool.h>
#include <string.h>

enum value_kind {
    VALUE_UNKNOWN,
    VALUE_ENTRY, /* what register `base` was when the function began */
    VALUE_STACK, /* base + off */
    VALUE_CONST, /* a number of 60 bits */
    VALUE_LOAD,  /* one entry of the jump table at address `off` (its low 32 bits) */
    VALUE_CASE,  /* such an entry, added to the table's address: where a switch goes */
    VALUE_SLOT,  /* what was at CFA + off when the function began: the caller's, or where an orphan's function saved it
                  */
    VALUE_TARGETS, /* one of the addresses of set `off` (targets.h) */
    VALUE_SIZE,    /* CFA = base + this register + off: the size of a frame that was computed */
};
#define VALUE(kind, base, off) ((u64)(kind) << 60 | (u64)(base) << 32 | (u32)(off))
#define VALUE_KIND(v)          ((enum value_kind)((v) >> 60))
#define VALUE_BASE(v)          ((u32)((v) >> 32) & 0xfffffff)
#define VALUE_OFF(v)           ((s32)(u32)(v))
#define VALUE_MAX_OFF          (1 << 28) /* of stack addresses: more is nonsense */

#define STATE_SLOTS 14

struct state {
    u64 reg[16];
    u64 where[STATE_SLOTS], what[STATE_SLOTS]; /* where: a stack address */
    u32 slots;
    bool called; /* on some way here a call was passed whose callee was not seen to return */
};

/* Where something calls a function. */
void state_entry(struct state *s);
struct target_sets;
/* `s` becomes what both say; whether that is less than it said. `t`: the sets of addresses, which may become more. */
bool state_meet(struct state *s, const struct state *other, struct target_sets *t);

/* The value in the 8 bytes at a stack address. */
u64 state_load(const struct state *s, u64 where);
/* 8 bytes are written; values that no rule and no epilogue could use are not kept. */
void state_store(struct state *s, u64 where, u64 what);
/* So many bytes are overwritten. */
void state_smash(struct state *s, u64 where, u32 bytes);
/* What a callee keeps by the psABI: rbx, rbp, r12-r15 (and rsp, which is not asked for). */
#define KEPT_BY_ABI 0xf038u
/* A callee has run, which keeps these registers (bit r), and all above rsp. */
void state_call(struct state *s, u16 kept);
/* The registers that are what they were when the function began. */
u16 state_unchanged(const struct state *s);
/* This base is being computed anew: what is relative to the old one is not known any more. */
void state_forget(struct state *s, u32 base);

static inline bool value_is_stack(u64 v)
{
    return VALUE_KIND(v) == VALUE_STACK;
}
/* A stack address moved by d; unknown when it leaves all reason. */
static inline u64 value_move(u64 v, s64 d)
{
    s64 off = VALUE_OFF(v) + d;
    if (d < -VALUE_MAX_OFF || d > VALUE_MAX_OFF || off < -VALUE_MAX_OFF || off > VALUE_MAX_OFF)
        return 0;
    return VALUE(VALUE_KIND(v), VALUE_BASE(v), off);
}
static inline u64 value_const(u64 n)
{
    return n < 1ull << 56 ? (u64)VALUE_CONST << 60 | n : 0;
}
static inline u64 value_number(u64 v)
{
    return v & ((1ull << 60) - 1);
}
