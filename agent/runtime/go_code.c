/* Patterns of x86 code. Their sources are Go's src/runtime/asm_amd64.s, sys_linux_amd64.s, cgo/abi_amd64.h and the
 * prologues of cmd/internal/obj/x86/obj6.go, as they were from 1.18 to 1.27. */
#include "runtime/go_rows_internal.h"

#define PROLOGUE_SAVES 48 /* bytes in which assembly saves registers by hand */
#define PROLOGUE_ALIGN 64 /* and in which it aligns its stack */

static bool has(const struct go_code *c, u64 at, const char *bytes, size_t n)
{
    return at <= c->len && c->len - at >= n && !memcmp(c->p + at, bytes, n);
}
#define HAS(c, at, bytes) has(c, at, bytes, sizeof(bytes) - 1)

static s32 disp32(const struct go_code *c, u64 at)
{
    return (s32)go_u32((struct go_bytes){c->p, c->len}, at);
}

static enum go_role role_of(struct go_text name, u8 flags)
{
    static const struct {
        const char *name;
        enum go_role role;
    } roles[] = {
        {"runtime.goexit", GO_ROOT},
        {"runtime.mstart", GO_ROOT},
        {"runtime.rt0_go", GO_ROOT},
        {"runtime.sigreturn", GO_RESTORER},
        {"runtime.sigreturn__sigaction", GO_RESTORER},
        {"runtime.sigtramp", GO_HANDLER},
        {"runtime.sigprofNonGoWrapper", GO_HANDLER},
        {"crosscall2", GO_FROM_C},
        {"_rt0_amd64_lib", GO_FROM_C},
        {"_rt0_amd64_linux_lib", GO_FROM_C},
        {"runtime.asyncPreempt", GO_INJECTED},
        {"runtime.sigpanic", GO_INJECTED},
        {"runtime.sigpanic0", GO_INJECTED},
        {"runtime.debugCallV2", GO_INJECTED},
        {"runtime.morestack", GO_MORESTACK},
        {"runtime.mcall", GO_MCALL},
        {"runtime.systemstack", GO_SYSTEMSTACK},
        {"runtime.asmcgocall", GO_ASMCGOCALL},
        {"racecall", GO_RACECALL},
    };
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (go_text_is(name, roles[i].name) && (roles[i].role < GO_MORESTACK || (flags & GO_SETS_RSP)))
            return roles[i].role;
    return flags & GO_OUTERMOST ? GO_ROOT : GO_PLAIN;
}

struct go_code go_code_of(const struct gopclntab *t, const struct go_func *f, const u8 *p, u64 len)
{
    struct go_code c = {.f = f, .p = p, .len = len, .saved = ~0ull};
    if (!f->flags && !f->id) /* the compiler's, and none of the special ones */
        return c;
    struct go_text name = go_text_at(t->names, f->name);
    c.role = role_of(name, f->flags);
    c.runtime = name.len > 8 && !memcmp(name.data, "runtime.", 8);
    return c;
}

/* Up to 1.20: mov [rsp + depth - 8], rbp; lea rbp, [rsp + depth - 8]. The length of either; 0: it is not there. */
static u32 stores_rbp(const struct go_code *c, u64 at, u32 depth)
{
    if (depth == 8 && HAS(c, at, "\x48\x89\x2c\x24"))
        return 4;
    if (HAS(c, at, "\x48\x89\x6c\x24") && at + 4 < c->len && c->p[at + 4] == depth - 8)
        return 5;
    return HAS(c, at, "\x48\x89\xac\x24") && disp32(c, at + 4) == (s32)depth - 8 ? 8 : 0;
}

/* A second mov rbp, rsp. */
static u64 find_aligned(const struct go_code *c)
{
    u64 from = c->chained - c->f->entry;
    for (u64 at = from; at < from + PROLOGUE_ALIGN; at++)
        if (HAS(c, at, "\x48\x89\xe5"))
            return c->f->entry + at + 3;
    return 0;
}

void go_code_pushed(struct go_code *c, u64 at)
{
    c->begun = true;
    c->rbp = -16;
    c->saved = at;
    c->chained = at + 3;
}

