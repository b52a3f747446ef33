/* Reduces the facts at each instruction to as few rows as possible.
 *
 * At most positions several rules are correct: CFA = rsp + 48 and, while rbp is the frame pointer, CFA = rbp + 16. A
 * row extends as long as one rule is correct at all of its instructions; when there is none left, the row is written
 * and the next one starts. So code that pushes arguments has one row if rbp or a stack slot can be used.
 */
#pragma once
#include "synth/state.h"
#include "synth/synth.h"

enum { RULES_CFA = 6, RULES_SAVED = 4 };

extern const u8 rules_dwarf_number[16]; /* of general registers, by their number in instructions */

struct rules { /* all rules that apply at one position; n == 0: none */
    u8 ncfa, nrbp, nrbx;
    u64 cfa[RULES_CFA];   /* enum xp_cfa | (u32)cfa_off << 8, the preferred one first */
    u32 rbp[RULES_SAVED]; /* enum xp_rbp | (u16)rbp_off << 8 */
    u8 rbx[RULES_SAVED];  /* as in struct xp_rule */
};

/* The location of the caller's rbp or rbx for an orphan: its start was not seen, but its epilogue restores them. */
struct answer {
    enum { ANSWER_NONE, ANSWER_SAME, ANSWER_SLOT, ANSWER_LOST } kind;
    s32 slot; /* offset from the assumed CFA */
};
struct frame {
    bool orphan;
    s32 shift; /* distance of the CFA from the assumed one, in bytes */
    struct answer rbp, rbx;
};

void rules_at(const struct state *s, const struct frame *f, struct rules *out);
/* Returns a rule without caller, for which registers do not matter. */
void rules_only(enum xp_cfa kind, struct rules *out);
/* Tells whether rsp is above the return address of the function, so that there is no frame any longer. */
bool rules_no_way_back(const struct state *s, const struct frame *f);
/* Reduces `r` to the rules in both. False: there are none; `r` is then unchanged. */
bool rules_narrow(struct rules *r, const struct rules *other);
/* Returns the preferred rule. */
struct xp_rule rules_pick(const struct rules *r, const struct frame *f);
struct xp_rule rules_unproven(void);
