/* Following a region: each block runs from the state at its front, and hands what comes out of it to those behind. A
 * block whose state has become less runs again. */
#include "synth/analysis.h"
#include "synth/insn.h"
#include <errno.h>

#define LOCK_PREFIX 0xf0

void flow_enqueue(struct analysis *a, struct block *b)
{
    if (b->queued)
        return;
    u32 *p = VEC_PUSH(&a->queue);
    if (!p) {
        a->err = -ENOMEM;
        return;
    }
    b->queued = true;
    *p = (u32)(b - a->blocks.v);
}

/* ---- Where control arrives ---- */

/* In code of another region. Orphans only learn from it, or give way to it. */
static void arrive_elsewhere(struct analysis *a, u32 other, u32 at, u64 pc, const struct state *s, enum flow_how how)
{
    struct region *me = region_current(a), *r = &a->regions.v[other];
    struct xp_rule rule;
    if (me->frame.orphan) {
        if (!s->called && proof_holds(r) && emit_rule_at(a, r, at, &rule))
            proof_leave_into(a, s, other, at, &rule);
    } else if (r->frame.orphan) {
        region_take_back(a, other);
        flow_to(a, pc, s, how);
    } else if (r->bad) {
        me->bad = true;
    } else {
        a->joined = other;
    }
}

/* In the middle of a block, which now ends there. */
static void split(struct analysis *a, struct block *whole, u32 at, const struct state *s)
{
    u16 rest = (u16)(whole->at + whole->len - at);
    flow_enqueue(a, whole);
    whole->len -= rest;
    struct block *b = region_add_block(a, at, s);
    if (b) {
        b->len = rest;
        flow_enqueue(a, b);
    }
}

/* Control comes to one place with rsp in two states. Two distances to the CFA are a contradiction: some way here is
 * none. Where a weak entry may lead here, or the distance at the front is what is asked, so is one beside none. */
static bool contradict(struct analysis *a, u64 x, u64 y)
{
    if (x == y)
        return false;
    bool comparable = value_is_stack(x) && value_is_stack(y) && VALUE_BASE(x) == VALUE_BASE(y);
    const struct region *r = region_current(a);
    return comparable || r->frame.orphan ||
           (r->entry != NOBODY && a->entries.v[r->entry].next != NOBODY && region_is_weak(a));
}

static void meet(struct analysis *a, struct block *b, const struct state *s)
{
    struct state *known = region_state(a, b);
    if (contradict(a, known->reg[INSN_RSP], s->reg[INSN_RSP]))
        region_current(a)->bad = true;
    if (state_meet(known, s, &a->targets))
        flow_enqueue(a, b);
}

static void arrive(struct analysis *a, u32 at, u64 pc, const struct state *s, enum flow_how how)
{
    struct block *b = a->code.marks[at] & CODE_LEAD ? region_block_at(a, at) : region_block_of(a, at);
    if (!b)
        region_current(a)->bad = true;
    else if (b->region != a->current)
        arrive_elsewhere(a, b->region, at, pc, s, how);
    else if (b->at != at)
        split(a, b, at, s);
    else
        meet(a, b, s);
}

/* "lock" may be jumped over; nothing else has two instructions in the same bytes. */
static void arrive_inside(struct analysis *a, u32 at, u64 pc, const struct state *s, enum flow_how how)
{
    const struct code_gap *g = code_gap_of(&a->code, at);
    if (at > g->base && g->bytes[at - g->base - 1] == LOCK_PREFIX && (a->code.marks[at - 1] & CODE_INSN))
        arrive(a, at - 1, pc - 1, s, how);
    else
        region_current(a)->bad = true;
}

/* Whoever jumps to a function has rsp = CFA - 8. Is this a weak entry that is none, then? */
static bool is_no_entry(struct analysis *a, u32 at, const struct state *s)
{
    u64 rsp = s->reg[INSN_RSP];
    const struct block *b = region_block_at(a, at);
    return (a->code.marks[at] & CODE_WEAK) && !region_current(a)->frame.orphan && (!b || b->region != a->current) &&
           value_is_stack(rsp) && !VALUE_BASE(rsp) && VALUE_OFF(rsp) != -8;
}

