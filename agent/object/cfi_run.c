/* The interpreter of CFA programs (DWARF 5, 6.4.2), for CFA, RBP, RBX and the return address. */
#include "object/cfi.h"
#include "object/leb.h"
#include <dwarf.h>
#include <errno.h>

#define MAX_ADVANCE (1ull << 40) /* no file is that long */
#define UC_RSP      160          /* of uc_mcontext.gregs[REG_RSP] in ucontext_t: a signal trampoline's CFA */
#define NO_REG      255

struct run {
    const struct cfi *cfi;
    const struct cfi_cie *cie;
    const u8 *p, *end;
    u64 pc, limit; /* file offsets */
    u64 start;     /* the FDE's */
    struct cfi_state s;
    const struct cfi_state *init;
    unsigned depth;
    struct cfi_state stack[CFI_MAX_REMEMBER];
};

static void set_kind(struct cfi_state *s, unsigned cfa)
{
    s->rule.kind = (u8)((s->rule.kind & ~31u) | cfa);
}

static inline void set_rbp(struct cfi_state *s, unsigned how, s64 off)
{
    if (off != (s16)off) {
        how = XP_RBP_LOST;
        off = 0;
    }
    s->rule.rbp_off = (s16)off;
    s->rule.kind = XP_RULE_KIND(XP_RULE_CFA(s->rule.kind), how);
}

static void set_cfa_offset(struct cfi_state *s, s64 off)
{
    s->rule.cfa_off = (s32)off;
    if (off != (s32)off) { /* beyond what a rule can hold; not even its register is of use */
        s->odd = CFI_NO_CFA;
        s->reg = NO_REG;
    }
}

static void set_cfa_register(struct cfi_state *s, u64 reg)
{
    s->reg = reg < NO_REG - 1 ? (u8)reg : NO_REG - 1;
    s->odd = CFI_PLAIN;
    if (reg == DW_RSP)
        set_kind(s, XP_CFA_RSP);
    else if (reg == DW_RBP)
        set_kind(s, XP_CFA_RBP);
    else if (reg == DW_RBX)
        set_kind(s, XP_CFA_RBX);
    else
        s->odd = CFI_REGISTER;
}

/* DW_CFA_offset and its kin: `reg` was saved at CFA + off. */
static inline void set_saved(struct cfi_state *s, u64 reg, s64 off)
{
    if (reg == DW_RBP)
        set_rbp(s, XP_RBP_CFA, off);
    else if (reg == DW_RBX)
        s->rule.rbx = off < 0 && !(off & 7) && off > -8 * XP_RBX_LOST ? (u8)(-off / 8) : XP_RBX_LOST;
    else if (reg == DW_RA)
        s->ra = off == -8 ? CFI_RA_CFA8 : CFI_RA_OTHER;
}

static void set_lost(struct cfi_state *s, u64 reg)
{
    if (reg == DW_RBP)
        set_rbp(s, XP_RBP_LOST, 0);
    else if (reg == DW_RBX)
        s->rule.rbx = XP_RBX_LOST;
    else if (reg == DW_RA)
        s->ra = CFI_RA_OTHER;
}

static void set_same(struct cfi_state *s, u64 reg)
{
    if (reg == DW_RBP)
        set_rbp(s, XP_RBP_SAME, 0);
    else if (reg == DW_RBX)
        s->rule.rbx = XP_RBX_SAME;
    else if (reg == DW_RA)
        s->ra = CFI_RA_OTHER;
}

static void restore(struct cfi_state *s, const struct cfi_state *init, u64 reg)
{
    if (reg == DW_RBP)
        set_rbp(s, XP_RULE_RBP(init->rule.kind), init->rule.rbp_off);
    else if (reg == DW_RBX)
        s->rule.rbx = init->rule.rbx;
    else if (reg == DW_RA) {
        s->ra = init->ra;
        s->ra_reg = init->ra_reg;
    }
}

/* CFA expressions that compilers, linkers and OpenSSL write: a register and an offset, dereferenced, perhaps plus a
 * constant; or the PLT's "rsp + 8, and 8 more in the second half of a slot". */