void go_code_begin(struct go_code *c, u64 at, u32 depth)
{
    u64 in = at - c->f->entry;
    u32 store;
    c->begun = true;
    c->rbp = -16;
    if (in && HAS(c, in - 1, "\x55\x48\x89\xe5")) { /* push rbp; mov rbp, rsp */
        go_code_pushed(c, at);
        if (!c->runtime && (c->f->flags & GO_SETS_RSP))
            c->aligned = find_aligned(c);
    } else if ((store = stores_rbp(c, in, depth))) {
        c->saved = at + store;
        c->chained = at + 2 * store;
    }
}

bool go_code_pops_return(const struct go_code *c, u64 at)
{
    u64 in = at - c->f->entry;
    return in >= 2 && HAS(c, in - 2, "\x41\x5c"); /* pop r12 */
}

/* As rbx is kept in struct xp_rule: saved at CFA - 8 * n. */
static u8 slot_of(s64 below)
{
    return below > 0 && below <= 8 * 254 && below % 8 == 0 ? (u8)(below / 8) : XP_RBX_LOST;
}

void go_code_saves(struct go_code *c, u64 from, u64 to, u32 depth)
{
    u64 at = from - c->f->entry, end = to - c->f->entry;
    end = end < at + PROLOGUE_SAVES ? end : at + PROLOGUE_SAVES;
    bool owes_rbx = c->role == GO_FROM_C || c->role == GO_HANDLER;
    s64 top = (s64)depth + 8;
    for (; at < end && c->len > 5 && at < c->len - 5; at++) {
        int disp = (c->p[at + 4] ^ 0x80) - 0x80;        /* signed */
        if (owes_rbx && HAS(c, at, "\x48\x89\x1c\x24")) /* mov [rsp], rbx */
            c->rbx = slot_of(top);
        else if (owes_rbx && HAS(c, at, "\x48\x89\x5c\x24")) /* mov [rsp + disp8], rbx */
            c->rbx = slot_of(top - disp);
        else if (c->saved == ~0ull && HAS(c, at, "\x48\x89\x6c\x24") && top - disp < 32768) { /* the same for rbp */
            c->rbp = (s16)(disp - top);
            c->saved = c->f->entry + at + 5;
        }
    }
}

/* mov rsp, [reg + sched.sp]; up to 1.20 also by way of rbx. */
u64 go_code_rsp_load(const struct go_code *c, u64 from)
{
    const u8 *p = c->p;
    for (u64 at = from - c->f->entry; at + 4 <= c->len; at++) {
        if (c->role == GO_RACECALL && HAS(c, at, "\x49\x89\xe4")) /* mov r12, rsp */
            return c->f->entry + at + 3;
        if ((p[at] & 0xfe) == 0x48 && p[at + 1] == 0x8b && (p[at + 2] & 0xf8) == 0x60 && p[at + 3] == XP_GO_SCHED_SP)
            return c->f->entry + at + 4;
        if (HAS(c, at, "\x48\x89\xdc")) /* mov rsp, rbx */
            return c->f->entry + at + 3;
    }
    return 0;
}

/* asmcgocall up to 1.20 stores two things, both from rdi, on the stack that it switched to: g, and how deep it was. */
static struct xp_rule call_rule(const struct go_code *c, u64 rsp_load)
{
    u8 at[2];
    unsigned n = 0;
    for (u64 i = rsp_load - c->f->entry; i < c->len && c->len - i > 5 && n < 2; i++)
        if (HAS(c, i, "\x48\x89\x7c\x24")) /* mov [rsp + disp8], rdi */
            at[n++] = c->p[i + 4];
    if (n < 2)
        return (struct xp_rule){.kind = XP_CFA_GO_LOST};
    return (struct xp_rule){.kind = XP_CFA_GO_CALL, .cfa_off = at[0] | at[1] << 16};
}