/* To where nobody has looked. */
static void leave_unseen(struct analysis *a, bool as_tail)
{
    region_current(a)->kept &= KEPT_BY_ABI;
    region_current(a)->open = true;
    region_current(a)->doubtful |= !as_tail;
    region_current(a)->passes_on |= as_tail;
}

void flow_to(struct analysis *a, u64 pc, const struct state *s, enum flow_how how)
{
    u32 at;
    if (!code_find(&a->code, pc, &at)) {
        if (how <= FLOW_JUMP && code_covered(&a->code, pc))
            proof_leave(a, s);
        leave_unseen(a, false);
        return;
    }
    if ((a->code.marks[at] & CODE_ENTRY) && how != FLOW_BACK && is_no_entry(a, at, s)) {
        region_current(a)->bad |= region_is_weak(a); /* or is this one none? */
        region_refuse_entry(a, at);
    }
    u8 mark = a->code.marks[at];
    if (mark & CODE_ENTRY) {
        if (how != FLOW_BACK)
            proof_leave_to(a, s, at);
    } else if (mark & (CODE_LEAD | CODE_INSN)) {
        arrive(a, at, pc, s, how);
    } else if (mark & CODE_MID) {
        arrive_inside(a, at, pc, s, how);
    } else {
        struct block *b = region_add_block(a, at, s);
        if (b)
            flow_enqueue(a, b);
    }
}

/* ---- Running a block ---- */

struct run {
    struct analysis *a;
    const struct code_gap *gap;
    u32 block;           /* number; adding blocks may move them */
    u32 start, at, seen; /* up to `seen`, this block has been here before */
    struct state s;
};

/* Marks an instruction. What overlaps another is no code, or no honest one. */
static void mark(struct run *r, size_t len)
{
    u8 *m = r->a->code.marks + r->at;
    bool overlaps = m[0] & CODE_MID;
    for (size_t i = 1; i < len; i++) {
        overlaps |= m[i] & (CODE_INSN | CODE_LEAD);
        m[i] |= CODE_MID;
    }
    m[0] |= CODE_INSN;
    if (overlaps)
        region_current(r->a)->bad = true;
}

/* Is the instruction behind this "lock" known already? Then this one is the prefix only. */
static bool is_lock_alone(const struct run *r, const u8 *p, size_t len)
{
    return *p == LOCK_PREFIX && len > 1 && (r->a->code.marks[r->at + 1] & (CODE_INSN | CODE_LEAD));
}

/* A call may be the last thing that a function does: then padding follows, or another function. */
static bool call_returns(struct run *r, u64 target)
{
    size_t left, n;
    const u8 *p = code_bytes(r->gap, r->at, &left);
    u64 pc = code_pc(r->gap, r->at);
    if (!left || *p == 0xcc || noreturn_call(r->a, target))
        return false;
    if (!(n = code_padding(p, left)))
        return (pc & 15) || !jump_table_may_end(r->a, pc);
    for (; (pc & 15) && (n = code_padding(p, left)); pc += n, p += n, left -= n)
        ;
    return pc & 15;
}

/* What is behind a call of code without a way out is not the caller's. */
static bool may_go_on(struct run *r, u64 callee)
{
    if (!callee)
        return true;
    struct region *me = region_current(r->a);
    if (!me->frame.orphan) {
        bool stays = region_stays(r->a, callee);
        me->doubtful |= !stays && !noreturn_is_not(r->a, callee);
        return !stays;
    }
    enum region_end end = region_end_of(r->a, callee);
    r->s.called |= end != REGION_RETURNS;
    return end != REGION_STAYS;
}

/* A jump through a register that holds one of a few addresses. Following one may make the set larger. */
static void follow_targets(struct run *r, const struct step *x)
{
    if (!x->targets)
        return;
    struct targets to = r->a->targets.v.v[(u32)x->targets];
    for (u32 i = 0; i < to.n && r->a->joined == NOBODY; i++)
        flow_to(r->a, to.v[i], &r->s, FLOW_JUMP);
}

