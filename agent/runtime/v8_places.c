/* From a position in bytecode or machine code to a place in the source (src/codegen/source-position-table.h). V8 keeps
 * those of bytecode only where it has needed them, or compiled a function at once; those of optimised code are places
 * of calls. Each has a number beside it that says into which inlined call it belongs. */
#include "runtime/v8_internal.h"

#define LENGTH 8 /* of an array of bytes: its offset, and that of the bytes */
#define BYTES  16
#define ENTRY  (-1) /* the position of the entry of a function, with which tables begin */

bool v8_bytes_open(struct v8_query *q, u64 array, struct v8_bytes *out)
{
    bool ok = array;
    u64 length = memory_u(q->m, array + LENGTH, sizeof(u64), &ok);
    if (!ok || !v8_is_number(length) || length >> 32 > V8_MAX_BYTES)
        return false;
    *out = (struct v8_bytes){.q = q, .at = array + BYTES, .end = array + BYTES + (length >> 32)};
    return true;
}

bool v8_bytes_next(struct v8_bytes *t, u64 *out)
{
    u64 v = 0;
    u8 byte = 0x80;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 63 || t->at >= t->end || !t->q->table_left || !memory_near(t->q->m, t->at++, &byte, 1))
            return false;
        t->q->table_left--;
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

struct v8_place v8_place_of(u64 position)
{
    u32 place = (u32)(position >> 1) & 0x3fffffff;
    return (struct v8_place){.place = place ? place - 1 : V8_NOWHERE, .inlining = (s32)(position >> 31 & 0xffff) - 1};
}

/* Entries apply up to the next one. */
bool v8_places_find(struct v8_query *q, u64 table, u64 position, struct v8_place *at, struct v8_place *next)
{
    struct v8_bytes t;
    s64 where = ENTRY;
    u64 sum = 0, step, more;
    *at = *next = (struct v8_place){.place = V8_NOWHERE, .inlining = -1};
    if (!v8_bytes_open(q, table, &t))
        return false;
    while (v8_bytes_next(&t, &step) && v8_bytes_next(&t, &more)) {
        where += (s64)step_of(q->v8->layout.positions, step);
        sum += signed_of(more);
        *next = v8_place_of(sum);
        if (where > (s64)position)
            return true;
        *at = *next;
    }
    next->inlining = -1;
    return true;
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

u32 v8_place_in(struct v8_query *q, u64 array, u64 position)
{
    bool ok = true;
    struct v8_place at, next;
    u64 table = array ? v8_object(q->m, array + q->v8->layout.array_positions, &ok) : 0;
    return table && v8_places_find(q, table, position, &at, &next) ? at.place : V8_NOWHERE;
}

u32 v8_place(struct v8_query *q, const struct v8_function *f, u32 position)
{
    return v8_place_in(q, bytecode_of(q, f->shared), position);
}
