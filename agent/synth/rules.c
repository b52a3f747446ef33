#include "synth/rules.h"

#define MAX_FRAME (1 << 24) /* bytes; a rule's offsets of registers have 24 bits */
#define RED_ZONE  128       /* below rsp, but safe from signal handlers (psABI, 3.2.2) */

const u8 rules_dwarf_number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* CFA = value + *off? */
static bool leads_to_cfa(u64 v, const struct frame *f, s32 *off)
{
    if (!value_is_stack(v) || VALUE_BASE(v))
        return false;
    *off = f->shift - VALUE_OFF(v);
    return *off > -MAX_FRAME / 2 && *off < MAX_FRAME / 2;
}

static void add_cfa(struct rules *r, enum xp_cfa kind, s32 off)
{
    if (r->ncfa < RULES_CFA)
        r->cfa[r->ncfa++] = (u64)kind | (u64)(u32)off << 8;
}

static void add_pair(struct rules *r, enum xp_cfa kind, s32 at, s32 plus)
{
    if (at == (s16)at && plus == (s16)plus)
        add_cfa(r, kind, (s32)((u32)(u16)at | (u32)plus << 16));
}

/* Does nobody else write there? */
static bool is_safe(const struct state *s, u64 where)
{
    u64 rsp = s->reg[INSN_RSP];
    return !value_is_stack(rsp) || VALUE_BASE(rsp) != VALUE_BASE(where) ||
           VALUE_OFF(where) >= VALUE_OFF(rsp) - RED_ZONE;
}

/* CFA = *(reg + n) + m. */
static void add_dereferenced(struct rules *r, const struct state *s, const struct frame *f, unsigned reg)
{
    u64 base = s->reg[reg];
    s32 off;
    for (u32 i = 0; value_is_stack(base) && i < s->slots; i++)
        if (VALUE_BASE(s->where[i]) == VALUE_BASE(base) && leads_to_cfa(s->what[i], f, &off) && is_safe(s, s->where[i]))
            add_pair(r, reg == INSN_RSP ? XP_CFA_DEREF_RSP : XP_CFA_DEREF_RBP, VALUE_OFF(s->where[i]) - VALUE_OFF(base),
                     off);
}

/* CFA = rsp + *(rsp + n) + m: the size of the frame was computed, and kept in it. */
static void add_sized(struct rules *r, const struct state *s, const struct frame *f)
{
    u64 rsp = s->reg[INSN_RSP];
    for (u32 i = 0; value_is_stack(rsp) && VALUE_BASE(rsp) && i < s->slots; i++)
        if (VALUE_BASE(s->where[i]) == VALUE_BASE(rsp) && VALUE_KIND(s->what[i]) == VALUE_SIZE &&
            VALUE_BASE(s->what[i]) == VALUE_BASE(rsp))
            add_pair(r, XP_CFA_RSP_DEREF, VALUE_OFF(s->where[i]) - VALUE_OFF(rsp),
                     VALUE_OFF(s->what[i]) - VALUE_OFF(rsp) + f->shift);
}

bool rules_no_way_back(const struct state *s, const struct frame *f)
{
    s32 off;
    return leads_to_cfa(s->reg[INSN_RSP], f, &off) && off < 8;
}

static void add_cfas(struct rules *r, const struct state *s, const struct frame *f)
{
    static const struct {
        enum insn_reg reg;
        enum xp_cfa kind;
    } plain[] = {{INSN_RSP, XP_CFA_RSP}, {INSN_RBP, XP_CFA_RBP}, {INSN_RBX, XP_CFA_RBX}};
    s32 off;
    if (rules_no_way_back(s, f))
        return;
    for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (leads_to_cfa(s->reg[plain[i].reg], f, &off))
            add_cfa(r, plain[i].kind, off);
    if (!r->ncfa) {
        add_dereferenced(r, s, f, INSN_RSP);
        add_dereferenced(r, s, f, INSN_RBP);
        add_sized(r, s, f);
    }
    for (unsigned i = 0; i < 16 && !r->ncfa; i++) /* known in the leaf only */
        if (leads_to_cfa(s->reg[i], f, &off))
            add_cfa(r, XP_CFA_REG, XP_REG_RULE(rules_dwarf_number[i], off));
}

/* A place where a callee-saved register of the caller is. */
struct place {
    enum { PLACE_SELF, PLACE_CFA, PLACE_RSP } kind;
    s32 off;
};

