/* From a place in a source to its line, by the ends of lines of the source. */
#include "runtime/v8_internal.h"
#include <string.h>

#define MAX_LINES   (1u << 22)
#define MAX_SCRIPTS (1u << 16)
#define AHEAD       16384 /* characters */
#define TRIES       2     /* to find a source */
#define LINE_COST   8     /* characters of a source: what the end of a line takes */

struct counting {
    struct v8_query *q;
    struct v8_lines *to;
};

static bool end_line(struct v8_query *q, struct v8_lines *l, u32 at)
{
    bool may = l->ends.n < MAX_LINES && q->source_left >= LINE_COST;
    q->source_left -= may ? LINE_COST : 0;
    u32 *end = may ? VEC_PUSH(&l->ends) : NULL;
    if (end)
        *end = at;
    return end;
}

static bool add_slowly(struct v8_query *q, struct v8_lines *l, const u8 *chars, size_t n, unsigned bytes)
{
    for (size_t i = 0; i < n; i++) {
        u16 v = 0;
        memcpy(&v, chars + i * bytes, bytes);
        if (l->returned && v == '\n')
            l->ends.v[l->ends.n - 1] = l->read + (u32)i;
        else if ((v == '\n' || v == '\r' || v == 0x2028 || v == 0x2029) && !end_line(q, l, l->read + (u32)i))
            return false;
        l->returned = v == '\r';
    }
    return true;
}

/* Bytes without carriage returns: sources have megabytes. */
static bool add_fast(struct v8_query *q, struct v8_lines *l, const u8 *chars, size_t n)
{
    const u8 *end = chars + n;
    for (const u8 *p = chars; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        if (!end_line(q, l, l->read + (u32)(p - chars)))
            return false;
    return true;
}

/* Lines end with LF, CR, CR LF, U+2028 or U+2029 (ECMA-262, 12.3). */
static bool add_lines(void *arg, const u8 *chars, size_t n, unsigned bytes)
{
    struct counting *c = arg;
    struct v8_lines *l = c->to;
    if (c->q->source_left < n || n > UINT32_MAX - l->read)
        return false;
    c->q->source_left -= n;
    bool fast = bytes == 1 && !l->returned && !memchr(chars, '\r', n);
    bool ok = fast ? add_fast(c->q, l, chars, n) : add_slowly(c->q, l, chars, n, bytes);
    l->read += (u32)n;
    return ok;
}

static u64 source_of(struct v8_query *q, u64 script)
{
    bool ok = true;
    u64 source = v8_object(q->m, script + q->v8->layout.script_source, &ok);
    return ok ? v8_now(q->m, source) : 0;
}

/* NULL: out of memory, or too many. */
static struct v8_lines *lines_of(struct v8_query *q, u64 script)
{
    const u64 *known = map_get(&q->scripts, script);
    if (known)
        return &q->lines.v[*known - 1];
    struct v8_lines *to = q->lines.n < MAX_SCRIPTS ? VEC_PUSH(&q->lines) : NULL;
    u64 *place = to ? map_put(&q->scripts, script) : NULL;
    if (!place)
        return NULL;
    *place = q->lines.n;
    *to = (struct v8_lines){.source = source_of(q, script), .tries = TRIES};
    return to;
}

/* Looks at the source up to a place, and somewhat more. */
static bool read_to(struct v8_query *q, struct v8_lines *l, u32 place)
{
    struct counting c = {.q = q, .to = l};
    if (l->source && l->read <= place &&
        !v8_text_each(q->m, q->v8, l->source, l->read, (u64)place - l->read + AHEAD, add_lines, &c))
        l->source = 0;
    return l->source && l->read >= place;
}

/* The source of a program that has just begun is moved by the garbage collector: it is looked for once more. */
static bool find_place(struct v8_query *q, struct v8_lines *l, u64 script, u32 place)
{
    bool found = read_to(q, l, place);
    for (; !found && l->tries; found = read_to(q, l, place)) {
        memory_forget(q->m);
        vec_free(&l->ends);
        *l = (struct v8_lines){.source = source_of(q, script), .tries = l->tries - 1};
    }
    return found;
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
    struct v8_lines *l = lines_of(q, f->script);
    u64 first = memory_u(q->m, f->script + q->v8->layout.script_line_offset, sizeof(u64), &ok);
    if (!l || !ok || !find_place(q, l, f->script, place))
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