static void set_cfa_expression(struct run *r, const u8 *p, const u8 *end)
{
    static const u8 plt[] = {DW_OP_breg7, 8,        DW_OP_breg16, 0,         DW_OP_lit15, DW_OP_and,
                             DW_OP_lit0,  DW_OP_ge, DW_OP_lit3,   DW_OP_shl, DW_OP_plus};
    struct cfi_state *s = &r->s;
    s->reg = NO_REG;
    s->odd = CFI_NO_CFA;
    s->rule.cfa_off = 0;
    if (end - p == sizeof(plt) && !memcmp(p, plt, 6) && !memcmp(p + 7, plt + 7, 4) && p[6] >= DW_OP_lit0 &&
        p[6] <= DW_OP_lit15) {
        s->odd = CFI_PLAIN;
        set_kind(s, XP_CFA_PLT);
        s->rule.cfa_off = p[6] - DW_OP_lit0;
        return;
    }
    s64 off;
    u64 plus = 0;
    u8 op = p < end ? *p++ : 0;
    if ((op != DW_OP_breg6 && op != DW_OP_breg7) || !leb_signed(&p, end, &off) || p == end || *p++ != DW_OP_deref)
        return;
    if (p < end && (*p++ != DW_OP_plus_uconst || !leb_unsigned(&p, end, &plus) || p != end))
        return;
    if (r->cie->signal && op == DW_OP_breg7 && !plus && off - UC_RSP == (s32)(off - UC_RSP)) {
        s->odd = CFI_SIGNAL;
        s->rule.cfa_off = (s32)(off - UC_RSP);
    } else if (off == (s16)off && plus <= INT16_MAX) {
        s->odd = CFI_PLAIN;
        set_kind(s, op == DW_OP_breg6 ? XP_CFA_DEREF_RBP : XP_CFA_DEREF_RSP);
        s->rule.cfa_off = (s32)((u32)(u16)off | (u32)plus << 16);
    }
}

/* DW_CFA_expression: the register is saved where the expression says. DRAP prologues save RBP at rbp + n. */
static void set_expression(struct run *r, u64 reg, const u8 *p, const u8 *end)
{
    s64 off;
    set_lost(&r->s, reg);
    if (reg == DW_RBP && p < end && *p++ == DW_OP_breg6 && leb_signed(&p, end, &off) && p == end)
        set_rbp(&r->s, XP_RBP_RBP, off);
}

/* What a row says; the odd ones out of line. */
static __attribute__((noinline)) u64 odd_word(const struct cfi_state *s)
{
    struct xp_rule r = {.kind = XP_CFA_UNSUPPORTED};
    bool same = s->rule.rbx == XP_RBX_SAME && XP_RULE_RBP(s->rule.kind) == XP_RBP_SAME;
    if (s->ra == CFI_RA_UNDEFINED) {
        r.kind = XP_CFA_END;
    } else if (s->odd == CFI_SIGNAL) {
        r = (struct xp_rule){.kind = XP_CFA_SIGNAL, .cfa_off = s->rule.cfa_off};
    } else if (s->ra == CFI_RA_REGISTER) {
        if (s->odd == CFI_PLAIN && XP_RULE_CFA(s->rule.kind) == XP_CFA_RSP && same)
            r = (struct xp_rule){.kind = XP_CFA_RA_REG, .rbp_off = s->ra_reg, .cfa_off = s->rule.cfa_off};
    } else if (s->ra == CFI_RA_CFA8 && s->odd == CFI_REGISTER && s->reg < DW_RA && same) {
        r = (struct xp_rule){.kind = XP_CFA_REG, .rbp_off = s->reg, .cfa_off = s->rule.cfa_off};
    }
    return rule_word(r);
}

static inline u64 state_word(const struct cfi_state *s)
{
    return s->odd | s->ra ? odd_word(s) : rule_word(s->rule);
}

/* Rows beyond the limit (the function's end, or the next one's start) are nobody's. */
static inline void advance(struct run *r, u64 by, struct rows *out)
{
    if (by && r->pc < r->limit) {
        rows_emit(out, r->pc, state_word(&r->s));
        r->pc = r->limit - r->pc > by ? r->pc + by : r->limit;
    }
}

