/* Follows the stack pointer from where functions are entered, in code that keeps rbp, but not the discipline of
 * frames.h: V8's builtins push arguments before they have a frame, or need none, and take their return address off the
 * stack while they change what is below it.
 *
 * States only spread along jumps and from one instruction to the next. Where different ones meet, nothing is known; and
 * a function that gives back a frame that it never made, or returns while something lies above its return address, was
 * misunderstood: none of its states count. */
#include "base/cleanup.h"
#include "synth/frames.h"
#include "synth/insn.h"
#include <errno.h>
#include <string.h>

#define MAX_WORDS  250
#define MAX_ROUNDS 64 /* over all edges */
#define LOST       FRAMES_FLOW(FLOW_LOST, 0)
#define RBP_BIT    (1u << INSN_RBP)
#define RSP_BIT    (1u << INSN_RSP)

struct flow {
    struct frames_run *run;
    VEC(u32) todo; /* instructions whose state is new */
    bool failed;
};

static void flow_free(struct flow *f)
{
    vec_free(&f->todo);
}

static bool is_reg(const struct insn_operand *o, unsigned reg)
{
    return o->kind == INSN_REG && o->reg == reg;
}

/* By how many words rsp is lowered, if the instruction says so: sub, add, lea. */
static bool moves_rsp(const struct insn *x, s64 *words)
{
    s64 bytes;
    if (x->size != 8 || !is_reg(&x->a, INSN_RSP))
        return false;
    if ((x->op == INSN_SUB || x->op == INSN_ADD) && x->b.kind == INSN_IMM)
        bytes = x->op == INSN_SUB ? x->b.value : -x->b.value;
    else if (x->op == INSN_LEA && x->b.base == INSN_RSP && x->b.index == INSN_NO_REG)
        bytes = -(s64)x->b.disp;
    else
        return false;
    *words = bytes / 8;
    return !(bytes & 7) && *words >= -MAX_WORDS && *words <= MAX_WORDS;
}

static u16 with_words(unsigned kind, s64 words)
{
    return words < 0 || words > MAX_WORDS ? LOST : FRAMES_FLOW(kind, words);
}

/* Tells whether `o` is the word at rsp + 8 * n. */
static bool is_word(const struct insn_operand *o, s64 n)
{
    return o->kind == INSN_MEM && o->base == INSN_RSP && o->index == INSN_NO_REG && !o->segment && o->disp == 8 * n;
}

/* `n` words lie above the return address (FLOW_OUT) or the saved rbp (FLOW_SAVED). */
static u16 without_frame(const struct insn *x, unsigned kind, s64 n)
{
    s64 words;
    if (x->op == INSN_PUSH && kind == FLOW_OUT && is_word(&x->a, n))
        return FRAMES_FLOW(FLOW_OUT, 0); /* a copy of the return address */
    if (x->op == INSN_PUSH && kind == FLOW_OUT && !n && is_reg(&x->a, INSN_RBP))
        return FRAMES_FLOW(FLOW_SAVED, 0);
    if (x->op == INSN_PUSH)
        return with_words(kind, n + 1);
    if (x->op == INSN_POP && is_reg(&x->a, INSN_RBP))
        return kind == FLOW_SAVED && !n ? FRAMES_FLOW(FLOW_OUT, 0) : LOST;
    if (x->op == INSN_POP && x->a.kind == INSN_REG && !n && kind == FLOW_OUT && x->a.reg != INSN_RSP)
        return FRAMES_FLOW(FLOW_RA, x->a.reg);
    if (x->op == INSN_POP)
        return is_reg(&x->a, INSN_RSP) ? LOST : with_words(kind, n - 1);
    if (moves_rsp(x, &words))
        return with_words(kind, n + words);
    if (kind == FLOW_SAVED && !n && x->op == INSN_MOV && x->size == 8 && is_reg(&x->a, INSN_RBP) &&
        is_reg(&x->b, INSN_RSP))
        return FRAMES_FLOW(FLOW_IN, 0);
    return x->writes & (RBP_BIT | RSP_BIT) || x->op == INSN_LEAVE ? LOST : FRAMES_FLOW(kind, n);
}

static u16 within_frame(const struct insn *x)
{
    if (x->op == INSN_LEAVE || (x->op == INSN_POP && is_reg(&x->a, INSN_RBP)))
        return FRAMES_FLOW(FLOW_OUT, 0);
    return x->op != INSN_PUSH && (x->writes & RBP_BIT) ? LOST : FRAMES_FLOW(FLOW_IN, 0);
}

/* The return address is in `reg`, and rsp moves. */
static u16 returning(const struct insn *x, unsigned reg)
{
    if (x->op == INSN_PUSH && is_reg(&x->a, reg))
        return FRAMES_FLOW(FLOW_OUT, 0);
    bool lost = x->op == INSN_CALL || x->op == INSN_LEAVE || (x->writes & (RBP_BIT | 1u << reg)) ||
                (x->op == INSN_POP && (is_reg(&x->a, reg) || is_reg(&x->a, INSN_RBP)));
    return lost ? LOST : FRAMES_FLOW(FLOW_RA, reg);
}

