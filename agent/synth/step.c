#include "synth/step.h"

#define WIDE 16 /* bytes that a store of vectors writes at least; what follows locals is not assumed to be hit */

struct stepper {
    struct state *s;
    const struct insn *x;
    struct stores *stores;
    u64 next;
    u32 base; /* of the number of a new one */
};

bool stores_touch(const struct stores *m, s32 off)
{
    for (u32 i = 0; i < m->n && i < STORES_MAX; i++)
        if (m->from[i] < off + 8 && off < m->to[i])
            return true;
    return m->n > STORES_MAX;
}

static void note_store(struct stores *m, u64 where, u32 bytes)
{
    s32 from = VALUE_OFF(where), to = from + (s32)bytes;
    if (!m || VALUE_BASE(where) || m->n > STORES_MAX)
        return;
    for (u32 i = 0; i < m->n; i++)
        if (m->from[i] <= from && to <= m->to[i])
            return;
    if (m->n < STORES_MAX) {
        m->from[m->n] = from;
        m->to[m->n] = to;
    }
    m->n++;
}

static void store(struct stepper *p, u64 where, u64 what)
{
    note_store(p->stores, where, 8);
    state_store(p->s, where, what);
}

static void smash(struct stepper *p, u64 where, u32 bytes)
{
    note_store(p->stores, where, bytes);
    state_smash(p->s, where, bytes);
}

/* A register changes. Rules depend on those that hold a stack address, and on rbx and rbp. */
static bool set(struct stepper *p, unsigned reg, u64 v)
{
    u64 old = p->s->reg[reg];
    p->s->reg[reg] = v;
    return old != v && (value_is_stack(old) || value_is_stack(v) || reg == INSN_RBX || reg == INSN_RBP);
}

/* The number of a general register that an operand is in full; -1: it is none. */
static int whole(const struct stepper *p, const struct insn_operand *o)
{
    return o->kind == INSN_REG && p->x->size == 8 ? o->reg : -1;
}

/* The stack address that a memory operand names; 0: not known, or elsewhere. */
static u64 stack_address(const struct state *s, const struct insn *x, const struct insn_operand *o)
{
    if (o->kind != INSN_MEM || o->index != INSN_NO_REG || o->segment || o->base > 15 || x->address_size != 8)
        return 0;
    u64 v = s->reg[o->base];
    return value_is_stack(v) ? value_move(v, o->disp) : 0;
}

/* A new base for rsp: nothing is known of its distance to the CFA. */
static u64 new_base(struct stepper *p)
{
    state_forget(p->s, p->base);
    return VALUE(VALUE_STACK, p->base, 0);
}

static void push(struct stepper *p)
{
    struct state *s = p->s;
    u64 what = p->x->a.kind == INSN_REG ? s->reg[p->x->a.reg] : VALUE_UNKNOWN, rsp = s->reg[INSN_RSP];
    s->reg[INSN_RSP] = value_is_stack(rsp) ? value_move(rsp, -8) : VALUE_UNKNOWN;
    if (value_is_stack(s->reg[INSN_RSP]))
        store(p, s->reg[INSN_RSP], what);
}

static void pop(struct stepper *p)
{
    struct state *s = p->s;
    u64 rsp = s->reg[INSN_RSP], what = value_is_stack(rsp) ? state_load(s, rsp) : VALUE_UNKNOWN;
    s->reg[INSN_RSP] = value_is_stack(rsp) ? value_move(rsp, 8) : VALUE_UNKNOWN;
    if (p->x->a.kind == INSN_REG)
        s->reg[p->x->a.reg] = what;
    else if (p->x->a.kind == INSN_MEM && stack_address(s, p->x, &p->x->a))
        smash(p, stack_address(s, p->x, &p->x->a), 8);
}

static void leave(struct stepper *p)
{
    struct state *s = p->s;
    u64 rbp = s->reg[INSN_RBP];
    s->reg[INSN_RBP] = value_is_stack(rbp) ? state_load(s, rbp) : VALUE_UNKNOWN;
    s->reg[INSN_RSP] = value_is_stack(rbp) ? value_move(rbp, 8) : VALUE_UNKNOWN;
}

/* Whatever else an instruction is: what it writes is not known any more. */
static bool other(struct stepper *p)
{
    const struct insn *x = p->x;
    bool changed = false;
    for (unsigned left = x->writes; left; left &= left - 1) {
        changed |= set(p, (unsigned)__builtin_ctz(left), VALUE_UNKNOWN);
    }
    u64 where = x->stores ? stack_address(p->s, x, &x->mem) : 0;
    if (where)
        smash(p, where, x->wide ? WIDE : x->size);
    return changed || where;
}

