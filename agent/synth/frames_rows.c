/* Writes the rows of a run, once the states of its pieces are known. The idea is in frames.h. */
#include "synth/frames.h"
#include "synth/rules.h"
#include <errno.h>
#include <string.h>

#define WINDOW       (64u << 10) /* code that is believed, or not, as a whole */
#define WINDOWS      ((FRAMES_MAX_RUN + 2 * FRAMES_SYNC_REACH) / WINDOW + 2)
#define MAX_BAD_PART 8 /* one of so many bytes may break the discipline */
#define MIN_FRAMES   8 /* starts of frames in a stretch that breaks it more often, but keeps rbp */

struct window { /* what speaks for and against a stretch */
    u32 frames, all, bad, wild;
};

static struct xp_rule rule_of(u8 state)
{
    struct xp_rule r = {.kind = XP_RULE_KIND(XP_CFA_RSP, XP_RBP_SAME) | XP_RULE_SYNTH, .cfa_off = 8};
    r.rbx = XP_RBX_SAME | XP_RBX_INFERRED;
    if (state == FRAMES_UNKNOWN)
        return rules_unproven();
    if (state == FRAMES_OUT)
        return r;
    r.kind = XP_RULE_KIND(state == FRAMES_IN ? XP_CFA_RBP : XP_CFA_RSP, XP_RBP_CFA) | XP_RULE_SYNTH;
    r.cfa_off = 16;
    r.rbp_off = -16;
    if (state == FRAMES_IN) /* rbx is saved somewhere below */
        r.rbx = XP_SYNTH_RBX_LOST | XP_RBX_INFERRED;
    return r;
}

/* Registers other than rbp are not the caller's, by these conventions. */
static struct xp_rule rule_of_flow(u16 state)
{
    unsigned kind = FRAMES_FLOW_KIND(state), value = FRAMES_FLOW_VALUE(state);
    struct xp_rule r = rule_of(kind == FLOW_OUT ? FRAMES_OUT : kind == FLOW_SAVED ? FRAMES_SAVED : FRAMES_IN);
    r.rbx = XP_SYNTH_RBX_LOST | XP_RBX_INFERRED;
    if (kind == FLOW_RA)
        return (struct xp_rule){.kind = XP_CFA_RA_REG | XP_RULE_SYNTH, .rbp_off = rules_dwarf_number[value & 15]};
    if (kind != FLOW_IN)
        r.cfa_off += 8 * (s32)value;
    return r;
}

static int put_row(struct synth *out, u64 offset, struct xp_rule rule, bool first)
{
    const struct synth_row *before = out->rows.n ? &out->rows.v[out->rows.n - 1] : NULL;
    if (!first && !memcmp(&before->rule, &rule, sizeof(rule)))
        return 0;
    struct synth_row *row = VEC_PUSH(&out->rows);
    if (!row)
        return -ENOMEM;
    *row = (struct synth_row){offset, rule};
    return 0;
}

static struct window *window_of(struct window *w, const struct frames_run *r, u32 at)
{
    u64 i = (r->offset + at) / WINDOW - r->offset / WINDOW;
    return &w[i < WINDOWS ? i : WINDOWS - 1];
}

static void weigh(const struct frames_run *r, struct window *w)
{
    for (size_t i = 0; i < r->pieces.n; i++) {
        const struct frames_piece *p = &r->pieces.v[i];
        struct window *is = window_of(w, r, p->at);
        u32 n = frames_end(r, i) - p->at;
        is->all += n;
        is->bad += p->marks & FRAMES_BAD ? n : 0;
        is->wild += p->marks & FRAMES_WILD ? n : 0;
        is->frames += p->frames && !(p->marks & FRAMES_WILD);
    }
}

static bool is_believed(const struct window *w)
{
    return w->frames && w->bad <= w->all / MAX_BAD_PART;
}

/* At least, rbp is the frame pointer and nothing else there. */
static bool keeps_rbp(const struct window *w)
{
    return w->frames >= MIN_FRAMES && w->wild <= w->all / MAX_BAD_PART;
}

/* Tells whether the function [first, end) makes a frame. */
static bool has_frame(const struct frames_run *r, size_t first, size_t end)
{
    for (; first < end; first++)
        if (r->pieces.v[first].made && !(r->pieces.v[first].marks & FRAMES_WILD))
            return true;
    return false;
}

struct writer {
    struct synth *out;
    const struct frames_run *run;
    struct window windows[WINDOWS];
    size_t back; /* the next one of run->returns */
    bool first;  /* row of its range */
};

static int put_rule(struct writer *w, u32 at, struct xp_rule rule)
{
    int err = put_row(w->out, w->run->offset + at, rule, w->first);
    w->first = false;
    return err;
}

