/* Executes CFI instructions on struct cfi_state (cfi/cfi.h). Inline, for the interpreter's loop only. */
#pragma once
#include "cfi/cfi.h"

/* The fields of struct xp_rule as a number, from the low end: cfa_off, rbp_off, kind, rbx. */
#define RBP_OFF   32
#define KIND      48
#define RBP_KIND  53
#define RBX       56
#define CFA_MASK  0xffffffffull
#define RBP_MASK  (0xffffull << RBP_OFF | 3ull << RBP_KIND)
#define KIND_MASK (31ull << KIND)
#define RBX_MASK  (0xffull << RBX)

static inline struct xp_rule rule_of(u64 word)
{
    struct xp_rule r;
    memcpy(&r, &word, sizeof(r));
    return r;
}

static inline u64 with_rbp(u64 word, unsigned how, s64 off)
{
    if (off != (s16)off) {
        how = XP_RBP_LOST;
        off = 0;
    }
    return (word & ~RBP_MASK) | (u64)(u16)off << RBP_OFF | (u64)how << RBP_KIND;
}

static inline u64 with_rbx(u64 word, unsigned rbx)
{
    return (word & ~RBX_MASK) | (u64)rbx << RBX;
}

static inline void set_odd(struct cfi_state *s, u64 reg, enum cfi_odd odd)
{
    s->extra = (s->extra & ~0xffffull) | reg | (u64)odd << 8;
}

static inline void set_ra(struct cfi_state *s, enum cfi_ra how, unsigned reg)
{
    s->extra = (s->extra & ~0xffff0000ull) | (u64)how << 16 | (u64)reg << 24;
}

static inline bool has_register(struct cfi_state s)
{
    return (s.extra & 255) < CFI_NOTHING;
}

static inline void set_cfa_offset(struct cfi_state *s, s64 off)
{
    s->word = (s->word & ~CFA_MASK) | (u32)off;
    if (off != (s32)off) /* a rule cannot represent it, and the register alone is not useful */
        set_odd(s, CFI_NOTHING, CFI_NO_CFA);
}

static inline void set_cfa_register(struct cfi_state *s, u64 reg)
{
    unsigned kind = reg == DW_RSP ? XP_CFA_RSP : reg == DW_RBP ? XP_CFA_RBP : reg == DW_RBX ? XP_CFA_RBX : 0;
    set_odd(s, reg < CFI_NOTHING ? reg : CFI_NOTHING - 1, kind ? CFI_PLAIN : CFI_REGISTER);
    s->word = (s->word & ~KIND_MASK) | (u64)kind << KIND;
}

/* DW_CFA_offset and similar instructions: `reg` was saved at CFA + off. */
static inline void set_saved(struct cfi_state *s, u64 reg, s64 off)
{
    if (reg == DW_RBP)
        s->word = with_rbp(s->word, XP_RBP_CFA, off);
    else if (reg == DW_RBX)
        s->word =
            with_rbx(s->word, off < 0 && !(off & 7) && off > -8 * XP_RBX_LOST ? (unsigned)(-off / 8) : XP_RBX_LOST);
    else if (reg == DW_RA)
        set_ra(s, off == -8 ? CFI_RA_CFA8 : CFI_RA_OTHER, 0);
}

static inline void set_lost(struct cfi_state *s, u64 reg)
{
    if (reg == DW_RBP)
        s->word = with_rbp(s->word, XP_RBP_LOST, 0);
    else if (reg == DW_RBX)
        s->word = with_rbx(s->word, XP_RBX_LOST);
    else if (reg == DW_RA)
        set_ra(s, CFI_RA_OTHER, 0);
}

static inline void set_same(struct cfi_state *s, u64 reg)
{
    if (reg == DW_RBP)
        s->word = with_rbp(s->word, XP_RBP_SAME, 0);
    else if (reg == DW_RBX)
        s->word = with_rbx(s->word, XP_RBX_SAME);
    else if (reg == DW_RA)
        set_ra(s, CFI_RA_OTHER, 0);
}

static inline void restore(struct cfi_state *s, const struct cfi_state *init, u64 reg)
{
    u64 mask = reg == DW_RBP ? RBP_MASK : reg == DW_RBX ? RBX_MASK : 0;
    s->word = (s->word & ~mask) | (init->word & mask);
    if (reg == DW_RA)
        s->extra = (s->extra & ~0xffff0000ull) | (init->extra & 0xffff0000ull);
}

static inline void set_cfa(struct cfi_state *s, unsigned kind, s32 off)
{
    set_odd(s, CFI_EXPRESSION, CFI_PLAIN);
    s->word = (s->word & ~(KIND_MASK | CFA_MASK)) | (u64)kind << KIND | (u32)off;
}