static bool move(struct stepper *p)
{
    const struct insn *x = p->x;
    int to = whole(p, &x->a), from = whole(p, &x->b);
    u64 where = stack_address(p->s, x, x->a.kind == INSN_MEM ? &x->a : &x->b);
    if (x->a.kind == INSN_MEM) {
        if (where && x->size == 8)
            store(p, where, from >= 0 ? p->s->reg[from] : VALUE_UNKNOWN);
        else if (where)
            smash(p, where, x->size);
        return where;
    }
    if (x->b.kind == INSN_IMM && x->size >= 4)
        return set(p, x->a.reg, value_const(x->size == 8 ? (u64)x->b.value : (u32)x->b.value));
    if (to < 0)
        return other(p);
    if (from >= 0)
        return set(p, (unsigned)to, p->s->reg[from]);
    return set(p, (unsigned)to, where ? state_load(p->s, where) : VALUE_UNKNOWN);
}

/* The sum of a jump table's entry and the table's address. */
static u64 switch_case(u64 a, u64 b)
{
    bool load_first = VALUE_KIND(a) == VALUE_LOAD;
    u64 entry = load_first ? a : b, table = load_first ? b : a;
    return VALUE_KIND(entry) == VALUE_LOAD && VALUE_KIND(table) == VALUE_CONST && (u32)entry == (u32)table
               ? VALUE(VALUE_CASE, 0, (u32)entry)
               : VALUE_UNKNOWN;
}

static u64 address_of(struct stepper *p, const struct insn_operand *m)
{
    const struct state *s = p->s;
    if (m->base == INSN_RIP && m->index == INSN_NO_REG)
        return value_const(p->next + (u64)(s64)m->disp);
    if (m->base > 15 || p->x->address_size != 8)
        return VALUE_UNKNOWN;
    u64 base = s->reg[m->base];
    if (m->index == INSN_NO_REG && value_is_stack(base))
        return value_move(base, m->disp);
    if (m->index == INSN_NO_REG)
        return VALUE_KIND(base) == VALUE_CONST ? value_const(value_number(base) + (u64)(s64)m->disp) : VALUE_UNKNOWN;
    if (p->x->a.reg == INSN_RSP && value_is_stack(base))
        return new_base(p);
    return m->scale == 1 && !m->disp && m->index < 16 ? switch_case(base, s->reg[m->index]) : VALUE_UNKNOWN;
}

static bool lea(struct stepper *p)
{
    int to = whole(p, &p->x->a);
    if (to < 0)
        return other(p);
    u64 v = address_of(p, &p->x->b);
    return set(p, (unsigned)to, v);
}

/* rsp minus a register: a frame whose size was computed. The register then says where the CFA is. */
static u64 dynamic_frame(struct stepper *p, int by)
{
    u64 rsp = p->s->reg[INSN_RSP], size = by >= 0 ? p->s->reg[by] : VALUE_UNKNOWN, base = new_base(p);
    if (by >= 0 && !VALUE_BASE(rsp) && !value_is_stack(size))
        p->s->reg[by] = VALUE(VALUE_SIZE, p->base, -VALUE_OFF(rsp));
    return base;
}

static u64 sum(struct stepper *p, int to, s64 sign)
{
    const struct state *s = p->s;
    const struct insn_operand *o = &p->x->b;
    u64 a = s->reg[to];
    if (o->kind == INSN_IMM && value_is_stack(a))
        return value_move(a, sign * o->value);
    if (o->kind == INSN_IMM)
        return VALUE_KIND(a) == VALUE_CONST ? value_const(value_number(a) + (u64)(sign * o->value)) : VALUE_UNKNOWN;
    int by = whole(p, o);
    u64 b = by >= 0 ? s->reg[by] : VALUE_UNKNOWN;
    if (value_is_stack(a) && VALUE_KIND(b) == VALUE_CONST && value_number(b) < VALUE_MAX_OFF)
        return value_move(a, sign * (s64)value_number(b));
    if (to == INSN_RSP && value_is_stack(a)) {
        if (sign > 0 && VALUE_KIND(b) == VALUE_SIZE && VALUE_BASE(a) == VALUE_BASE(b)) /* the frame is given back */
            return value_move(VALUE(VALUE_STACK, 0, VALUE_OFF(a)), -(s64)VALUE_OFF(b));
        return sign < 0 ? dynamic_frame(p, by) : new_base(p);
    }
    return sign > 0 ? switch_case(a, b) : VALUE_UNKNOWN;
}

static bool arithmetic(struct stepper *p)
{
    const struct insn *x = p->x;
    int to = whole(p, &x->a);
    if (to < 0)
        return other(p);
    u64 v = VALUE_UNKNOWN;
    s64 mask = x->b.value;
    if (x->op == INSN_ADD || x->op == INSN_SUB)
        v = sum(p, to, x->op == INSN_ADD ? 1 : -1);
    else if (x->op == INSN_INC || x->op == INSN_DEC)
        v = value_is_stack(p->s->reg[to]) ? value_move(p->s->reg[to], x->op == INSN_INC ? 1 : -1) : VALUE_UNKNOWN;
    else if (value_is_stack(p->s->reg[to]) && x->b.kind == INSN_IMM && mask < 0 && !(-mask & (-mask - 1)))
        v = new_base(p);
    return set(p, (unsigned)to, v) || value_is_stack(v);
}