static bool advance_far(struct run *r, unsigned n, struct rows *out)
{
    u64 by = 0;
    if ((size_t)(r->end - r->p) < n)
        return false;
    memcpy(&by, r->p, n);
    r->p += n;
    advance(r, (by < MAX_ADVANCE ? by : MAX_ADVANCE) * r->cie->code_factor, out);
    return true;
}

static bool set_loc(struct run *r, struct rows *out)
{
    u64 at;
    const struct elf_segment *seg = elf_segment_of(r->cfi->elf, r->start, PF_X);
    if (!seg || !cfi_pointer(&r->cfi->section[r->cie->section], r->cie->encoding, &r->p, r->end, &at))
        return false;
    at -= seg->vaddr - seg->offset;
    if (at < r->pc)
        return false;
    advance(r, at - r->pc, out);
    return true;
}

/* Operands are a register (always first), and then a number or a block. */
static bool expression(struct run *r, u8 op)
{
    u64 reg = 0, len;
    if (op != DW_CFA_def_cfa_expression && !leb_unsigned(&r->p, r->end, &reg))
        return false;
    if (!leb_unsigned(&r->p, r->end, &len) || len > (size_t)(r->end - r->p))
        return false;
    const u8 *p = r->p;
    r->p += len;
    if (op == DW_CFA_def_cfa_expression)
        set_cfa_expression(r, p, r->p);
    else if (op == DW_CFA_expression)
        set_expression(r, reg, p, r->p);
    else
        set_lost(&r->s, reg);
    return true;
}

/* Instructions with a register and an offset that compilers seldom write. */
static bool register_offset(struct run *r, u8 op)
{
    u64 reg, u = 0;
    s64 s = 0, factor = r->cie->data_factor;
    if (!leb_unsigned(&r->p, r->end, &reg))
        return false;
    bool is_signed = op == DW_CFA_offset_extended_sf || op == DW_CFA_def_cfa_sf || op == DW_CFA_val_offset_sf;
    if (is_signed ? !leb_signed(&r->p, r->end, &s) : !leb_unsigned(&r->p, r->end, &u))
        return false;
    s64 off = (s64)((u64)(is_signed ? s : (s64)u) * (u64)factor);
    switch (op) {
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
        set_saved(&r->s, reg, off);
        return true;
    case DW_CFA_GNU_negative_offset_extended:
        set_saved(&r->s, reg, (s64)(0 - (u64)off));
        return true;
    case DW_CFA_def_cfa_sf:
        set_cfa_register(&r->s, reg);
        set_cfa_offset(&r->s, off);
        return true;
    case DW_CFA_register: /* u is a register; only a return address in one can be told */
        set_lost(&r->s, reg);
        if (reg == DW_RA && u < DW_RA) {
            r->s.ra = CFI_RA_REGISTER;
            r->s.ra_reg = (u8)u;
        }
        return true;
    default: /* val_offset: the value itself is CFA + off */
        set_lost(&r->s, reg);
        return true;
    }
}

static bool one_operand(struct run *r, u8 op)
{
    u64 v;
    s64 s;
    if (op == DW_CFA_def_cfa_offset_sf) {
        if (r->s.reg == NO_REG || !leb_signed(&r->p, r->end, &s))
            return false;
        set_cfa_offset(&r->s, (s64)((u64)s * (u64)r->cie->data_factor));
        return true;
    }
    if (!leb_unsigned(&r->p, r->end, &v))
        return false;
    if (op == DW_CFA_restore_extended) {
        restore(&r->s, r->init, v);
    } else if (op == DW_CFA_same_value) {
        set_same(&r->s, v);
    } else if (op == DW_CFA_undefined) {
        set_lost(&r->s, v);
        if (v == DW_RA)
            r->s.ra = CFI_RA_UNDEFINED;
    } /* DW_CFA_GNU_args_size says nothing about registers */
    return true;
}

