/* From nested ranges to disjoint spans: functions and inlined calls form a tree, and each address belongs to the
 * innermost range that holds it.
 */
#include "dwarf/build.h"
#include <errno.h>
#include <stdlib.h>

#define PADDING 16 /* bytes between functions that are nobody's */

static int by_start(const void *x, const void *y)
{
    const struct dwarf_range *a = x, *b = y;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    if (a->hi != b->hi)
        return a->hi > b->hi ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

static void sort_ranges(struct dwarf_builder *b)
{
    bool sorted = true;
    for (size_t i = 1; i < b->ranges.n && sorted; i++)
        sorted = by_start(&b->ranges.v[i - 1], &b->ranges.v[i]) < 0;
    if (!sorted)
        qsort(b->ranges.v, b->ranges.n, sizeof(*b->ranges.v), by_start);
}

/* The line row that holds `at`, searched from row i on. */
static size_t line_row(const struct dwarf_builder *b, size_t i, u64 at)
{
    while (i + 1 < b->lines.rows.n && b->lines.rows.v[i + 1].address <= at)
        i++;
    return i;
}

/* Rows of [lo, hi), which is one node's. lo never goes down within a unit. */
static int put_span(struct dwarf_builder *b, u64 lo, u64 hi, u32 node)
{
    const struct dwarf_row *v = b->lines.rows.v;
    size_t n = b->lines.rows.n, i = line_row(b, b->line_at, lo);
    int err = 0;
    b->line_at = i;
    while (lo < hi && !err) {
        bool in = i < n && v[i].address <= lo;
        size_t next = in ? i + 1 : i;
        if (in && v[i].file)
            err = dwarf_put_row(b, lo, node, dwarf_intern_file(b, v[i].file - 1), v[i].line);
        else
            err = dwarf_put_row(b, lo, node, 0, 0);
        lo = next < n && v[next].address < hi ? v[next].address : hi;
        i = line_row(b, next, lo);
    }
    return err;
}

struct sweep {
    struct dwarf_builder *b;
    struct dwarf_range *open[DWARF_MAX_DEPTH]; /* each holds the next one */
    unsigned n;
    u64 at; /* everything in front of it is written */
};

/* The innermost open range ends. */
static int leave(struct sweep *s)
{
    struct dwarf_range *r = s->open[--s->n];
    int err = s->at < r->hi ? put_span(s->b, s->at, r->hi, r->node) : 0;
    s->at = r->hi > s->at ? r->hi : s->at;
    return err || s->n ? err : dwarf_end_chunk(s->b, s->at);
}

static int enter(struct sweep *s, struct dwarf_range *r)
{
    int err = 0;
    if (s->n) {
        struct dwarf_range *outer = s->open[s->n - 1];
        r->hi = r->hi < outer->hi ? r->hi : outer->hi;
        if (s->n == DWARF_MAX_DEPTH)
            return 0;
        if (s->at < r->lo)
            err = put_span(s->b, s->at, r->lo, outer->node);
    } else {
        if (!r->function) /* a call inlined outside of every function */
            return 0;
        struct dwarf_exec *c = VEC_PUSH(&s->b->covered);
        if (!c)
            return -ENOMEM;
        *c = (struct dwarf_exec){r->lo, r->hi};
        dwarf_begin_chunk(s->b, r->lo);
    }
    s->at = r->lo > s->at || !s->n ? r->lo : s->at;
    s->open[s->n++] = r;
    return err;
}

static int sweep_ranges(struct dwarf_builder *b)
{
    struct sweep s = {.b = b};
    int err = 0;
    for (size_t i = 0; i < b->ranges.n && !err; i++) {
        struct dwarf_range *r = &b->ranges.v[i];
        while (s.n && s.open[s.n - 1]->hi <= r->lo && !err)
            err = leave(&s);
        if (!err)
            err = enter(&s, r);
    }
    while (s.n && !err)
        err = leave(&s);
    return err;
}

static int put_lines(struct dwarf_builder *b, u64 lo, u64 hi)
{
    dwarf_begin_chunk(b, lo);
    int err = put_span(b, lo, hi, 0);
    return err ? err : dwarf_end_chunk(b, hi);
}

/* What no function has of the sequence [lo, hi): from row *c of the covered places on, which ends behind lo. */
static int put_gaps(struct dwarf_builder *b, u64 lo, u64 hi, size_t *c)
{
    bool touched = false;
    int err = 0;
    for (; *c < b->covered.n && b->covered.v[*c].lo < hi && !err; ++*c) {
        const struct dwarf_exec *f = &b->covered.v[*c];
        touched = true;
        if (f->lo > lo && f->lo - lo > PADDING)
            err = put_lines(b, lo, f->lo);
        lo = f->hi > lo ? f->hi : lo;
        if (lo >= hi)
            break; /* it may touch the next sequence, too */
    }
    return !err && hi > lo && (!touched || hi - lo > PADDING) ? put_lines(b, lo, hi) : err;
}

/* Code of assembly, and what a compiler wrote no entry for: the function is unknown, lines are not. */
static int sweep_lines(struct dwarf_builder *b)
{
    const struct dwarf_row *v = b->lines.rows.v;
    size_t n = b->lines.rows.n, c = 0, end;
    int err = 0;
    b->line_at = 0;
    for (size_t i = 0; i < n && !err; i = end + 1) {
        for (end = i; end < n && !v[end].sequence_end;)
            end++;
        if (end == n)
            break;
        while (c < b->covered.n && b->covered.v[c].hi <= v[i].address)
            c++;
        if (v[i].address < v[end].address)
            err = put_gaps(b, v[i].address, v[end].address, &c);
    }
    return err;
}

int dwarf_sweep(struct dwarf_builder *b)
{
    sort_ranges(b);
    b->line_at = 0;
    int err = sweep_ranges(b);
    return err ? err : sweep_lines(b);
}
