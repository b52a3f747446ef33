/* The interpreter of CFA programs (DWARF 5, 6.4.2), for CFA, RBP, RBX and the return address. */
#include "cfi/state.h"
#include "cfi/expression.h"
#include "cfi/leb.h"
#include <dwarf.h>
#include <errno.h>

#define MAX_ADVANCE (1ull << 40) /* no file is that long */
#define UC_RSP      160          /* of uc_mcontext.gregs[REG_RSP] in ucontext_t: a signal trampoline's CFA */

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

/* CFA expressions: what a rule can represent, and that of signal trampolines. */
static void set_cfa_expression(struct run *r, const u8 *p, const u8 *end)
{
    unsigned kind;
    s32 off;
    if (has_register(r->s))
        r->s.extra = (u32)r->s.extra | r->s.word << 32;
    set_odd(&r->s, CFI_EXPRESSION, CFI_NO_CFA);
    if (!expression_cfa(p, end, &kind, &off))
        return;
    if (r->cie->signal && kind == XP_CFA_DEREF_RSP && !(off >> 16)) {
        set_cfa(&r->s, XP_CFA_SIGNAL, (s16)off - UC_RSP);
        set_odd(&r->s, CFI_EXPRESSION, CFI_SIGNAL);
    } else {
        set_cfa(&r->s, kind, off);
    }
}

/* DWARF forbids what changes half of a CFA that is an expression, but assembly does it (libgcrypt's), and libgcc and
 * gdb agree on what it means: a register comes with the offset from before the expression, an offset waits for one. */
static __attribute__((noinline)) struct cfi_state half_defined(struct cfi_state s, u8 op, u64 value)
{
    if ((s.extra & 255) == CFI_NOTHING) /* not even an expression: stays unsupported */
        return s;
    if (op != DW_CFA_def_cfa_register) {
        s.extra = (u32)s.extra | value << 32;
        return s;
    }
    s.word = (s.word & ~CFA_MASK) | s.extra >> 32;
    set_cfa_register(&s, value);
    return s;
}

/* DW_CFA_expression: the register is saved where the expression says. DRAP prologues save RBP at rbp + n. */
static void set_expression(struct run *r, u64 reg, const u8 *p, const u8 *end)
{
    s64 off;
    set_lost(&r->s, reg);
    if (reg == DW_RBP && p < end && *p++ == DW_OP_breg6 && leb_signed(&p, end, &off) && p == end)
        r->s.word = with_rbp(r->s.word, XP_RBP_RBP, off);
}

/* What a row says; the odd ones out of line. */
static __attribute__((noinline)) u64 odd_word(struct cfi_state s)
{
    struct xp_rule r = {.kind = XP_CFA_UNSUPPORTED}, plain = rule_of(s.word);
    u64 reg = s.extra & 255, odd = s.extra >> 8 & 255, ra = s.extra >> 16 & 255, ra_reg = s.extra >> 24;
    bool same = plain.rbx == XP_RBX_SAME && XP_RULE_RBP(plain.kind) == XP_RBP_SAME;
    if (ra == CFI_RA_UNDEFINED) {
        r.kind = XP_CFA_END;
    } else if (odd == CFI_SIGNAL) {
        r = (struct xp_rule){.kind = XP_CFA_SIGNAL, .cfa_off = plain.cfa_off};
    } else if (ra == CFI_RA_REGISTER) {
        if (odd == CFI_PLAIN && XP_RULE_CFA(plain.kind) == XP_CFA_RSP && same)
            r = (struct xp_rule){.kind = XP_CFA_RA_REG, .rbp_off = (s16)ra_reg, .cfa_off = plain.cfa_off};
    } else if (ra == CFI_RA_CFA8 && odd == CFI_REGISTER && reg < DW_RA &&
               XP_REG_OFFSET(plain.cfa_off) == plain.cfa_off) {
        r = plain;
        r.kind = XP_RULE_KIND(XP_CFA_REG, XP_RULE_RBP(plain.kind));
        r.cfa_off = XP_REG_RULE(reg, plain.cfa_off);
    }
    return rule_word(r);
}

static inline u64 state_word(struct cfi_state s)
{
    return CFI_ODD(s.extra) ? odd_word(s) : s.word;
}

/* Rows beyond the limit (the function's end, or the next one's start) are nobody's. */
static inline u64 advance(u64 pc, u64 limit, u64 by, struct cfi_state s, struct rows *out)
{
    if (!by || pc >= limit)
        return pc;
    rows_emit(out, pc, state_word(s));
    return limit - pc > by ? pc + by : limit;
}