struct xp_rule go_code_switch(const struct go_code *c, u64 rsp_load, const struct go_layout_facts *facts)
{
    unsigned how = (c->role == GO_SYSTEMSTACK ? XP_GO_POP : 0) | (facts->slot ? XP_GO_SLOT : 0);
    if (c->role == GO_MCALL)
        return (struct xp_rule){.kind = XP_CFA_END};
    if (c->role == GO_RACECALL) /* C keeps r12, but where is not known: in the leaf only */
        return (struct xp_rule){.kind = XP_CFA_REG, .cfa_off = XP_REG_RULE(GO_DW_R12, 8)};
    if (c->role == GO_ASMCGOCALL)
        return call_rule(c, rsp_load);
    if (!facts->known)
        return (struct xp_rule){.kind = XP_CFA_GO_LOST};
    return (struct xp_rule){.kind = XP_RULE_KIND(XP_CFA_GO_G, how),
                            .cfa_off = facts->g,
                            .rbp_off = (s16)facts->curg,
                            .rbx = facts->sched_bp};
}

/* How morestack begins: with g, from its place in TLS. */
static bool read_tls(const struct go_code *c, s64 shift, struct go_layout_facts *out)
{
    for (u64 at = 0; at < 24 && at + 9 <= c->len; at++) {
        const u8 *p = c->p + at;
        s64 slot = (s64)(c->f->entry + at + 7) + disp32(c, at + 3) + shift;
        if (HAS(c, at, "\x64\x48\x8b") && (p[3] & 0xc7) == 4 && p[4] == 0x25) { /* mov reg, fs:[disp32] */
            out->g = disp32(c, at + 5);
            return true;
        }
        if (HAS(c, at, "\x48\xc7") && (p[2] & 0xf8) == 0xc0) { /* mov reg, imm32: what a linker makes of the next */
            out->g = disp32(c, at + 3);
            return true;
        }
        if (HAS(c, at, "\x48\x8b") && (p[2] & 0xc7) == 5) { /* mov reg, [rip + rel32]: the GOT has it */
            out->slot = true;
            out->g = (s32)slot;
            return slot == (s32)slot;
        }
    }
    return false;
}

/* What morestack stores through rsi or rdi, which is g: rbp, and through rax first the pc, then rsp. */
static bool read_sched(const struct go_code *c, struct go_layout_facts *out)
{
    u8 rax[2] = {0};
    unsigned n = 0;
    for (u64 at = 0; at + 4 <= c->len; at++) {
        const u8 *p = c->p + at;
        if (!HAS(c, at, "\x48\x89") || (p[2] & 0xc6) != 0x46) /* mov [rsi or rdi + disp8], reg */
            continue;
        unsigned reg = p[2] >> 3 & 7;
        if (reg == 5)
            out->sched_bp = p[3];
        else if (reg == 0 && n < 2)
            rax[n++] = p[3];
        at += 3;
    }
    return out->sched_bp && rax[0] == XP_GO_SCHED_PC && rax[1] == XP_GO_SCHED_SP;
}

/* mov rbx, [rdi or rbx + g.m] near its beginning. */
static bool is_m_in_place(const struct go_code *c)
{
    for (u64 at = 0; at < 48 && at + 4 <= c->len; at++)
        if (HAS(c, at, "\x48\x8b") && (c->p[at + 2] & 0xfb) == 0x5b)
            return c->p[at + 3] == XP_GO_G_M;
    return false;
}

/* The last of systemstack's comparisons of rax with a field of rbx, which is m, is with curg. */
static bool read_curg(const struct go_code *c, struct go_layout_facts *out)
{
    s32 curg = 0;
    for (u64 at = 0; at < 160 && at + 7 <= c->len; at++)
        if ((HAS(c, at, "\x48\x39") || HAS(c, at, "\x48\x3b")) && c->p[at + 2] == 0x83)
            curg = disp32(c, at + 3);
    out->curg = (u16)curg;
    return curg > 0 && curg < 32768;
}

struct go_layout_facts go_facts_read(const struct go_code *morestack, const struct go_code *systemstack, s64 shift)
{
    struct go_layout_facts f = {0};
    f.known = morestack->f && systemstack->f && read_tls(morestack, shift, &f) && read_sched(morestack, &f) &&
              is_m_in_place(morestack) && read_curg(systemstack, &f);
    return f;
}
