/* From an instruction to its line, in the three formats that tables of lines had. All of them count on from the first
 * line, and from the start of the code.
 */
#include "runtime/python_internal.h"
#include <string.h>

#define MAX_COPIES 4096   /* of the code of a function: one for each thread */
#define NO_LINE    (-128) /* 3.10 */
#define MAX_VARINT 6      /* bytes of 6 bits: more than 32 */

/* The bytes of a table, some of which are in `bytes`. */
struct table {
    struct python_query *q;
    u64 at; /* of what follows them */
    u32 left;
    u32 pos, n;
    u8 bytes[256];
};

/* False: the table ends, or cannot be read. */
static bool next(struct table *t, u8 *out)
{
    if (t->pos == t->n) {
        u32 to_end = MEMORY_PAGE - (u32)(t->at % MEMORY_PAGE), n = sizeof(t->bytes);
        n = n < to_end ? n : to_end;
        n = n < t->left ? n : t->left;
        if (!n || t->q->line_bytes < n || !memory_near(t->q->m, t->at, t->bytes, n))
            return false;
        t->q->line_bytes -= n;
        t->at += n;
        t->left -= n;
        t->pos = 0;
        t->n = n;
    }
    *out = t->bytes[t->pos++];
    return true;
}

/* ---- Formats: each finds the line of a place that is inside the code ---- */

static s64 line_of_pairs(struct table *t, s64 place, s64 line)
{
    u8 bytes, lines;
    for (s64 at = 0; next(t, &bytes) && next(t, &lines);) {
        at += bytes;
        if (at > place)
            break;
        line += (int8_t)lines;
    }
    return line;
}

static s64 line_of_ranges(struct table *t, s64 place, s64 first)
{
    u8 bytes, lines;
    s64 line = first;
    for (s64 end = 0; next(t, &bytes) && next(t, &lines);) {
        bool none = (int8_t)lines == NO_LINE;
        line += none ? 0 : (int8_t)lines;
        end += bytes;
        if (place < end)
            return none ? 0 : line;
    }
    return first;
}

static u32 varint(struct table *t)
{
    u32 v = 0;
    u8 b = 0x40;
    for (unsigned i = 0; i < MAX_VARINT && (b & 0x40) && next(t, &b); i++)
        v |= (u32)(b & 0x3f) << (6 * i);
    return v;
}

static s64 signed_varint(struct table *t)
{
    u32 v = varint(t);
    return v & 1 ? -(s64)(v >> 1) : (s64)(v >> 1);
}

static void skip(struct table *t, unsigned n)
{
    for (u8 b; n && next(t, &b);)
        n--;
}

/* The lines that an entry counts on; columns are left out. */
static s64 lines_of_entry(struct table *t, unsigned kind)
{
    s64 lines = 0;
    if (kind >= 13 && kind < 15)
        lines = signed_varint(t);
    if (kind == 14)
        for (unsigned i = 0; i < 3; i++)
            varint(t);
    if (kind >= 10 && kind < 13)
        lines = kind - 10;
    if (kind < 13)
        skip(t, kind < 10 ? 1 : 2);
    return lines;
}

static s64 line_of_locations(struct table *t, s64 place, s64 first)
{
    s64 line = first, end = 0;
    for (u8 b; next(t, &b) && b & 0x80;) {
        unsigned kind = b >> 3 & 15;
        line += lines_of_entry(t, kind);
        end += 2 * ((b & 7) + 1);
        if (place < end)
            return kind == 15 ? 0 : line;
    }
    return first;
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

/* Threads without a GIL run copies of the code, each of which begins elsewhere (_PyCodeArray). */
static s64 place_in_copy(struct python_query *q, u64 code, const struct python_code *c, s32 position)
{
    bool ok = true;
    u64 list = memory_u(q->m, code + q->p->layout.code_copies, sizeof(u64), &ok);
    u64 n = memory_u(q->m, list, sizeof(u64), &ok);
    u32 at = (u32)position + (u32)(code + q->p->machine.code_start);
    for (u64 i = 0; i < n && i < MAX_COPIES && ok; i++) {
        u64 start = memory_u(q->m, list + 8 * (i + 1), sizeof(u64), &ok);
        if (ok && start && at - (u32)start < c->size)
            return at - (u32)start;
    }
    return -1;
}

static s64 place_of(struct python_query *q, u64 code, const struct python_code *c, s32 position)
{
    s64 place = (s64)position * q->p->layout.unit;
    if (place >= 0 && place < c->size)
        return place;
    return q->p->layout.code_copies ? place_in_copy(q, code, c, position) : -1;
}

u32 python_line(struct python_query *q, u64 at, const struct python_code *c, s32 position)
{
    struct table t = {.q = q, .at = c->table, .left = c->table_size};
    s64 place = place_of(q, at, c, position), line = c->first;
    if (place < 0 || !c->table)
        return c->first;
    if (q->p->layout.lines == PYTHON_LINES_PAIRS)
        line = line_of_pairs(&t, place, line);
    else if (q->p->layout.lines == PYTHON_LINES_RANGES)
        line = line_of_ranges(&t, place, line);
    else
        line = line_of_locations(&t, place, line);
    q->reply.cut |= !q->line_bytes;
    return line > 0 && line <= INT32_MAX ? (u32)line : 0;
}
