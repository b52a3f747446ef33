/* Reduces the facts at each instruction to as few rows as possible.
 *
 * At most places several rules are right: CFA = rsp + 48 and, as long as rbp stands, CFA = rbp + 16. A row is kept for
 * as long as one rule is right at every instruction in a row; when the last one fails, it is written, and the next row
 * begins. So code that pushes arguments has one row, if rbp or a slot of the stack serves.
 */
#pragma once
#include "synth/state.h"
#include "synth/synth.h"

enum { RULES_CFA = 6, RULES_SAVED = 4 };

struct rules { /* all that hold at one place; none: n == 0 */
    u8 ncfa, nrbp, nrbx;
    u64 cfa[RULES_CFA];   /* enum xp_cfa | (u32)cfa_off << 8, the preferred one first */
    u32 rbp[RULES_SAVED]; /* enum xp_rbp | (u16)rbp_off << 8 */
    u8 rbx[RULES_SAVED];  /* as in struct xp_rule */
};

/* Where rbp or rbx of an orphan's caller are: its beginning was not seen, but its epilogue says it. */
struct answer {
    enum { ANSWER_NONE, ANSWER_SAME, ANSWER_SLOT, ANSWER_LOST } kind;
    s32 slot; /* from the CFA that was assumed */
};
struct frame {
    bool orphan;
    s32 shift; /* the CFA is so many bytes above the one that was assumed */
    struct answer rbp, rbx;
};

void rules_at(const struct state *s, const struct frame *f, struct rules *out);
/* A rule that leads to no caller: then its registers do not matter either. */
void rules_only(enum xp_cfa kind, struct rules *out);
/* Is rsp above the function's own return address, so that it is no function's frame any more? */
bool rules_no_way_back(const struct state *s, const struct frame *f);
/* What both hold, in `r`; false: nothing, and `r` is as it was. */
bool rules_narrow(struct rules *r, const struct rules *other);
/* The one to be used. */
struct xp_rule rules_pick(const struct rules *r, const struct frame *f);
struct xp_rule rules_unproven(void);