static bool advance_far(struct run *r, unsigned n, struct rows *out)
{
    u64 by = 0;
    if ((size_t)(r->end - r->p) < n)
        return false;
    memcpy(&by, r->p, n);
    r->p += n;
    by = (by < MAX_ADVANCE ? by : MAX_ADVANCE) * r->cie->code_factor;
    r->pc = advance(r->pc, r->limit, by, r->s, out);
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
    r->pc = advance(r->pc, r->limit, at - r->pc, r->s, out);
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
            set_ra(&r->s, CFI_RA_REGISTER, (unsigned)u);
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
        if (!leb_signed(&r->p, r->end, &s))
            return false;
        v = (u64)s * (u64)r->cie->data_factor;
        if (has_register(r->s))
            set_cfa_offset(&r->s, (s64)v);
        else
            r->s = half_defined(r->s, op, v);
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
            set_ra(&r->s, CFI_RA_UNDEFINED, 0);
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

/* What is left to the common case is here, in one function, with its state in registers. */
static int execute(struct run *r, struct rows *out)
{
    const u8 *p = r->p, *end = r->end;
    const u64 caf = r->cie->code_factor, daf = (u64)r->cie->data_factor, limit = r->limit;
    u64 pc = r->pc, a, b;
    struct cfi_state s = r->s;
    while (p < end) {
        asm("" : "+r"(s.word), "+r"(s.extra)); /* two registers: gcc 12 makes a vector of them, in memory */
        u8 op = *p++;
        if (op >> 6 == DW_CFA_advance_loc >> 6) {
            pc = advance(pc, limit, (op & 63u) * caf, s, out);
            continue;
        }
        if (op >> 6 == DW_CFA_offset >> 6) {
            if (!leb_unsigned(&p, end, &a))
                return -EBADMSG;
            set_saved(&s, op & 63, (s64)(a * daf));
            continue;
        }
        if (op >> 6) {
            restore(&s, r->init, op & 63);
            continue;
        }
        switch (op) {
        case DW_CFA_nop:
            continue;
        case DW_CFA_advance_loc1:
            if (p == end)
                return -EBADMSG;
            pc = advance(pc, limit, *p++ * caf, s, out);
            continue;
        case DW_CFA_def_cfa_offset:
            if (!leb_unsigned(&p, end, &a))
                return -EBADMSG;
            if (has_register(s))
                set_cfa_offset(&s, (s64)a);
            else
                s = half_defined(s, op, a);
            continue;
        case DW_CFA_def_cfa_register:
            if (!leb_unsigned(&p, end, &a))
                return -EBADMSG;
            if (has_register(s))
                set_cfa_register(&s, a);
            else
                s = half_defined(s, op, a);
            continue;
        case DW_CFA_def_cfa:
            if (!leb_unsigned(&p, end, &a) || !leb_unsigned(&p, end, &b))
                return -EBADMSG;
            set_cfa_register(&s, a);
            set_cfa_offset(&s, (s64)b);
            continue;
        case DW_CFA_remember_state:
            if (r->depth == CFI_MAX_REMEMBER)
                return -EBADMSG;
            r->stack[r->depth++] = s;
            continue;
        case DW_CFA_restore_state:
            if (!r->depth)
                return -EBADMSG;
            s = r->stack[--r->depth];
            continue;
        default:
            r->p = p;
            r->pc = pc;
            r->s = s;
            if (!rare(r, op, out))
                return -EBADMSG;
            p = r->p;
            pc = r->pc;
            s = r->s;
        }
    }
    r->s = s;
    advance(pc, limit, 1, s, out);
    return 0;
}

int cfi_run(const struct cfi *c, const struct cfi_fde *f, struct rows *out)
{
    const struct cfi_cie *cie = &c->cies.v[f->cie];
    struct run r; /* its stack stays as it is: 1 KiB that is hardly ever used */
    if (!cfi_program(c, f, &r.p, &r.end))
        return -EBADMSG;
    if (out->cap - out->n <= (size_t)(r.end - r.p))
        return -ENOSPC;
    r.cfi = c;
    r.cie = cie;
    r.start = r.pc = f->start;
    r.limit = f->start + f->len;
    r.s = cie->init;
    r.init = &cie->init;
    r.depth = 0;
    return execute(&r, out);
}

int cfi_run_initial(const struct cfi *c, struct cfi_cie *cie)
{
    struct run r = {.cfi = c, .cie = cie, .p = cie->ins, .end = cie->end};
    r.s = (struct cfi_state){.extra = CFI_NOTHING | CFI_NO_CFA << 8};
    r.init = &r.s;
    int err = execute(&r, NULL); /* limit 0: no row is written */
    if (!err)
        cie->init = r.s;
    return err;
}
