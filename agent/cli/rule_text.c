#include "cli/rule_text.h"

static void add_cfa(const struct xp_rule *r, struct buf *out)
{
    static const char *const registers[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                            "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    int lo = (s16)r->cfa_off, hi = r->cfa_off >> 16;
    switch (XP_RULE_CFA(r->kind)) {
    case XP_CFA_RSP:
        buf_printf(out, "CFA = rsp%+d", r->cfa_off);
        break;
    case XP_CFA_RBP:
        buf_printf(out, "CFA = rbp%+d", r->cfa_off);
        break;
    case XP_CFA_RSP_LOOP:
    case XP_CFA_RBP_LOOP:
        buf_printf(out, "CFA = %s%+d, in the loop of an interpreter",
                   XP_RULE_CFA(r->kind) == XP_CFA_RSP_LOOP ? "rsp" : "rbp", r->cfa_off);
        break;
    case XP_CFA_RBX:
        buf_printf(out, "CFA = rbx%+d", r->cfa_off);
        break;
    case XP_CFA_REG:
        buf_printf(out, "CFA = %s%+d", registers[XP_REG_NUMBER(r->cfa_off) & 15], XP_REG_OFFSET(r->cfa_off));
        break;
    case XP_CFA_DEREF_RSP:
    case XP_CFA_DEREF_RBP:
        buf_printf(out, "CFA = *(%s%+d)%+d", XP_RULE_CFA(r->kind) == XP_CFA_DEREF_RSP ? "rsp" : "rbp", lo, hi);
        break;
    case XP_CFA_RSP_DEREF:
        buf_printf(out, "CFA = rsp + *(rsp%+d)%+d", lo, hi);
        break;
    case XP_CFA_INDEXED:
        buf_printf(out, "CFA = *(rsp%+d + 8 * %s)%+d", lo, registers[XP_REG_NUMBER(r->cfa_off) & 15], hi & 0xff);
        break;
    case XP_CFA_NONE:
        buf_str(out, "none");
        break;
    case XP_CFA_UNPROVEN:
        buf_str(out, "none: what the code does to the stack could not be proven");
        break;
    case XP_CFA_END:
        buf_str(out, "the outermost frame");
        break;
    case XP_CFA_UNSUPPORTED:
        buf_str(out, "of a kind that is not supported");
        break;
    default:
        buf_str(out, "special");
    }
}

void rule_text(const struct xp_rule *r, struct buf *out)
{
    u32 rbp = XP_RULE_RBP(r->kind);
    add_cfa(r, out);
    if (rbp == XP_RBP_CFA)
        buf_printf(out, ", rbp at CFA%+d", r->rbp_off);
    if (rbp == XP_RBP_RSP && r->kind & XP_RULE_SYNTH)
        buf_printf(out, ", rbp at rsp%+d", r->rbp_off);
    if (r->kind & XP_RULE_SYNTH && XP_RULE_CFA(r->kind) != XP_CFA_UNPROVEN)
        buf_str(out, r->rbx & XP_RBX_INFERRED ? ", inferred from the code around" : ", synthesised from the code");
}