/* Where it goes on from an instruction that ends at r->at. True: in this block. */
static bool go_on(struct run *r, const struct step *x)
{
    struct analysis *a = r->a;
    u64 pc = code_pc(r->gap, r->at);
    switch (x->to) {
    case STEP_ON:
        return true;
    case STEP_RET:
        proof_leave(a, &r->s);
        region_current(a)->kept &= state_unchanged(&r->s);
        return false;
    case STEP_JUMP:
        flow_to(a, x->target, &r->s, FLOW_JUMP);
        return false;
    case STEP_BRANCH:
        flow_to(a, x->target, &r->s, FLOW_JUMP);
        flow_to(a, pc, &r->s, FLOW_FALL);
        return false;
    case STEP_CALL:
        if (x->target)
            region_ask(a, x->target);
        return call_returns(r, x->target) && may_go_on(r, x->target);
    case STEP_SWITCH:
        if (!x->table && !x->targets)
            leave_unseen(a, r->s.reg[INSN_RSP] == VALUE(VALUE_STACK, 0, -8));
        jump_table_follow(a, x, pc, &r->s);
        follow_targets(r, x);
        return false;
    default:
        return false;
    }
}

/* Does another block begin here? */
static bool ends_here(const struct run *r)
{
    u8 m = r->a->code.marks[r->at];
    return (m & (CODE_LEAD | CODE_ENTRY)) || (r->at >= r->seen && (m & CODE_INSN)) ||
           r->at - r->start >= BLOCK_MAX_BYTES - INSN_MAX_BYTES;
}

static bool is_pop(const u8 *p, size_t n)
{
    struct insn x;
    return insn_decode(p, n, &x) && x.op == INSN_POP;
}

static void run_block(struct analysis *a, struct block *b)
{
    struct run r = {.a = a, .gap = code_gap_of(&a->code, b->at), .block = (u32)(b - a->blocks.v), .start = b->at};
    struct exit_watch watch = {0};
    struct insn x;
    struct step next = {0};
    size_t left;
    r.at = b->at;
    r.seen = b->at + b->len;
    r.s = *region_state(a, b);
    struct stores *stores = region_current(a)->frame.orphan ? &a->stores : NULL;
    if (b->visits++ >= a->limits->max_visits) {
        region_current(a)->bad = true;
        return;
    }
    b->plain = true;
    for (bool on = true; on;) {
        const u8 *p = code_bytes(r.gap, r.at, &left);
        if (!left || (r.at > r.start && ends_here(&r))) {
            a->blocks.v[r.block].len = (u16)(r.at - r.start);
            flow_to(a, code_pc(r.gap, r.at), &r.s, next.to == STEP_CALL ? FLOW_BACK : FLOW_FALL);
            return;
        }
        if (!insn_decode(p, left, &x)) {
            region_current(a)->doubtful = true;
            break;
        }
        if (is_lock_alone(&r, p, x.len))
            x = (struct insn){.len = 1, .op = INSN_NOP};
        if (r.at >= r.seen)
            mark(&r, x.len);
        analysis_count(a);
        u64 pc = code_pc(r.gap, r.at) + x.len;
        bool changed = next.changed; /* by the instruction before */
        if (x.op == INSN_CALL && x.a.kind == INSN_IMM && !x.a.value && !is_pop(p + x.len, left - x.len))
            region_current(a)->doubtful = true; /* the function behind it is called, perhaps */
        step(&r.s, &x, pc, r.at, region_kept(a, &x, pc), stores, &next);
        r.at += x.len;
        a->blocks.v[r.block].len = (u16)(r.at - r.start);
        a->blocks.v[r.block].plain &= !changed;
        a->blocks.v[r.block].exits = noreturn_exits(&watch, p, &x);
        on = go_on(&r, &next) && !a->blocks.v[r.block].exits;
    }
}

void flow_run(struct analysis *a)
{
    while (a->queue.n && a->joined == NOBODY && !analysis_over(a) && !(region_current(a)->bad && region_is_weak(a))) {
        struct block *b = &a->blocks.v[a->queue.v[--a->queue.n]];
        b->queued = false;
        run_block(a, b);
    }
}
