/* Reads a run of code into pieces and edges. The idea is in frames.h. */
#include "base/cleanup.h"
#include "synth/frames.h"
#include "synth/insn.h"
#include <errno.h>
#include <string.h>

#define TRAP    0xcc
#define RBP_BIT (1u << INSN_RBP)
#define RSP_BIT (1u << INSN_RSP)

static const u8 prologue[] = {0x55, 0x48, 0x89, 0xe5};     /* push rbp; mov rbp, rsp */
static const u8 prologue_too[] = {0x55, 0x48, 0x8b, 0xec}; /* the same, as other assemblers encode it */
static const u8 endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

bool frames_begin_here(const u8 *p, size_t n)
{
    if (n >= sizeof(endbr64) && !memcmp(p, endbr64, sizeof(endbr64))) {
        p += sizeof(endbr64);
        n -= sizeof(endbr64);
    }
    return n >= sizeof(prologue) &&
           (!memcmp(p, prologue, sizeof(prologue)) || !memcmp(p, prologue_too, sizeof(prologue)));
}

struct reader {
    struct frames_run *run;
    u32 at;
    bool open;  /* a piece is open: the last one */
    bool after; /* ... and the instruction before was a call */
    bool jumps; /* the instruction before loaded rsp from memory, as longjmp does */
    bool apart; /* the next one is no part of the function before */
    bool failed;
};

static struct frames_piece *last(struct reader *r)
{
    return &r->run->pieces.v[r->run->pieces.n - 1];
}

static void add_piece(struct reader *r, u32 at, struct frames_piece like)
{
    struct frames_piece *p = VEC_PUSH(&r->run->pieces);
    if (!p) {
        r->failed = true;
        return;
    }
    *p = like;
    p->at = at;
    r->open = true;
}

/* The state changes behind the current instruction. */
static void change(struct reader *r, u32 at, enum frames_state to)
{
    add_piece(r, at, (struct frames_piece){.state = (u8)to});
}

static void set_bad(struct reader *r)
{
    last(r)->marks |= FRAMES_BAD;
}

/* The state of the open piece, if nothing was known of it so far. */
static void learn(struct reader *r, enum frames_state s)
{
    struct frames_piece *p = last(r);
    if (p->state == FRAMES_UNKNOWN)
        p->state = (u8)s;
    else if (p->state != s)
        p->marks |= FRAMES_BAD;
}

/* ---- What an instruction says ---- */

static bool is_rbp(const struct insn_operand *o)
{
    return o->kind == INSN_REG && o->reg == INSN_RBP;
}

static bool is_frame_move(const struct insn *x)
{
    return x->op == INSN_MOV && x->size == 8 && is_rbp(&x->a) && x->b.kind == INSN_REG && x->b.reg == INSN_RSP;
}

static bool is_load(const struct insn *x, u8 reg)
{
    return x->op == INSN_MOV && x->size == 8 && x->a.kind == INSN_REG && x->a.reg == reg && x->b.kind == INSN_MEM;
}

/* mov rbp, [rbp]: V8 before it jumps to another function. */
static bool is_return_move(const struct insn *x)
{
    return x->op == INSN_MOV && x->size == 8 && is_rbp(&x->a) && x->b.kind == INSN_MEM && x->b.base == INSN_RBP &&
           x->b.index == INSN_NO_REG && !x->b.disp;
}

/* rsp changes, or memory that only a function with a frame would leave there. */
static void use_stack(struct reader *r)
{
    struct frames_piece *p = last(r);
    if (p->state == FRAMES_UNKNOWN)
        p->soft = true;
    else if (p->state != FRAMES_IN)
        p->marks |= FRAMES_BAD;
}

static void push_rbp(struct reader *r, u32 end)
{
    if (last(r)->state == FRAMES_IN) /* an argument */
        return;
    learn(r, FRAMES_OUT);
    if (last(r)->soft)
        set_bad(r);
    last(r)->frames = true;
    change(r, end, FRAMES_SAVED);
}

static void write_rbp(struct reader *r, const struct insn *x, u32 end)
{
    if (is_frame_move(x) && last(r)->state == FRAMES_SAVED) {
        change(r, end, FRAMES_IN);
        if (!r->failed)
            last(r)->made = true;
    } else if (r->jumps && is_load(x, INSN_RBP)) { /* into another function's frame, as exceptions do */
        change(r, end, FRAMES_IN);
        if (!r->failed)
            set_bad(r);
    } else if (is_return_move(x)) { /* rsp follows: where it is until then, is not known */
        change(r, end, FRAMES_OUT);
        if (!r->failed)
            set_bad(r);
    } else {
        last(r)->marks |= FRAMES_BAD | FRAMES_WILD;
    }
}

static void give_back_rbp(struct reader *r, u32 end)
{
    learn(r, FRAMES_IN);
    change(r, end, FRAMES_OUT);
}

static void add_edge(struct reader *r, u64 target)
{
    struct frames_run *run = r->run;
    size_t left;
    if (target - run->address < run->len) {
        struct frames_edge *e = VEC_PUSH(&run->edges);
        if (e)
            *e = (struct frames_edge){(u32)run->pieces.n - 1, (u32)(target - run->address)};
        else
            r->failed = true;
        return;
    }
    const u8 *p = elf_at(run->elf, target, &left);
    if (p && frames_begin_here(p, left)) /* another function */
        learn(r, FRAMES_OUT);
}

