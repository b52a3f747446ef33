/* What machine code says of itself. That of the baseline compiler notes how many bytes each bytecode has become.
 * Optimised code notes places of calls, and for each of them into which inlined call it belongs; inlined calls have
 * places, too, and the numbers of their functions (src/objects/deoptimization-data.h). */
#include "runtime/v8_internal.h"

#define MAX_INLINED   32 /* calls, one in the other */
#define FIRST_ELEMENT 16 /* of an array */
#define INLINING      16 /* bytes of an inlined call: its place, its function */
#define MAX_LITERALS  (1u << 16)
#define WEAK          2ull /* in a reference: it keeps nothing alive */

void v8_add(struct v8_query *q, const struct v8_function *f, enum runtime_kind kind, u32 place)
{
    struct names_frame frame = {.start = kind, .name = f->name, .system_name = f->name, .file = f->file};
    frame.line = v8_line(q, f, place == V8_NOWHERE ? f->start : place);
    frame_reply_add(&q->reply, frame);
}

/* ---- Baseline --------------------------------------------------------------------------------------------------- */

/* Bytes of the bytecode at `at`. The first two bytecodes widen the operands of the one that follows. */
static u32 bytecode_size(struct v8_query *q, u64 at)
{
    const struct v8_layout *l = &q->v8->layout;
    bool ok = true;
    u32 code = (u32)memory_u(q->m, at, 1, &ok), scale = code < 2 ? code + 1 : 0;
    if (scale)
        code = (u32)memory_u(q->m, at + 1, 1, &ok);
    u32 size = l->table              ? v8_bytecodes_size(l->table, code, 1u << scale)
               : code < l->bytecodes ? (u32)memory_u(q->m, l->sizes + scale * l->bytecodes + code, 1, &ok)
                                     : 0;
    return ok && size ? size + (scale ? 1 : 0) : 0;
}

/* The place of an instruction. The table has the bytes of the entry, and then those of each bytecode. */
static u32 baseline_place(struct v8_query *q, const struct v8_code *c, u64 offset)
{
    const struct v8_layout *l = &q->v8->layout;
    struct v8_bytes t;
    u64 end = 0, bytes, at = 0, code = c->data + q->v8->machine.array_data;
    if ((!l->sizes && !l->table) || !v8_bytes_open(q, c->places, &t) || !v8_bytes_next(&t, &end))
        return V8_NOWHERE;
    for (u32 size = 0; offset >= end && at <= V8_MAX_BYTES && v8_bytes_next(&t, &bytes); at += size) {
        end += bytes;
        size = offset >= end ? bytecode_size(q, code + at) : 0;
        if (offset >= end && !size)
            return V8_NOWHERE;
    }
    return v8_place_in(q, c->data, at);
}

/* ---- Optimised code --------------------------------------------------------------------------------------------- */

struct inlining {
    struct v8_query *q;
    const struct v8_code *code;
    struct v8_bytes calls;
};

static u64 deopt_object(struct v8_query *q, const struct v8_code *c, u32 index)
{
    bool ok = c->data;
    return ok ? v8_object(q->m, c->data + FIRST_ELEMENT + 8ull * index, &ok) : 0;
}

/* The function that the code is of. */
static u64 own_function(struct v8_query *q, const struct v8_code *c)
{
    const struct v8_layout *l = &q->v8->layout;
    bool ok = true;
    u64 own = deopt_object(q, c, l->deopt_shared);
    if (own && l->deopt_wrapped)
        own = v8_object(q->m, own + l->deopt_wrapped, &ok);
    return ok ? own : 0;
}

/* Where inlined call number i is. False: it cannot be read, or is in a later one, as none is. */
static bool read_call(struct inlining *x, s32 i, struct v8_place *place)
{
    u64 at = x->calls.at + INLINING * (u64)i;
    bool ok = at + INLINING <= x->calls.end;
    *place = v8_place_of(memory_u(x->q->m, at, sizeof(u64), &ok));
    return ok && place->inlining < i;
}

/* The function that it calls; 0: it is not known. */
static u64 called(struct inlining *x, s32 i)
{
    bool ok = true;
    u32 number = (u32)memory_u(x->q->m, x->calls.at + INLINING * (u64)i + 8, sizeof(u32), &ok);
    if (number == UINT32_MAX)
        return own_function(x->q, x->code);
    u64 literals = number < MAX_LITERALS ? deopt_object(x->q, x->code, x->q->v8->layout.deopt_literals) : 0;
    ok = ok && literals;
    u64 v = memory_u(x->q->m, literals + FIRST_ELEMENT + 8ull * number, sizeof(u64), &ok) & ~WEAK;
    return ok && XP_V8_IS_OBJECT(v) ? v - XP_V8_TAG : 0;
}

/* Whether a call is the other one, or in it. */
static bool is_in(struct inlining *x, s32 call, s32 outer)
{
    struct v8_place place;
    for (unsigned n = 0; call > outer && n < MAX_INLINED && read_call(x, call, &place); n++)
        call = place.inlining;
    return call == outer;
}

/* An instruction between two calls is only known to be in what both are in. */
static struct v8_place common(struct inlining *x, struct v8_place at, s32 next)
{
    for (unsigned n = 0; at.inlining >= 0 && n < MAX_INLINED && !is_in(x, next, at.inlining); n++)
        if (!read_call(x, at.inlining, &at))
            break;
    return at;
}

static void add_inlined(struct inlining *x, const struct v8_function *f, struct v8_place at)
{
    struct v8_place outer;
    for (unsigned n = 0; at.inlining >= 0 && n < MAX_INLINED && read_call(x, at.inlining, &outer); n++) {
        u64 shared = called(x, at.inlining);
        const struct v8_function *inlined = shared ? v8_function(x->q, shared) : NULL;
        if (inlined && inlined->name)
            v8_add(x->q, inlined, RUNTIME_INLINED, at.place);
        at = outer;
    }
    v8_add(x->q, f, RUNTIME_OPTIMISED, at.place);
}

bool v8_compiled(struct v8_query *q, const struct v8_function *f, u64 pc, bool exact)
{
    u64 in = exact ? pc : pc - 1;
    const struct v8_code *c = v8_code_at(q, in);
    struct v8_place at, next;
    if (!c)
        return false;
    u64 offset = in - c->start;
    if (c->baseline) {
        v8_add(q, f, RUNTIME_BASELINE, baseline_place(q, c, offset));
        return true;
    }
    struct inlining x = {.q = q, .code = c};
    if (own_function(q, c) != f->shared || !v8_places_find(q, c->places, offset, &at, &next))
        return false;
    if (!v8_bytes_open(q, deopt_object(q, c, q->v8->layout.deopt_inlining), &x.calls))
        at.inlining = -1;
    add_inlined(&x, f, exact ? common(&x, at, next.inlining) : at);
    return true;
}
