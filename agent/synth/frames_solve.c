/* Decides the state of each piece of a run. The idea is in frames.h. */
#include "synth/frames.h"

#define TRAP       0xcc /* what a failed assertion jumps to; it passes for padding */
#define MAX_ROUNDS 256  /* over all edges; compilers' code needs a handful */

struct frames_piece *frames_piece_at(struct frames_run *r, u32 at)
{
    size_t lo = 0, hi = r->pieces.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (r->pieces.v[mid].at <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? &r->pieces.v[lo - 1] : NULL;
}

/* Where a jump or call goes; NULL: into the middle of an instruction. */
static struct frames_piece *target_of(struct frames_run *r, u32 at)
{
    return frames_starts(r, at) ? frames_piece_at(r, at) : NULL;
}

/* Even what the piece itself tells is not true. */
static void refute(struct frames_piece *p)
{
    p->marks |= FRAMES_BAD;
    p->local = FRAMES_OUT;
}

/* Replaces the targets of edges by the numbers of their pieces, and drops edges that lead nowhere. */
static void resolve(struct frames_run *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->edges.n; i++) {
        struct frames_edge e = r->edges.v[i];
        struct frames_piece *to = target_of(r, e.to);
        if (to)
            r->edges.v[kept++] = (struct frames_edge){e.from, (u32)(to - r->pieces.v)};
        else if (r->bytes[e.to] != TRAP)
            refute(&r->pieces.v[e.from]);
    }
    r->edges.n = kept;
    for (size_t i = 0; i < r->calls.n; i++) {
        struct frames_piece *to = target_of(r, r->calls.v[i]);
        if (to)
            to->called = true;
        if (to && to->state == FRAMES_UNKNOWN)
            to->state = FRAMES_OUT;
        else if (to && to->state != FRAMES_OUT)
            to->marks |= FRAMES_BAD;
    }
}

static bool equate(struct frames_piece *a, struct frames_piece *b)
{
    if (a->state == b->state)
        return false;
    if (a->state != FRAMES_UNKNOWN && b->state != FRAMES_UNKNOWN) {
        bool news = !(a->marks & b->marks & FRAMES_BAD);
        a->marks |= FRAMES_BAD;
        b->marks |= FRAMES_BAD;
        return news;
    }
    if (a->state == FRAMES_UNKNOWN)
        a->state = b->state;
    else
        b->state = a->state;
    return true;
}

/* All edges, until nothing changes. False: that takes too long. */
static bool spread(struct frames_run *r)
{
    bool changed = true;
    for (unsigned round = 0; changed && round < MAX_ROUNDS; round++) {
        changed = false;
        for (size_t i = 0; i < r->edges.n; i++)
            changed |= equate(&r->pieces.v[r->edges.v[i].from], &r->pieces.v[r->edges.v[i].to]);
    }
    return !changed;
}

/* What no equation decides: where code lies. Functions begin behind traps; what is between others belongs to the
 * function before. */
static void place(struct frames_run *r)
{
    for (size_t i = 0; i < r->pieces.n; i++) {
        struct frames_piece *p = &r->pieces.v[i];
        if (p->state != FRAMES_UNKNOWN)
            continue;
        if (p->joined && i && p[-1].state == FRAMES_IN)
            p->state = FRAMES_IN;
        else if (p->padded && p->trap && !p->soft)
            p->state = FRAMES_OUT;
        else if (p->soft && !p->padded && i)
            p->state = FRAMES_IN;
    }
}

static bool begins_function(const struct frames_piece *p)
{
    if (!p->starts || p->state == FRAMES_IN)
        return p->apart;
    return p->apart || (p->padded && p->trap) || (p->state == FRAMES_OUT && (p->frames || p->padded));
}

size_t frames_function_end(const struct frames_run *r, size_t first)
{
    size_t end = first + 1;
    while (end < r->pieces.n && !begins_function(&r->pieces.v[end]))
        end++;
    return end;
}

/* What is bad makes its function bad. */
static bool spoil_functions(struct frames_run *r, u8 mark)
{
    bool changed = false;
    for (size_t i = 0, end; i < r->pieces.n; i = end) {
        size_t n = 0;
        end = frames_function_end(r, i);
        for (size_t k = i; k < end; k++)
            n += (r->pieces.v[k].marks & mark) != 0;
        changed |= n && n < end - i;
        for (size_t k = i; n && k < end; k++)
            r->pieces.v[k].marks |= mark;
    }
    return changed;
}