static u16 after(const struct insn *x, u16 state)
{
    unsigned kind = FRAMES_FLOW_KIND(state), value = FRAMES_FLOW_VALUE(state);
    if (kind == FLOW_OUT || kind == FLOW_SAVED)
        return without_frame(x, kind, value);
    return kind == FLOW_IN ? within_frame(x) : kind == FLOW_RA ? returning(x, value) : LOST;
}

/* What no function does in this state. */
static bool is_refuted(const struct insn *x, u16 state)
{
    unsigned kind = FRAMES_FLOW_KIND(state);
    bool leaves = x->op == INSN_LEAVE || (x->op == INSN_POP && is_reg(&x->a, INSN_RBP));
    if (kind == FLOW_OUT)
        return leaves || (x->op == INSN_RET && FRAMES_FLOW_VALUE(state));
    return x->op == INSN_RET && (kind == FLOW_SAVED || kind == FLOW_IN || kind == FLOW_RA);
}

static void arrive(struct flow *f, u32 at, u16 state)
{
    struct frames_run *r = f->run;
    if (at >= r->len || !frames_starts(r, at))
        return;
    u16 *old = &r->flow[at];
    u16 met = *old == FLOW_NONE || *old == state ? state : LOST;
    if (met == *old)
        return;
    *old = met;
    u32 *next = VEC_PUSH(&f->todo);
    if (next)
        *next = at;
    else
        f->failed = true;
}

/* A jump to the start of a function is one from function to function: the return address is on top there, whatever is
 * known here; but not if there is a frame. */
static void jump(struct flow *f, u64 target, u16 state)
{
    u64 at = target - f->run->address;
    if (at >= f->run->len)
        return;
    unsigned kind = FRAMES_FLOW_KIND(state);
    struct frames_piece *p = frames_piece_at(f->run, (u32)at);
    if (p && p->at == at && p->entered && kind != FLOW_IN && kind != FLOW_SAVED)
        return;
    arrive(f, (u32)at, state);
}

static void follow(struct flow *f, u32 at)
{
    const struct frames_run *r = f->run;
    u16 state = r->flow[at];
    struct insn x;
    size_t len = insn_decode(r->bytes + at, r->len - at, &x);
    if (!len)
        return;
    u32 end = at + (u32)len;
    struct frames_piece *p = is_refuted(&x, state) ? frames_piece_at(f->run, at) : NULL;
    if (p)
        p->refuted = true;
    if ((x.op == INSN_JMP || x.op == INSN_JCC) && x.a.kind == INSN_IMM)
        jump(f, r->address + end + (u64)x.a.value, state);
    if (x.op != INSN_JMP && x.op != INSN_RET && x.op != INSN_TRAP)
        arrive(f, end, after(&x, state));
}

/* Forgets the states of functions that were misunderstood. */
static void forget_refuted(struct frames_run *r)
{
    for (size_t i = 0, end; i < r->pieces.n; i = end) {
        bool refuted = false;
        end = frames_function_end(r, i);
        for (size_t k = i; k < end; k++)
            refuted |= r->pieces.v[k].refuted;
        u32 from = r->pieces.v[i].at, n = frames_end(r, end - 1) - from;
        if (refuted)
            memset(r->flow + from, 0, n * sizeof(*r->flow)); /* FLOW_NONE */
    }
}

/* Traps may also be in the middle of a function. But no jump leads from one function to the inside of another, so no
 * function begins between the ends of such a jump. Returns whether there were any. */
static bool drop_false_entries(struct frames_run *r, s32 *open)
{
    bool any = false;
    memset(open, 0, (r->pieces.n + 1) * sizeof(*open));
    for (size_t i = 0; i < r->edges.n; i++) {
        struct frames_edge e = r->edges.v[i];
        if (r->pieces.v[e.to].entered)
            continue;
        open[(e.from < e.to ? e.from : e.to) + 1]++;
        open[(e.from < e.to ? e.to : e.from) + 1]--;
    }
    s32 n = 0;
    for (size_t i = 0; i < r->pieces.n; i++) {
        struct frames_piece *p = &r->pieces.v[i];
        n += open[i];
        if (!n || !p->entered || p->called)
            continue;
        p->entered = false; /* so jumps to it count, too */
        any = true;
    }
    return any;
}

int frames_flow(struct frames_run *r)
{
    CLEANUP(flow_free) struct flow f = {.run = r};
    AUTO_FREE s32 *open = calloc(r->pieces.n + 1, sizeof(*open));
    r->flow = calloc(r->len, sizeof(*r->flow));
    if (!r->flow || !open)
        return -ENOMEM;
    unsigned rounds = 0;
    while (drop_false_entries(r, open))
        if (++rounds == MAX_ROUNDS)
            return 0; /* nothing is followed */
    for (size_t i = 0; i < r->pieces.n; i++)
        if (r->pieces.v[i].follow && r->pieces.v[i].entered)
            arrive(&f, r->pieces.v[i].at, FRAMES_FLOW(FLOW_OUT, 0));
    while (f.todo.n && !f.failed)
        follow(&f, f.todo.v[--f.todo.n]);
    forget_refuted(r);
    return f.failed ? -ENOMEM : 0;
}
