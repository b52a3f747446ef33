/* From a place in a source to its line, by the ends of lines of the source. */
#include "runtime/v8_internal.h"
#include <string.h>

#define MAX_LINES   (1u << 22)
#define MAX_SCRIPTS (1u << 16)

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

u32 v8_line(struct v8_query *q, const struct v8_function *f, u32 place)
{
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
