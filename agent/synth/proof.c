/* A function is left as it was entered: with rsp = CFA - 8. That is what can be checked, and what everything hangs on.
 */
#include "synth/analysis.h"

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

static void leave_orphan(struct region *r, const struct state *s, s32 shift, const struct xp_rule *truth)
{
    if (r->height_known && r->frame.shift != shift) {
        r->bad = true;
        return;
    }
    r->height_known = true;
    r->frame.shift = shift;
    r->bad |= shift > MAX_SHIFT || shift < -MAX_SHIFT;
    r->ok++;
    agree(&r->frame.rbp, answer_of(s, INSN_RBP, shift, truth));
    agree(&r->frame.rbx, answer_of(s, INSN_RBX, shift, truth));
}

void proof_leave(struct analysis *a, const struct state *s, const struct xp_rule *truth)
{
    struct region *r = region_current(a);
    u64 rsp = s->reg[INSN_RSP];
    if (!value_is_stack(rsp) || VALUE_BASE(rsp))
        return;
    if (truth && XP_RULE_CFA(truth->kind) != XP_CFA_RSP)
        return;
    s32 shift = VALUE_OFF(rsp) + (truth ? truth->cfa_off : 8);
    if (r->frame.orphan)
        leave_orphan(r, s, shift, truth);
    else if (shift)
        r->bad = true;
    else
        r->ok++;
}

void proof_leave_to(struct analysis *a, const struct state *s, u32 at)
{
    struct region *r = region_current(a);
    u64 rsp = s->reg[INSN_RSP];
    r->kept &= state_unchanged(s) & region_kept_by(a, at);
    if (!value_is_stack(rsp) || VALUE_BASE(rsp))
        return;
    const struct block *b = region_block_at(a, at);
    if (b && b->region != a->current && proof_holds(&a->regions.v[b->region])) {
        proof_leave(a, s, NULL);
    } else if (!r->frame.orphan && VALUE_OFF(rsp) != -8) {
        r->bad = true;
    } else if (!r->frame.orphan) {
        struct region_jump *j = a->jumps.n < MAX_NOTES ? VEC_PUSH(&a->jumps) : NULL;
        if (j)
            *j = (struct region_jump){a->current, at};
        else
            analysis_drop(a, SYNTH_DROP_MEMORY);
        r->waits++;
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

void proof_spread(struct analysis *a)
{
    bool more = true;
    for (unsigned n = 0; more && n < MAX_SPREADS; n++) {
        more = false;
        for (size_t i = 0; i < a->jumps.n && !analysis_over(a); i++) {
            analysis_tick(a);
            const struct region_jump *j = &a->jumps.v[i];
            struct region *r = &a->regions.v[j->region];
            const struct block *b = r->ok || r->gone || r->bad ? NULL : region_block_at(a, j->to);
            if (b && proof_holds(&a->regions.v[b->region])) {
                r->ok++;
                more = true;
            }
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
