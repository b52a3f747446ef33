#include "synth/state.h"
#include "synth/targets.h"

void state_entry(struct state *s)
{
    memset(s, 0, sizeof(*s));
    for (u32 i = 0; i < 16; i++)
        s->reg[i] = VALUE(VALUE_ENTRY, i, 0);
    s->reg[INSN_RSP] = VALUE(VALUE_STACK, 0, -8);
}

static void drop_slot(struct state *s, u32 i)
{
    s->slots--;
    s->where[i] = s->where[s->slots];
    s->what[i] = s->what[s->slots];
}

static s32 find_slot(const struct state *s, u64 where)
{
    for (u32 i = 0; i < s->slots; i++)
        if (s->where[i] == where)
            return (s32)i;
    return -1;
}

bool state_meet(struct state *s, const struct state *other, struct target_sets *t)
{
    bool changed = other->called && !s->called;
    s->called |= other->called;
    for (unsigned i = 0; i < 16; i++)
        if (s->reg[i] != other->reg[i] && s->reg[i]) {
            u64 either = targets_either(t, s->reg[i], other->reg[i]);
            changed |= either != s->reg[i];
            s->reg[i] = either;
        }
    for (u32 i = 0; i < s->slots;) {
        s32 k = find_slot(other, s->where[i]);
        if (k >= 0 && other->what[k] == s->what[i]) {
            i++;
        } else {
            drop_slot(s, i);
            changed = true;
        }
    }
    return changed;
}

u64 state_load(const struct state *s, u64 where)
{
    s32 i = find_slot(s, where);
    if (i >= 0)
        return s->what[i];
    return VALUE_BASE(where) ? VALUE_UNKNOWN : VALUE(VALUE_SLOT, 0, VALUE_OFF(where));
}

void state_smash(struct state *s, u64 where, u32 bytes)
{
    for (u32 i = 0; i < s->slots;) {
        s64 from = VALUE_OFF(s->where[i]), to = VALUE_OFF(where);
        if (VALUE_BASE(s->where[i]) == VALUE_BASE(where) && from < to + bytes && to < from + 8)
            drop_slot(s, i);
        else
            i++;
    }
}

static bool is_worth_a_slot(u64 v)
{
    switch (VALUE_KIND(v)) {
    case VALUE_STACK:
    case VALUE_SLOT:
    case VALUE_SIZE:
        return true;
    case VALUE_ENTRY: {
        u32 r = VALUE_BASE(v);
        return r == INSN_RBX || r == INSN_RBP || r >= 12;
    }
    default:
        return false;
    }
}

/* No rule needs r12 to r15: only what they may carry back into rbx or rsp is lost with them. */
static bool is_dispensable(u64 v)
{
    return VALUE_KIND(v) == VALUE_ENTRY && VALUE_BASE(v) >= 12;
}

void state_store(struct state *s, u64 where, u64 what)
{
    state_smash(s, where, 8);
    if (!is_worth_a_slot(what))
        return;
    u32 i = s->slots;
    if (i == STATE_SLOTS) {
        for (i = 0; i < STATE_SLOTS && !is_dispensable(s->what[i]);)
            i++;
        if (i == STATE_SLOTS)
            return;
    } else {
        s->slots++;
    }
    s->where[i] = where;
    s->what[i] = what;
}

void state_call(struct state *s, u16 kept)
{
    u64 rsp = s->reg[INSN_RSP];
    for (unsigned i = 0; i < 16; i++)
        if (i != INSN_RSP && !(kept >> i & 1))
            s->reg[i] = VALUE_UNKNOWN;
    for (u32 i = 0; value_is_stack(rsp) && i < s->slots;)
        if (VALUE_BASE(s->where[i]) == VALUE_BASE(rsp) && VALUE_OFF(s->where[i]) < VALUE_OFF(rsp))
            drop_slot(s, i);
        else
            i++;
}

u16 state_unchanged(const struct state *s)
{
    u16 same = 0;
    for (u32 i = 0; i < 16; i++)
        same |= (u16)((s->reg[i] == VALUE(VALUE_ENTRY, i, 0)) << i);
    return same;
}

void state_forget(struct state *s, u32 base)
{
    for (unsigned i = 0; i < 16; i++)
        if ((value_is_stack(s->reg[i]) || VALUE_KIND(s->reg[i]) == VALUE_SIZE) && VALUE_BASE(s->reg[i]) == base)
            s->reg[i] = VALUE_UNKNOWN;
    for (u32 i = 0; i < s->slots;) {
        u64 v = s->what[i];
        bool relative = (value_is_stack(v) || VALUE_KIND(v) == VALUE_SIZE) && VALUE_BASE(v) == base;
        if (relative || VALUE_BASE(s->where[i]) == base)
            drop_slot(s, i);
        else
            i++;
    }
}