static void add_call(struct reader *r, u32 end, u64 target)
{
    struct frames_run *run = r->run;
    u32 *back = VEC_PUSH(&run->returns), *to = target - run->address < run->len ? VEC_PUSH(&run->calls) : NULL;
    if (back)
        *back = end;
    if (to)
        *to = (u32)(target - run->address);
    r->failed |= !back;
}

static bool uses_frame(const struct insn *x)
{
    return x->mem.kind == INSN_MEM && x->mem.base == INSN_RBP;
}

/* A jump through a slot of the GOT leads to another function. */
static bool is_import(const struct insn *x)
{
    return x->a.kind == INSN_MEM && x->a.base == INSN_RIP;
}

/* One instruction, up to `end`. */
static void take(struct reader *r, const struct insn *x, u32 end)
{
    u64 next = r->run->address + end;
    if (uses_frame(x))
        learn(r, FRAMES_IN);
    switch (x->op) {
    case INSN_PUSH:
        if (is_rbp(&x->a))
            push_rbp(r, end);
        else
            use_stack(r);
        break;
    case INSN_POP:
        if (is_rbp(&x->a))
            give_back_rbp(r, end);
        else
            use_stack(r);
        break;
    case INSN_LEAVE:
        give_back_rbp(r, end);
        break;
    case INSN_CALL:
        use_stack(r);
        add_call(r, end, x->a.kind == INSN_IMM ? next + (u64)x->a.value : 0);
        break;
    case INSN_RET:
        learn(r, FRAMES_OUT);
        r->open = false;
        break;
    case INSN_JMP:
    case INSN_JCC:
        if (x->a.kind == INSN_IMM)
            add_edge(r, next + (u64)x->a.value);
        else if (is_import(x))
            learn(r, FRAMES_OUT);
        r->open = x->op == INSN_JCC;
        break;
    case INSN_TRAP:
        r->open = false;
        break;
    default:
        if (x->writes & RBP_BIT)
            write_rbp(r, x, end);
        else if (x->writes & RSP_BIT)
            use_stack(r);
    }
    r->after = x->op == INSN_CALL;
    r->jumps = is_load(x, INSN_RSP);
}

/* ---- The run ---- */

/* Passes padding and begins a piece behind it. */
static void begin(struct reader *r, bool joined)
{
    const struct frames_run *run = r->run;
    struct frames_piece p = {.starts = true, .apart = r->apart};
    size_t n;
    for (; r->at < run->len && (n = code_padding(run->bytes + r->at, run->len - r->at)); r->at += (u32)n) {
        p.trap |= run->bytes[r->at] == TRAP;
        p.padded = true;
    }
    p.padded &= !((run->address + r->at) & 15);
    p.joined = joined && !p.trap;
    r->apart = false;
    if (r->at < run->len)
        add_piece(r, r->at, p);
}

/* What is behind a call may be another function, because the call does not return; then padding or a prologue follows.
 */
static void pass_call(struct reader *r)
{
    const u8 *p = r->run->bytes + r->at;
    size_t left = r->run->len - r->at;
    if (left && (code_padding(p, left) || (last(r)->state != FRAMES_OUT && frames_begin_here(p, left))))
        begin(r, !frames_begin_here(p, left));
    r->after = false;
}

/* Functions are aligned, and there are traps before them, or they have a frame. */
static bool may_begin(const struct frames_run *run, u32 at)
{
    const u8 *p = run->bytes + at;
    return !((run->address + at) & 15) &&
           ((at > 1 && p[-1] == TRAP && p[-2] == TRAP) || frames_begin_here(p, run->len - at));
}

/* Bytes that are no instruction: what was read before them may not have been one either. Goes on where a function
 * begins. */
static void resync(struct reader *r)
{
    struct frames_run *run = r->run;
    if (!r->open)
        add_piece(r, r->at, (struct frames_piece){.starts = true});
    if (r->failed)
        return;
    last(r)->marks |= FRAMES_BAD | FRAMES_WILD;
    last(r)->apart = true;
    r->open = false;
    while (++r->at < run->len && !may_begin(run, r->at))
        ;
    r->apart = true;
}

s64 frames_read(struct frames_run *run)
{
    struct reader r = {.run = run};
    struct insn x;
    s64 n = 0;
    run->starts = calloc(run->len / 8 + 1, 1);
    if (!run->starts)
        return -ENOMEM;
    while (!r.failed) {
        if (!r.open)
            begin(&r, false);
        else if (r.after)
            pass_call(&r);
        if (r.at >= run->len || r.failed)
            break;
        size_t len = insn_decode(run->bytes + r.at, run->len - r.at, &x);
        if (!len) {
            resync(&r);
            continue;
        }
        run->starts[r.at >> 3] |= (u8)(1u << (r.at & 7));
        take(&r, &x, r.at + (u32)len);
        r.at += (u32)len;
        n++;
    }
    for (size_t i = 0; i < run->pieces.n; i++) {
        struct frames_piece *p = &run->pieces.v[i];
        p->local = p->marks & FRAMES_BAD ? FRAMES_OUT : p->state;
    }
    return r.failed ? -ENOMEM : n;
}

void frames_run_free(struct frames_run *r)
{
    vec_free(&r->pieces);
    vec_free(&r->edges);
    vec_free(&r->calls);
    vec_free(&r->returns);
    free(r->starts);
    free(r->flow);
    r->starts = NULL;
    r->flow = NULL;
}