/* ... and the other parts of it, which jumps within a frame tell. */
static bool spoil_parts(struct frames_run *r, u8 mark)
{
    bool changed = false;
    for (size_t i = 0; i < r->edges.n; i++) {
        struct frames_piece *a = &r->pieces.v[r->edges.v[i].from], *b = &r->pieces.v[r->edges.v[i].to];
        if (!((a->marks ^ b->marks) & mark) || a->state == FRAMES_OUT)
            continue;
        a->marks |= mark;
        b->marks |= mark;
        changed = true;
    }
    return changed;
}

/* False: that takes too long. */
static bool spoil(struct frames_run *r, u8 mark)
{
    bool changed = true;
    for (unsigned round = 0; changed && round < MAX_ROUNDS; round++) {
        changed = spoil_functions(r, mark);
        changed |= spoil_parts(r, mark);
    }
    return !changed;
}

/* ---- Where there is a frame, whatever the discipline is ---- */

/* Functions are entered here, or it is not known from where. */
static bool is_entered(const struct frames_piece *p)
{
    return p->called || p->apart || (p->starts && p->padded && p->trap);
}

/* Code in which the frame is known by what is before it. */
static bool takes_over(const struct frames_piece *p)
{
    return p->starts && !is_entered(p) && p->local != FRAMES_OUT && p->local != FRAMES_SAVED;
}

/* Frames are where they are made, and where only jumps from such code lead, or a call falls through. First, all that
 * some of it reaches has one; then what something else reaches, too, loses it. */
static void spread_frames(struct frames_run *r)
{
    bool changed = true;
    for (size_t i = 0; i < r->pieces.n; i++)
        r->pieces.v[i].framed = r->pieces.v[i].made;
    for (unsigned round = 0; changed && round < MAX_ROUNDS; round++) {
        changed = false;
        for (size_t i = 0; i < r->edges.n; i++) {
            struct frames_piece *from = &r->pieces.v[r->edges.v[i].from], *to = &r->pieces.v[r->edges.v[i].to];
            bool news = from->framed && !to->framed && takes_over(to);
            to->framed |= news;
            changed |= news;
        }
        for (size_t i = 1; i < r->pieces.n; i++) {
            struct frames_piece *p = &r->pieces.v[i];
            bool news = p->joined && p[-1].framed && !p->framed && takes_over(p);
            p->framed |= news;
            changed |= news;
        }
    }
}

static bool lose_frames(struct frames_run *r)
{
    bool changed = true;
    for (unsigned round = 0; changed && round < MAX_ROUNDS; round++) {
        changed = false;
        for (size_t i = 0; i < r->edges.n; i++) {
            const struct frames_piece *from = &r->pieces.v[r->edges.v[i].from];
            struct frames_piece *to = &r->pieces.v[r->edges.v[i].to];
            if (!from->framed && to->framed) {
                to->framed = false;
                changed = true;
            }
        }
        for (size_t i = 1; i < r->pieces.n; i++) {
            struct frames_piece *p = &r->pieces.v[i];
            if (p->joined && p->framed && !p[-1].framed) {
                p->framed = false;
                changed = true;
            }
        }
    }
    return !changed;
}

void frames_solve(struct frames_run *r)
{
    resolve(r);
    bool done = spread(r);
    place(r);
    done = spread(r) && done;
    for (size_t i = 0; i < r->pieces.n; i++)
        if (r->pieces.v[i].soft && r->pieces.v[i].state == FRAMES_OUT)
            r->pieces.v[i].marks |= FRAMES_BAD;
    spread_frames(r);
    done = lose_frames(r) && done && spoil(r, FRAMES_WILD) && spoil(r, FRAMES_BAD);
    for (size_t i = 0; i < r->pieces.n; i++) {
        struct frames_piece *p = &r->pieces.v[i];
        p->entered = p->called || (is_entered(p) && !p->apart);
        p->marks |= done ? 0 : FRAMES_BAD | FRAMES_WILD;
    }
}
