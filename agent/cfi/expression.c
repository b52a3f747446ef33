/* Values are sums: a constant, a register, eight times another, a word in memory whose address is such a sum.
 * Compilers, linkers and authors of assembly spell the same sum in several ways ("lit16; plus" is "plus_uconst 16"). */
#include "cfi/expression.h"
#include "cfi/cfi.h"
#include "cfi/leb.h"
#include <dwarf.h>
#include <string.h>

#define MAX_STACK 4 /* CFA expressions in use need two */

struct sum { /* number + reg + 8 * scaled */
    s64 number;
    u8 reg, scaled; /* DWARF number + 1; 0: none */
};
struct value { /* sum + *at */
    struct sum sum, at;
    bool deref;
};
struct stack {
    struct value v[MAX_STACK];
    unsigned n;
};

/* The second half of a PLT slot has pushed 8 bytes more; linkers write it like this. */
static bool is_plt(const u8 *p, size_t n, s32 *pushed_from)
{
    static const u8 plt[] = {DW_OP_breg7, 8,        DW_OP_breg16, 0,         DW_OP_lit15, DW_OP_and,
                             DW_OP_lit0,  DW_OP_ge, DW_OP_lit3,   DW_OP_shl, DW_OP_plus};
    if (n != sizeof(plt) || memcmp(p, plt, 6) || memcmp(p + 7, plt + 7, 4) || p[6] < DW_OP_lit0 || p[6] > DW_OP_lit15)
        return false;
    *pushed_from = p[6] - DW_OP_lit0;
    return true;
}

static bool is_number(const struct value *v)
{
    return !v->deref && !v->sum.reg && !v->sum.scaled;
}

static bool push(struct stack *s, struct value v)
{
    if (s->n == MAX_STACK)
        return false;
    s->v[s->n++] = v;
    return true;
}

static bool push_number(struct stack *s, s64 number)
{
    return push(s, (struct value){.sum.number = number});
}

static bool push_register(struct stack *s, u64 reg, s64 off)
{
    return reg <= DW_RA && push(s, (struct value){.sum = {.number = off, .reg = (u8)(reg + 1)}});
}

static bool add(struct stack *s)
{
    if (s->n < 2)
        return false;
    struct value *a = &s->v[s->n - 2], *b = &s->v[s->n - 1];
    if ((a->deref && b->deref) || (a->sum.reg && b->sum.reg) || (a->sum.scaled && b->sum.scaled))
        return false;
    a->sum.number = (s64)((u64)a->sum.number + (u64)b->sum.number);
    a->sum.reg |= b->sum.reg;
    a->sum.scaled |= b->sum.scaled;
    if (b->deref)
        a->at = b->at;
    a->deref |= b->deref;
    s->n--;
    return true;
}

static bool subtract(struct stack *s)
{
    if (s->n < 2 || !is_number(&s->v[s->n - 1]))
        return false;
    struct sum *by = &s->v[s->n - 1].sum;
    by->number = (s64)(0 - (u64)by->number);
    return add(s);
}

/* A register by 8, or shifted by 3. */
static bool scale(struct stack *s, s64 by)
{
    if (s->n < 2 || !is_number(&s->v[s->n - 1]) || s->v[s->n - 1].sum.number != by)
        return false;
    struct value *v = &s->v[s->n - 2];
    if (v->deref || v->sum.number || v->sum.scaled)
        return false;
    v->sum.scaled = v->sum.reg;
    v->sum.reg = 0;
    s->n--;
    return true;
}

static bool dereference(struct stack *s)
{
    if (!s->n || s->v[s->n - 1].deref)
        return false;
    struct value *v = &s->v[s->n - 1];
    *v = (struct value){.deref = true, .at = v->sum};
    return true;
}