/* One entry of a switch's table. */
static bool load_entry(struct stepper *p)
{
    const struct insn *x = p->x;
    const struct insn_operand *m = &x->b;
    u64 base = m->kind == INSN_MEM && m->base < 16 ? p->s->reg[m->base] : VALUE_UNKNOWN;
    if (whole(p, &x->a) < 0 || m->kind != INSN_MEM || m->scale != 4 || m->index == INSN_NO_REG ||
        VALUE_KIND(base) != VALUE_CONST)
        return other(p);
    return set(p, x->a.reg, VALUE(VALUE_LOAD, 0, (u32)(value_number(base) + (u64)(s64)m->disp)));
}

static bool exchange(struct stepper *p)
{
    int a = whole(p, &p->x->a), b = whole(p, &p->x->b);
    if (a < 0 || b < 0)
        return other(p);
    u64 v = p->s->reg[a];
    p->s->reg[a] = p->s->reg[b];
    p->s->reg[b] = v;
    return true;
}

static void call(struct stepper *p, u16 kept, struct step *out)
{
    struct state *s = p->s;
    u64 rsp = s->reg[INSN_RSP];
    if (p->x->a.kind == INSN_IMM && !p->x->a.value) { /* call $+5: rip is wanted, and popped soon */
        s->reg[INSN_RSP] = value_is_stack(rsp) ? value_move(rsp, -8) : VALUE_UNKNOWN;
        if (value_is_stack(s->reg[INSN_RSP]))
            store(p, s->reg[INSN_RSP], VALUE_UNKNOWN);
        return;
    }
    out->to = STEP_CALL;
    out->target = p->x->a.kind == INSN_IMM ? p->next + (u64)p->x->a.value : 0;
    state_call(s, kept);
}

/* jmp reg, after movsxd and add; jmp [table + reg * 8], in code for a fixed address. */
static void jump(struct stepper *p, struct step *out)
{
    const struct insn_operand *o = &p->x->a;
    if (o->kind == INSN_IMM) {
        out->to = STEP_JUMP;
        out->target = p->next + (u64)o->value;
        return;
    }
    out->to = STEP_SWITCH;
    u64 v = o->kind == INSN_REG ? p->s->reg[o->reg] : VALUE_UNKNOWN;
    if (VALUE_KIND(v) == VALUE_CONST) {
        out->to = STEP_JUMP;
        out->target = value_number(v);
    }
    if (VALUE_KIND(v) == VALUE_CASE)
        out->table = (u32)v;
    if (VALUE_KIND(v) == VALUE_TARGETS)
        out->targets = v;
    if (o->kind != INSN_MEM || o->index == INSN_NO_REG || o->scale != 8 || o->segment)
        return;
    u64 base = o->base < 16 ? p->s->reg[o->base] : (u64)VALUE_CONST << 60;
    if (o->base != INSN_RIP && VALUE_KIND(base) == VALUE_CONST)
        out->table = value_number(base) + (u64)(s64)o->disp;
    out->absolute = true;
}

static bool plain(struct stepper *p)
{
    switch (p->x->op) {
    case INSN_NOP:
        return false;
    case INSN_PUSH:
        push(p);
        return true;
    case INSN_POP:
        pop(p);
        return true;
    case INSN_LEAVE:
        leave(p);
        return true;
    case INSN_MOV:
        return move(p);
    case INSN_MOVSXD:
        return load_entry(p);
    case INSN_LEA:
        return lea(p);
    case INSN_ADD:
    case INSN_SUB:
    case INSN_AND:
    case INSN_INC:
    case INSN_DEC:
        return arithmetic(p);
    case INSN_XCHG:
        return exchange(p);
    default:
        return other(p);
    }
}

void step(struct state *s, const struct insn *x, u64 next, u32 at, u16 kept, struct stores *m, struct step *out)
{
    struct stepper p = {.s = s, .x = x, .stores = m, .next = next, .base = at + 1};
    *out = (struct step){.to = STEP_ON, .changed = true};
    switch (x->op) {
    case INSN_RET:
        out->to = STEP_RET;
        break;
    case INSN_TRAP:
        out->to = STEP_STOP;
        break;
    case INSN_CALL:
        call(&p, kept, out);
        break;
    case INSN_JMP:
        jump(&p, out);
        break;
    case INSN_JCC:
        other(&p);
        out->to = STEP_BRANCH;
        out->target = next + (u64)x->a.value;
        break;
    default:
        out->changed = plain(&p);
    }
}