static __attribute__((noinline)) bool rare(struct run *r, u8 op, struct rows *out)
{
    switch (op) {
    case DW_CFA_set_loc:
        return set_loc(r, out);
    case DW_CFA_advance_loc2:
        return advance_far(r, 2, out);
    case DW_CFA_advance_loc4:
        return advance_far(r, 4, out);
    case DW_CFA_MIPS_advance_loc8:
        return advance_far(r, 8, out);
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_GNU_args_size:
        return one_operand(r, op);
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_GNU_negative_offset_extended:
    case DW_CFA_register:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        return register_offset(r, op);
    case DW_CFA_def_cfa_expression:
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        return expression(r, op);
    case DW_CFA_GNU_window_save: /* on other machines; nothing here */
        return true;
    default:
        return false;
    }
}

/* Instructions that make up nearly all of every program are here, and in one function. */
static int execute(struct run *r, struct rows *out)
{
    u64 a, b;
    while (r->p < r->end) {
        u8 op = *r->p++;
        switch (op) {
        case DW_CFA_nop:
            continue;
        case DW_CFA_advance_loc ... DW_CFA_advance_loc + 63:
            advance(r, (op & 63u) * r->cie->code_factor, out);
            continue;
        case DW_CFA_advance_loc1:
            if (!advance_far(r, 1, out))
                return -EBADMSG;
            continue;
        case DW_CFA_offset ... DW_CFA_offset + 63:
            if (!leb_unsigned(&r->p, r->end, &a))
                return -EBADMSG;
            set_saved(&r->s, op & 63, (s64)(a * (u64)r->cie->data_factor));
            continue;
        case DW_CFA_restore ... DW_CFA_restore + 63:
            restore(&r->s, r->init, op & 63);
            continue;
        case DW_CFA_def_cfa_offset:
            if (r->s.reg == NO_REG || !leb_unsigned(&r->p, r->end, &a))
                return -EBADMSG;
            set_cfa_offset(&r->s, (s64)a);
            continue;
        case DW_CFA_def_cfa_register:
            if (r->s.reg == NO_REG || !leb_unsigned(&r->p, r->end, &a))
                return -EBADMSG;
            set_cfa_register(&r->s, a);
            continue;
        case DW_CFA_def_cfa:
            if (!leb_unsigned(&r->p, r->end, &a) || !leb_unsigned(&r->p, r->end, &b))
                return -EBADMSG;
            set_cfa_register(&r->s, a);
            set_cfa_offset(&r->s, (s64)b);
            continue;
        case DW_CFA_remember_state:
            if (r->depth == CFI_MAX_REMEMBER)
                return -EBADMSG;
            r->stack[r->depth++] = r->s;
            continue;
        case DW_CFA_restore_state:
            if (!r->depth)
                return -EBADMSG;
            r->s = r->stack[--r->depth];
            continue;
        default:
            if (!rare(r, op, out))
                return -EBADMSG;
        }
    }
    return 0;
}

int cfi_run(const struct cfi *c, const struct cfi_fde *f, struct rows *out)
{
    const struct cfi_cie *cie = &c->cies.v[f->cie];
    struct run r; /* its stack stays as it is: 1 KiB that is hardly ever used */
    if (!f->ins)
        return -EBADMSG;
    r.cfi = c;
    r.cie = cie;
    r.p = f->ins;
    r.end = f->ins + f->ins_len;
    r.pc = f->start;
    r.limit = f->start + f->len;
    r.start = f->start;
    r.s = cie->init;
    r.init = &cie->init;
    r.depth = 0;
    int err = execute(&r, out);
    if (!err)
        advance(&r, 1, out);
    return err;
}

int cfi_run_initial(const struct cfi *c, struct cfi_cie *cie)
{
    struct run r = {.cfi = c, .cie = cie, .p = cie->ins, .end = cie->end};
    r.s = (struct cfi_state){.reg = NO_REG, .odd = CFI_NO_CFA};
    r.init = &r.s;
    int err = execute(&r, NULL); /* limit 0: no row is written */
    if (!err)
        cie->init = r.s;
    return err;
}