static bool push_constant(struct stack *s, u8 op, const u8 **p, const u8 *end)
{
    static const u8 sizes[] = {1, 1, 2, 2, 4, 4, 8, 8}; /* const1u, const1s, const2u, ... */
    unsigned n = sizes[op - DW_OP_const1u], unused = 64 - 8 * n;
    u64 v = 0;
    if ((size_t)(end - *p) < n)
        return false;
    memcpy(&v, *p, n);
    *p += n;
    bool is_signed = (op - DW_OP_const1u) & 1;
    return push_number(s, is_signed ? (s64)(v << unused) >> unused : (s64)v);
}

static bool operation(struct stack *s, u8 op, const u8 **p, const u8 *end)
{
    s64 off;
    u64 u;
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
        return push_number(s, op - DW_OP_lit0);
    if (op >= DW_OP_const1u && op <= DW_OP_const8s)
        return push_constant(s, op, p, end);
    if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
        return leb_signed(p, end, &off) && push_register(s, op - DW_OP_breg0, off);
    switch (op) {
    case DW_OP_constu:
        return leb_unsigned(p, end, &u) && push_number(s, (s64)u);
    case DW_OP_consts:
        return leb_signed(p, end, &off) && push_number(s, off);
    case DW_OP_bregx:
        return leb_unsigned(p, end, &u) && leb_signed(p, end, &off) && push_register(s, u, off);
    case DW_OP_plus_uconst:
        return leb_unsigned(p, end, &u) && push_number(s, (s64)u) && add(s);
    case DW_OP_plus:
        return add(s);
    case DW_OP_minus:
        return subtract(s);
    case DW_OP_mul:
        return scale(s, 8);
    case DW_OP_shl:
        return scale(s, 3);
    case DW_OP_deref:
        return dereference(s);
    default:
        return op == DW_OP_nop;
    }
}

static bool plain_rule(const struct sum *sum, unsigned *kind, s32 *cfa_off)
{
    unsigned reg = sum->reg - 1u;
    if (!sum->reg || sum->scaled || reg == DW_RA)
        return false;
    *kind = reg == DW_RSP ? XP_CFA_RSP : reg == DW_RBP ? XP_CFA_RBP : reg == DW_RBX ? XP_CFA_RBX : XP_CFA_REG;
    *cfa_off = *kind == XP_CFA_REG ? XP_REG_RULE(reg, sum->number) : (s32)sum->number;
    return (*kind == XP_CFA_REG ? XP_REG_OFFSET(*cfa_off) : *cfa_off) == sum->number;
}

static bool memory_rule(const struct value *v, unsigned *kind, s32 *cfa_off)
{
    const struct sum *at = &v->at;
    s64 plus = v->sum.number;
    bool by_rsp = at->reg == DW_RSP + 1, by_rbp = at->reg == DW_RBP + 1;
    if (v->sum.scaled || at->number != (s16)at->number)
        return false;
    if (at->scaled) {
        *kind = XP_CFA_INDEXED;
        *cfa_off = XP_INDEX_RULE(at->scaled - 1, at->number, plus);
        return by_rsp && !v->sum.reg && at->scaled - 1 < DW_RA && plus == (u8)plus;
    }
    *kind = v->sum.reg ? XP_CFA_RSP_DEREF : by_rbp ? XP_CFA_DEREF_RBP : XP_CFA_DEREF_RSP;
    *cfa_off = (s32)((u32)(u16)at->number | (u32)plus << 16);
    return plus == (s16)plus && (by_rsp || (by_rbp && !v->sum.reg)) && (!v->sum.reg || v->sum.reg == DW_RSP + 1);
}

bool expression_cfa(const u8 *p, const u8 *end, unsigned *kind, s32 *cfa_off)
{
    struct stack s = {.n = 0};
    unsigned k = XP_CFA_PLT;
    s32 off;
    bool ok = is_plt(p, (size_t)(end - p), &off);
    if (!ok) {
        while (p < end)
            if (!operation(&s, *p++, &p, end))
                return false;
        ok = s.n == 1 && (s.v[0].deref ? memory_rule(&s.v[0], &k, &off) : plain_rule(&s.v[0].sum, &k, &off));
    }
    if (ok) {
        *kind = k;
        *cfa_off = off;
    }
    return ok;
}
