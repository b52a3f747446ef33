/* A function is left as it was entered: with rsp = CFA - 8. That is what can be checked, and what everything hangs on.
 */
#include "synth/analysis.h"
#include "synth/insn.h"

#define MAX_SHIFT   (1 << 20) /* bytes; an orphan whose function has a larger frame is none */
#define MAX_SPREADS 64        /* jumps from function to function */

/* What the state at a way out says of a callee-saved register of an orphan. */
static struct answer answer_of(const struct state *s, unsigned reg, s32 shift, const struct xp_rule *truth)
{
    if (truth && reg == INSN_RBP && XP_RULE_RBP(truth->kind) == XP_RBP_CFA)
        return (struct answer){ANSWER_SLOT, truth->rbp_off + shift};
    u32 rbx = truth ? XP_SYNTH_RBX(truth->rbx) : XP_RBX_SAME;
    if (truth && reg == INSN_RBX && rbx && rbx != XP_SYNTH_RBX_LOST)
        return (struct answer){ANSWER_SLOT, shift - 8 * (s32)rbx};
    if (truth && (reg == INSN_RBX ? rbx : XP_RULE_RBP(truth->kind) != XP_RBP_SAME))
        return (struct answer){ANSWER_LOST, 0};
    u64 v = s->reg[reg];
    if (v == VALUE(VALUE_ENTRY, reg, 0))
        return (struct answer){ANSWER_SAME, 0};
    return VALUE_KIND(v) == VALUE_SLOT ? (struct answer){ANSWER_SLOT, VALUE_OFF(v)} : (struct answer){ANSWER_LOST, 0};
}

static void agree(struct answer *a, struct answer b)
{
    if (a->kind == ANSWER_NONE)
        *a = b;
    else if (a->kind != b.kind || a->slot != b.slot)
        *a = (struct answer){ANSWER_LOST, 0};
}

/* False: at another height than elsewhere. */
static bool leave_orphan(struct region *r, const struct state *s, s32 shift, const struct xp_rule *truth)
{
    if (r->height_known && r->frame.shift != shift)
        return false;
    r->height_known = true;
    r->frame.shift = shift;
    agree(&r->frame.rbp, answer_of(s, INSN_RBP, shift, truth));
    agree(&r->frame.rbx, answer_of(s, INSN_RBX, shift, truth));
    return shift <= MAX_SHIFT && shift >= -MAX_SHIFT;
}

/* Is the current region left at the right height? Nothing is known of that when rsp is not. */
static bool is_right(struct analysis *a, const struct state *s, const struct xp_rule *truth)
{
    struct region *r = region_current(a);
    u64 rsp = s->reg[INSN_RSP];
    if (!value_is_stack(rsp) || VALUE_BASE(rsp) || (truth && XP_RULE_CFA(truth->kind) != XP_CFA_RSP))
        return false;
    s32 shift = VALUE_OFF(rsp) + (truth ? truth->cfa_off : 8);
    bool right = r->frame.orphan ? leave_orphan(r, s, shift, truth) : !shift;
    r->bad |= !right;
    return right;
}

void proof_leave(struct analysis *a, const struct state *s)
{
    if (!is_right(a, s, NULL))
        return;
    region_current(a)->own++;
    region_current(a)->ok++;
}

static void note_jump(struct analysis *a, u32 to, u32 on)
{
    struct region_jump *j = a->jumps.n < MAX_NOTES ? VEC_PUSH(&a->jumps) : NULL;
    if (j)
        *j = (struct region_jump){a->current, to, on};
    else
        analysis_drop(a, SYNTH_DROP_MEMORY);
}

void proof_leave_into(struct analysis *a, const struct state *s, u32 other, u32 at, const struct xp_rule *truth)
{
    if (!is_right(a, s, truth))
        return;
    region_current(a)->ok++;
    note_jump(a, at, other);
}

void proof_leave_to(struct analysis *a, const struct state *s, u32 at)
{
    struct region *r = region_current(a);
    r->kept &= state_unchanged(s) & region_kept_by(a, at);
    const struct block *b = region_block_at(a, at);
    bool known = b && b->region != a->current && proof_holds(&a->regions.v[b->region]);
    bool trusted = known && !(a->code.marks[at] & CODE_WEAK);
    if ((r->frame.orphan && !trusted) || !is_right(a, s, NULL))
        return;
    r->ok += known;
    r->waits += !known;
    note_jump(a, at, NOBODY);
}

/* ---- Code that never leaves ---- */

#define PROLOGUE  8 /* instructions */
#define SAVED     2 /* registers that are pushed there */
#define MAX_CALLS 8 /* how deep those that never leave call each other */

/* Does what may be a label inside of a function begin as functions do, by saving registers of the caller's? */
static bool has_prologue(const struct analysis *a, u32 at)
{
    const struct code_gap *g = code_gap_of(&a->code, at);
    unsigned saved = 0;
    struct insn x;
    size_t left;
    for (unsigned i = 0; i < PROLOGUE; i++, at += x.len) {
        const u8 *p = code_bytes(g, at, &left);
        if (!insn_decode(p, left, &x) || (x.op >= INSN_RET && x.op <= INSN_JCC))
            break;
        saved += x.op == INSN_PUSH && x.a.kind == INSN_REG && (KEPT_BY_ABI >> x.a.reg & 1);
    }
    return saved >= SAVED;
}

bool proof_is_endless(const struct analysis *a)
{
    const struct region *r = &a->regions.v[a->current];
    if (r->ok || r->waits || r->bad || r->doubtful || r->frame.orphan || a->joined != NOBODY)
        return false;
    for (u32 i = r->entry; i != NOBODY; i = a->entries.v[i].next)
        if ((a->code.marks[a->entries.v[i].at] & CODE_WEAK) && !has_prologue(a, a->entries.v[i].at))
            return false;
    return r->entry != NOBODY;
}