static unsigned find_places(const struct state *s, const struct frame *f, unsigned reg, struct place *out, unsigned max)
{
    const struct answer *a = reg == INSN_RBP ? &f->rbp : &f->rbx;
    u64 v = s->reg[reg], wanted = VALUE(VALUE_ENTRY, reg, 0), rsp = s->reg[INSN_RSP];
    unsigned n = 0;
    if (f->orphan && a->kind == ANSWER_SLOT)
        wanted = VALUE(VALUE_SLOT, 0, a->slot);
    else if (f->orphan && a->kind != ANSWER_SAME)
        return 0;
    if (v == wanted)
        out[n++] = (struct place){PLACE_SELF, 0};
    if (f->orphan && a->kind == ANSWER_SLOT && n < max && is_safe(s, VALUE(VALUE_STACK, 0, a->slot)))
        out[n++] = (struct place){PLACE_CFA, a->slot - f->shift};
    for (u32 i = 0; i < s->slots && n < max; i++) {
        if (s->what[i] != wanted || !is_safe(s, s->where[i]))
            continue;
        if (!VALUE_BASE(s->where[i]))
            out[n++] = (struct place){PLACE_CFA, VALUE_OFF(s->where[i]) - f->shift};
        else if (value_is_stack(rsp) && VALUE_BASE(rsp) == VALUE_BASE(s->where[i]))
            out[n++] = (struct place){PLACE_RSP, VALUE_OFF(s->where[i]) - VALUE_OFF(rsp)};
    }
    return n;
}

static void add_rbps(struct rules *r, const struct place *p, unsigned n)
{
    static const enum xp_rbp kind[] = {[PLACE_SELF] = XP_RBP_SAME, [PLACE_CFA] = XP_RBP_CFA, [PLACE_RSP] = XP_RBP_RSP};
    for (unsigned i = 0; i < n; i++)
        if (p[i].off == (s16)p[i].off)
            r->rbp[r->nrbp++] = (u32)kind[p[i].kind] | (u32)(u16)p[i].off << 8;
    if (!r->nrbp)
        r->rbp[r->nrbp++] = XP_RBP_LOST;
}

static void add_rbxs(struct rules *r, const struct place *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (p[i].kind == PLACE_SELF)
            r->rbx[r->nrbx++] = XP_RBX_SAME;
        else if (p[i].kind == PLACE_CFA && p[i].off < 0 && !(p[i].off & 7) && -p[i].off / 8 < XP_SYNTH_RBX_LOST)
            r->rbx[r->nrbx++] = (u8)(-p[i].off / 8);
    }
    if (!r->nrbx)
        r->rbx[r->nrbx++] = XP_SYNTH_RBX_LOST;
}

void rules_only(enum xp_cfa kind, struct rules *out)
{
    *out = (struct rules){.ncfa = 1, .nrbp = 1, .nrbx = 1, .cfa = {kind}, .rbp = {XP_RBP_SAME}, .rbx = {XP_RBX_SAME}};
}

void rules_at(const struct state *s, const struct frame *f, struct rules *out)
{
    struct place p[RULES_SAVED];
    out->ncfa = out->nrbp = out->nrbx = 0;
    add_cfas(out, s, f);
    if (!out->ncfa) {
        rules_only(XP_CFA_UNPROVEN, out);
        return;
    }
    add_rbps(out, p, find_places(s, f, INSN_RBP, p, RULES_SAVED));
    add_rbxs(out, p, find_places(s, f, INSN_RBX, p, RULES_SAVED));
}

/* Of the items of `size` bytes in `v`, those that are in `w`, too, to the front; how many. */
static u8 narrow(void *v, u8 n, const void *w, u8 m, size_t size)
{
    u8 kept = 0;
    for (u8 i = 0; i < n; i++)
        for (u8 k = 0; k < m; k++)
            if (!memcmp((char *)v + i * size, (const char *)w + k * size, size)) {
                memmove((char *)v + kept++ * size, (char *)v + i * size, size);
                break;
            }
    return kept;
}

bool rules_narrow(struct rules *r, const struct rules *other)
{
    struct rules both = *r;
    both.ncfa = narrow(both.cfa, r->ncfa, other->cfa, other->ncfa, sizeof(*r->cfa));
    both.nrbp = narrow(both.rbp, r->nrbp, other->rbp, other->nrbp, sizeof(*r->rbp));
    both.nrbx = narrow(both.rbx, r->nrbx, other->rbx, other->nrbx, sizeof(*r->rbx));
    if (!both.ncfa || !both.nrbp || !both.nrbx)
        return false;
    *r = both;
    return true;
}

struct xp_rule rules_pick(const struct rules *r, const struct frame *f)
{
    enum xp_cfa kind = r->cfa[0] & 0xff;
    if (kind == XP_CFA_UNPROVEN)
        return rules_unproven();
    return (struct xp_rule){
        .kind = XP_RULE_KIND(kind, r->rbp[0] & 3) | XP_RULE_SYNTH,
        .cfa_off = (s32)(u32)(r->cfa[0] >> 8),
        .rbp_off = (s16)(u16)(r->rbp[0] >> 8),
        .rbx = r->rbx[0] | (f->orphan ? XP_RBX_INFERRED : 0),
    };
}

struct xp_rule rules_unproven(void)
{
    return (struct xp_rule){.kind = XP_CFA_UNPROVEN | XP_RULE_SYNTH};
}
