/* The state at one position of the code: a value for each register and for a few stack slots.
 *
 * A value is a kind, a base and an offset in one u64, so that "equal" is one comparison. The base of a stack address is
 * 0 for the CFA, or the number (index + 1) of the instruction that set rsp to an unknown distance from the CFA: and
 * rsp, -N; sub rsp, reg. Where paths meet, different values become unknown. The lattice has a height of three, so each
 * position is stable after a few dozen visits.
 */
#pragma once
#include "bpf/types.h"
#include "synth/insn.h"
#include <stdbool.h>
#include <string.h>

enum value_kind {
    VALUE_UNKNOWN,
    VALUE_ENTRY, /* value of register `base` at the entry of the function */
    VALUE_STACK, /* base + off */
    VALUE_CONST, /* a number of 60 bits */
    VALUE_LOAD,  /* one entry of the jump table at address `off` (its low 32 bits) */
    VALUE_CASE,  /* such an entry, added to the table's address: target of a switch */
    VALUE_SLOT,  /* what was at CFA + off when the function began: the caller's, or where an orphan's function saved it
                  */
    VALUE_TARGETS, /* one of the addresses of set `off` (targets.h) */
    VALUE_SIZE,    /* CFA = base + this register + off: a computed frame size */
};
#define VALUE(kind, base, off) ((u64)(kind) << 60 | (u64)(base) << 32 | (u32)(off))
#define VALUE_KIND(v)          ((enum value_kind)((v) >> 60))
#define VALUE_BASE(v)          ((u32)((v) >> 32) & 0xfffffff)
#define VALUE_OFF(v)           ((s32)(u32)(v))
#define VALUE_MAX_OFF          (1 << 28) /* maximum offset of stack addresses */

#define STATE_SLOTS 14

struct state {
    u64 reg[16];
    u64 where[STATE_SLOTS], what[STATE_SLOTS]; /* where: a stack address */
    u32 slots;
    bool called; /* some path to here passed a call that is not known to return */
};

/* Sets the state at the entry of a function. */
void state_entry(struct state *s);
struct target_sets;
/* Reduces `s` to what is true in both states. Returns whether `s` changed. `t`: the sets of addresses; new ones may be
 * added. */
bool state_meet(struct state *s, const struct state *other, struct target_sets *t);

/* Returns the value of the 8 bytes at a stack address. */
u64 state_load(const struct state *s, u64 where);
/* Writes 8 bytes; values that no rule and no epilogue could use are not stored. */
void state_store(struct state *s, u64 where, u64 what);
/* Marks `bytes` bytes as overwritten. */
void state_smash(struct state *s, u64 where, u32 bytes);
/* Registers preserved by a callee according to the psABI: rbx, rbp, r12-r15 (and rsp, which is not in the set). */
#define KEPT_BY_ABI 0xf038u
/* Applies a call whose callee preserves these registers (bit r) and all memory above rsp. */
void state_call(struct state *s, u16 kept);
/* Returns the registers that have the same value as at the entry of the function. */
u16 state_unchanged(const struct state *s);
/* Invalidates all values relative to this base, because it is computed again. */
void state_forget(struct state *s, u32 base);

static inline bool value_is_stack(u64 v)
{
    return VALUE_KIND(v) == VALUE_STACK;
}
/* Adds d to a stack address; unknown if the result is out of range. */
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