/* Does the file, or code with rows, say that a function begins here? What passes on may have been passed on to: then it
 * has no return address of its own (GHC's code), unless it is called. */
static bool is_named(const struct analysis *a, const struct region *r)
{
    for (u32 i = r->entry; i != NOBODY && !r->passes_on; i = a->entries.v[i].next) {
        u32 at = a->entries.v[i].at;
        if ((a->code.marks[at] & CODE_WEAK) || (a->named.n && bsearch(&at, a->named.v, a->named.n, 4, code_by_number)))
            return true;
    }
    return false;
}

/* Something that counts calls what is at `to`, or only jumps there. */
static bool call_at(struct analysis *a, u32 to, bool jumps)
{
    const struct block *b = a->code.marks[to] & CODE_ENTRY ? region_block_at(a, to) : NULL;
    struct region *r = b ? &a->regions.v[b->region] : NULL;
    if (!r || !r->endless || r->called || (jumps && r->passes_on))
        return false;
    r->called = true;
    return true;
}

/* What an endless region was made with may not be true any more: does a callee that it takes to return still? */
static bool may_pass(struct analysis *a, u32 to)
{
    const struct block *b = region_block_at(a, to);
    const struct region *r = b ? &a->regions.v[b->region] : NULL;
    return r && !r->frame.orphan && !r->bad && (r->endless || proof_holds(r));
}

/* What a region calls, or jumps to, is called. */
static bool call_from(struct analysis *a, struct region *r)
{
    bool any = false;
    for (u32 i = 0; i < r->nblocks; i++) {
        const struct block *b = &a->blocks.v[r->first_block + i];
        const struct code_gap *g = code_gap_of(&a->code, b->at);
        struct insn x;
        size_t left;
        u32 to;
        for (u32 at = b->at, end = b->at + b->len; at < end && !analysis_over(a); at += x.len) {
            const u8 *p = code_bytes(g, at, &left);
            if (!insn_decode(p, left, &x))
                break;
            analysis_count(a);
            u64 pc = code_pc(g, at) + x.len;
            if (x.op < INSN_CALL || x.op > INSN_JCC || x.a.kind != INSN_IMM ||
                !code_find(&a->code, pc + (u64)x.a.value, &to))
                continue;
            r->bad |= r->endless && x.op == INSN_CALL && x.a.value && !may_pass(a, to);
            any |= call_at(a, to, x.op != INSN_CALL);
        }
    }
    return any;
}

void proof_call(struct analysis *a)
{
    bool more = false;
    for (size_t i = 0; i < a->regions.n; i++) {
        struct region *r = &a->regions.v[i];
        r->called = r->endless && is_named(a, r);
        more |= r->endless && !r->gone;
    }
    for (size_t i = 0; i < a->called.n; i++)
        call_at(a, a->called.v[i], false);
    for (unsigned n = 0; more && n < MAX_CALLS; n++) {
        more = false;
        proof_spread(a);
        for (size_t i = 0; i < a->regions.n && !analysis_over(a); i++) {
            struct region *r = &a->regions.v[i];
            if (r->asked || !proof_holds(r))
                continue;
            r->asked = true;
            more |= call_from(a, r);
        }
    }
}

static void unless_stored(struct answer *x, const struct stores *m)
{
    if (x->kind == ANSWER_SLOT && stores_touch(m, x->slot))
        *x = (struct answer){ANSWER_LOST, 0};
}

void proof_settle(struct analysis *a)
{
    unless_stored(&region_current(a)->frame.rbp, &a->stores);
    unless_stored(&region_current(a)->frame.rbx, &a->stores);
}

/* Is what the jump leads to proven, and still what it was? */
static bool is_grounded(struct analysis *a, const struct region_jump *j)
{
    if (j->on != NOBODY)
        return proof_holds(&a->regions.v[j->on]);
    const struct block *b = a->code.marks[j->to] & CODE_ENTRY ? region_block_at(a, j->to) : NULL;
    return b && b->region != j->region && proof_holds(&a->regions.v[b->region]);
}

void proof_spread(struct analysis *a)
{
    bool more = true;
    for (size_t i = 0; i < a->regions.n; i++)
        a->regions.v[i].ok = a->regions.v[i].own;
    for (unsigned n = 0; more && n < MAX_SPREADS; n++) {
        more = false;
        for (size_t i = 0; i < a->jumps.n && !analysis_over(a); i++) {
            analysis_tick(a);
            const struct region_jump *j = &a->jumps.v[i];
            struct region *r = &a->regions.v[j->region];
            if (r->ok || r->gone || r->bad || !is_grounded(a, j))
                continue;
            r->ok++;
            more = true;
        }
    }
}

bool proof_is_kept(struct analysis *a, const struct region_trust *t)
{
    const struct block *b = region_block_at(a, t->callee);
    const struct region *r = b ? &a->regions.v[b->region] : NULL;
    return !proof_holds(&a->regions.v[t->region]) || (r && proof_holds(r) && (r->kept & t->kept) == t->kept);
}

void proof_check(struct analysis *a)
{
    bool more = true;
    for (unsigned n = 0; more && !analysis_over(a); n++) {
        more = false;
        proof_spread(a);
        for (size_t i = 0; i < a->trust.n && !analysis_over(a); i++) {
            analysis_tick(a);
            if (proof_is_kept(a, &a->trust.v[i]))
                continue;
            a->regions.v[a->trust.v[i].region].bad = true;
            more = true;
        }
        if (n == MAX_SPREADS)
            analysis_drop(a, SYNTH_DROP_MEMORY);
    }
}
