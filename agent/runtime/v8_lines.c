/* From a position in the bytecode of a function to one in its source (src/codegen/source-position-table.h), and from
 * there to a line, by the ends of lines of the source. V8 keeps positions of bytecode only where it has needed them, or
 * compiled the function at once. */
#include "runtime/v8_internal.h"
#include <string.h>

#define MAX_TABLE   (1u << 20) /* bytes */
#define MAX_LINES   (1u << 22)
#define MAX_SCRIPTS (1u << 16)
#define LENGTH      8 /* of an array of bytes: its offset, and that of the bytes */
#define BYTES       16

/* ---- Positions -------------------------------------------------------------------------------------------------- */

struct table {
    struct memory *m;
    u64 at, end;
};

/* Base 128. */
static bool next(struct table *t, u64 *out)
{
    u64 v = 0;
    u8 byte = 0x80;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 63 || t->at >= t->end || !memory_near(t->m, t->at++, &byte, 1))
            return false;
        v |= (u64)(byte & 0x7f) << shift;
    }
    *out = v;
    return true;
}

static u64 signed_of(u64 v)
{
    return v >> 1 ^ -(v & 1);
}

/* How far an entry is from the one before. Those of expressions were stored as -1 - n. */
static u64 step_of(enum v8_positions how, u64 v)
{
    if (how == V8_POSITIONS_BITS)
        return v >> 2;
    s64 step = (s64)signed_of(v);
    return (u64)(step < 0 ? -(step + 1) : step);
}

/* Entries are of ascending positions in the bytecode, and apply up to the next one. Bits 1 to 30 of a place are 1 + the
 * position in the source. */
static u32 search(struct table *t, enum v8_positions how, u32 position)
{
    u64 at = 0, place = 0, found = 0, step, more;
    while (next(t, &step) && next(t, &more)) {
        at += step_of(how, step);
        if (at > position)
            break;
        place += signed_of(more);
        found = place;
    }
    u32 v = (u32)(found >> 1) & 0x3fffffff;
    return v ? v - 1 : V8_NOWHERE;
}

/* The bytecode of a function; 0: it has none. If it is compiled by now, that has the bytecode in its first or second
 * field. */
static u64 bytecode_of(struct v8_query *q, u64 shared)
{
    const struct v8 *v = q->v8;
    bool ok = true;
    u64 data = v8_object(q->m, shared + v->layout.shared_data, &ok);
    if (v8_type(q->m, v, data) == v->machine.array_type)
        return data;
    for (u64 field = 8; data && field <= 16; field += 8) {
        u64 array = v8_object(q->m, data + field, &ok);
        if (v8_type(q->m, v, array) == v->machine.array_type)
            return array;
    }
    return 0;
}

static u32 place_of(struct v8_query *q, u64 shared, u32 position)
{
    const struct v8 *v = q->v8;
    bool ok = true;
    u64 array = position == XP_V8_COMPILED ? 0 : bytecode_of(q, shared);
    if (!array)
        return V8_NOWHERE;
    u64 bytes = v8_object(q->m, array + v->layout.array_positions, &ok);
    u64 length = bytes ? v8_u(q->m, bytes + LENGTH, sizeof(u64), &ok) : 0;
    if (!ok || !v8_is_number(length) || length >> 32 > MAX_TABLE)
        return V8_NOWHERE;
    struct table t = {q->m, bytes + BYTES, bytes + BYTES + (length >> 32)};
    return search(&t, v->layout.positions, position);
}

/* ---- Lines ------------------------------------------------------------------------------------------------------ */

struct counting {
    struct v8_query *q;
    struct v8_lines *to;
    u32 at;
    bool returned; /* the character before was a carriage return */
};

static bool end_line(struct counting *c)
{
    u32 *end = c->to->ends.n < MAX_LINES ? VEC_PUSH(&c->to->ends) : NULL;
    if (end)
        *end = c->at;
    return end;
}

/* Lines end with LF, CR, CR LF, U+2028 or U+2029 (ECMA-262, 12.3). */
static bool add_lines(void *arg, const u8 *chars, size_t n, unsigned bytes)
{
    struct counting *c = arg;
    if (c->q->source_left < n)
        return false;
    c->q->source_left -= n;
    for (size_t i = 0; i < n; i++, c->at++) {
        u16 v = 0;
        memcpy(&v, chars + i * bytes, bytes);
        if (c->returned && v == '\n')
            c->to->ends.v[c->to->ends.n - 1] = c->at;
        else if ((v == '\n' || v == '\r' || v == 0x2028 || v == 0x2029) && !end_line(c))
            return false;
        c->returned = v == '\r';
    }
    return true;
}

/* NULL: out of memory, or too many. */
static struct v8_lines *lines_of(struct v8_query *q, u64 script)
{
    const u64 *known = map_get(&q->scripts, script);
    bool ok = true;
    if (known)
        return &q->lines.v[*known - 1];
    struct v8_lines *to = q->lines.n < MAX_SCRIPTS ? VEC_PUSH(&q->lines) : NULL;
    u64 *place = to ? map_put(&q->scripts, script) : NULL;
    if (!place)
        return NULL;
    *place = q->lines.n;
    *to = (struct v8_lines){0};
    struct counting c = {.q = q, .to = to};
    u64 source = v8_object(q->m, script + q->v8->layout.script_source, &ok);
    to->known = source && v8_text_each(q->m, q->v8, source, add_lines, &c);
    return to;
}

/* How many lines have ended before a place. */
static u32 ended(const struct v8_lines *l, u32 place)
{
    size_t lo = 0, hi = l->ends.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (l->ends.v[mid] < place)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (u32)lo;
}

u32 v8_line(struct v8_query *q, const struct v8_function *f, u32 position)
{
    u32 place = f->script ? place_of(q, f->shared, position) : V8_NOWHERE;
    place = place == V8_NOWHERE ? f->start : place;
    if (!f->script || place == V8_NOWHERE)
        return 0;
    bool ok = true;
    const struct v8_lines *l = lines_of(q, f->script);
    u64 first = v8_u(q->m, f->script + q->v8->layout.script_line_offset, sizeof(u64), &ok);
    if (!l || !l->known || !ok)
        return 0;
    s64 line = 1 + (s64)ended(l, place) + (v8_is_number(first) ? v8_number(first) : 0);
    return line > 0 && line <= INT32_MAX ? (u32)line : 0;
}

void v8_lines_free(struct v8_query *q)
{
    for (size_t i = 0; i < q->lines.n; i++)
        vec_free(&q->lines.v[i].ends);
    vec_free(&q->lines);
    map_free(&q->scripts);
}