static int put_state(struct writer *w, u32 at, u8 state)
{
    return put_rule(w, at, rule_of(state));
}

/* Code in which only callers are known: they are looked up at the last byte of their call. */
static int put_calls(struct writer *w, u32 at, u32 end)
{
    const struct frames_run *r = w->run;
    int err = put_state(w, at, FRAMES_UNKNOWN);
    for (; w->back < r->returns.n && r->returns.v[w->back] <= at; w->back++)
        ;
    for (; w->back < r->returns.n && r->returns.v[w->back] <= end && !err; w->back++) {
        err = put_state(w, r->returns.v[w->back] - 1, FRAMES_IN);
        if (!err && r->returns.v[w->back] < end)
            err = put_state(w, r->returns.v[w->back], FRAMES_UNKNOWN);
        w->out->n.claimed_bytes++;
    }
    return err;
}

static bool is_followed(const struct frames_run *r, u32 at)
{
    unsigned kind = FRAMES_FLOW_KIND(r->flow[at]);
    return kind != FLOW_NONE && kind != FLOW_LOST;
}

static u32 next_start(const struct frames_run *r, u32 at, u32 end)
{
    while (++at < end && !frames_starts(r, at))
        ;
    return at;
}

/* Code without discipline: one state for all of it, or rows at calls only. */
static int put_plain(struct writer *w, u32 at, u32 end, u8 state, bool calls)
{
    if (calls)
        return put_calls(w, at, end);
    w->out->n.claimed_bytes += state == FRAMES_UNKNOWN ? 0 : end - at;
    return put_state(w, at, state);
}

/* The same, but where the stack pointer is known, by that. */
static int put_followed(struct writer *w, u32 at, u32 end, u8 state, bool calls)
{
    const struct frames_run *r = w->run;
    int err = 0;
    while (at < end && !err) {
        bool known = is_followed(r, at);
        u32 next = next_start(r, at, end);
        while (next < end && !known && !is_followed(r, next))
            next = next_start(r, next, end);
        err = known ? put_rule(w, at, rule_of_flow(r->flow[at])) : put_plain(w, at, next, state, calls);
        w->out->n.claimed_bytes += known ? next - at : 0;
        at = next;
    }
    return err;
}

static int put_piece(struct writer *w, size_t i, bool frame)
{
    const struct frames_piece *p = &w->run->pieces.v[i];
    const struct window *is = window_of(w->windows, w->run, p->at);
    u32 end = frames_end(w->run, i);
    u8 state = p->state;
    if (p->at == end)
        return 0;
    w->out->n.code_bytes += end - p->at;
    if (!(p->marks & FRAMES_BAD) && is_believed(is))
        return put_plain(w, p->at, end, state, false);
    frame = frame && keeps_rbp(is) && !(p->marks & FRAMES_WILD);
    bool inside = p->framed && p->local != FRAMES_OUT;
    bool calls = frame && !inside && (p->local == FRAMES_UNKNOWN || p->local == FRAMES_IN);
    state = frame && inside ? FRAMES_IN : FRAMES_UNKNOWN;
    return p->follow ? put_followed(w, p->at, end, state, calls) : put_plain(w, p->at, end, state, calls);
}

/* Where the discipline is not kept, but rbp is, the stack pointer is followed. */
static int follow(struct writer *w, struct frames_run *r)
{
    bool any = false;
    for (size_t i = 0; i < r->pieces.n; i++) {
        const struct window *is = window_of(w->windows, r, r->pieces.v[i].at);
        r->pieces.v[i].follow = !is_believed(is) && keeps_rbp(is) && !(r->pieces.v[i].marks & FRAMES_WILD);
        any |= r->pieces.v[i].follow;
    }
    return any ? frames_flow(r) : 0;
}

int frames_rows(struct frames_run *r, struct synth *out)
{
    struct writer w = {.out = out, .run = r, .first = true};
    struct synth_span *range = VEC_PUSH(&out->ranges);
    if (!range)
        return -ENOMEM;
    *range = (struct synth_span){r->offset, r->offset + r->len};
    weigh(r, w.windows);
    int err = follow(&w, r);
    if (!err && (!r->pieces.n || r->pieces.v[0].at))
        err = put_state(&w, 0, FRAMES_UNKNOWN); /* padding */
    for (size_t i = 0, end; i < r->pieces.n && !err; i = end) {
        end = frames_function_end(r, i);
        bool frame = has_frame(r, i, end);
        for (size_t k = i; k < end && !err; k++)
            err = put_piece(&w, k, frame);
    }
    return err;
}
