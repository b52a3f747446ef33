/* Reads the stretches of a file's code that stacks touch. The idea is in frames.h. */
#include "synth/frames.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "synth/guard.h"
#include <errno.h>
#include <string.h>

struct stretches {
    struct code code;
    const u32 *wanted; /* ascending */
    size_t n, next;
    const struct synth_limits *limits;
    u64 started;
    struct synth *out;
    const struct synth *known; /* by earlier calls */
    size_t past;               /* of its ranges lie behind us */
    u64 done;                  /* file offset: up to here there are rows, or none wanted */
    bool late;                 /* the time is up: those from the next one on are not read */
};

static void stretches_free(struct stretches *s)
{
    code_free(&s->code);
}

static bool is_late(const struct stretches *s)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - s->started > s->limits->max_cpu_ms * 1000000ull;
}

/* ---- Where functions begin ---- */

static bool begins_at(const struct code_gap *g, u64 i)
{
    u64 n = g->end - g->start;
    bool apart = !i || g->bytes[i - 1] == 0xcc || g->bytes[i - 1] == 0xc3 || !((g->start + i) & 15);
    return apart && frames_begin_here(g->bytes + i, n - i);
}

/* The last start at or before byte i of a gap; if none is near, the gap's, or byte i itself. */
static u64 start_before(const struct code_gap *g, u64 i)
{
    u64 least = i > FRAMES_SYNC_REACH ? i - FRAMES_SYNC_REACH : 0;
    for (u64 k = i; k > least; k--)
        if (begins_at(g, k))
            return k;
    return least && !begins_at(g, least) ? i : least;
}

static u64 start_behind(const struct code_gap *g, u64 i)
{
    u64 n = g->end - g->start, most = n - i > FRAMES_SYNC_REACH ? i + FRAMES_SYNC_REACH : n;
    for (u64 k = i; k < most; k++)
        if (begins_at(g, k))
            return k;
    return most == n ? n : i;
}

/* ---- Runs ---- */

/* Bytes [from, to) of a gap; both are the start of a function, if one is near. */
static int read_run(struct stretches *s, const struct code_gap *g, u64 from, u64 to)
{
    CLEANUP(frames_run_free)
    struct frames_run r = {.bytes = g->bytes + from,
                           .len = (u32)(to - from),
                           .address = g->start + from,
                           .offset = g->offset + from,
                           .elf = s->code.elf};
    s64 n = frames_read(&r);
    if (n < 0)
        return (int)n;
    s->out->n.insns += (u64)n;
    frames_solve(&r);
    return frames_rows(&r, s->out);
}

/* The same without what earlier calls have read: the ends of functions that begin in another stretch. */
static int read_rest(struct stretches *s, const struct code_gap *g, u64 from, u64 to)
{
    const struct synth_span *v = s->known->ranges.v;
    size_t n = s->known->ranges.n;
    int err = 0;
    while (from < to && !err) {
        for (; s->past < n && v[s->past].end <= g->offset + from; s->past++)
            ;
        bool more = s->past < n && v[s->past].start < g->offset + to;
        u64 stop = more ? v[s->past].start : g->offset + to;
        if (stop > g->offset + from)
            err = read_run(s, g, from, stop - g->offset);
        from = more ? v[s->past].end - g->offset : to;
    }
    return err;
}

/* The wanted stretches from the next one on that are to be read as one, up to the end of a gap. Returns the offset
 * behind them. */
static u64 take_run(struct stretches *s, u64 end)
{
    u64 first = s->wanted[s->next], last = first;
    while (++s->next < s->n && s->wanted[s->next] == last + 1 && (last + 1) * SYNTH_STRETCH < end &&
           (last + 2 - first) * SYNTH_STRETCH <= FRAMES_MAX_RUN)
        last++;
    return (last + 1) * SYNTH_STRETCH;
}

static int read_gap(struct stretches *s, const struct code_gap *g)
{
    u64 end = g->offset + (g->end - g->start);
    int err = 0;
    while (s->next < s->n && (s->wanted[s->next] + 1ull) * SYNTH_STRETCH <= g->offset)
        s->next++;
    while (s->next < s->n && s->wanted[s->next] * (u64)SYNTH_STRETCH < end && !err) {
        s->late = s->done && is_late(s); /* one is read in any case */
        if (s->late)
            break;
        u64 from = s->wanted[s->next] * (u64)SYNTH_STRETCH, to = take_run(s, end);
        from = from > g->offset ? start_before(g, from - g->offset) : 0;
        to = to < end ? start_behind(g, to - g->offset) : end - g->offset;
        from = from + g->offset > s->done ? from : s->done > g->offset ? s->done - g->offset : 0;
        err = read_rest(s, g, from, to);
        s->done = g->offset + to;
        if (s->done >= end && s->wanted[s->next - 1] * (u64)SYNTH_STRETCH < end &&
            (s->wanted[s->next - 1] + 1ull) * SYNTH_STRETCH > end)
            s->next--; /* it reaches into the next gap */
        if (s->done >= end)
            break;
    }
    return err;
}

static int read_all(struct stretches *s)
{
    int err = 0;
    for (size_t i = 0; i < s->code.gaps.n && !err && !s->late && s->next < s->n; i++)
        err = read_gap(s, &s->code.gaps.v[i]);
    return err;
}

/* ---- With what is known already ---- */

/* Moves a range and its rows to the end of `to`. *row: its first one; then that of the next range. */
static int move_range(struct synth *to, const struct synth *from, size_t range, size_t *row)
{
    struct synth_span *r = VEC_PUSH(&to->ranges);
    size_t end = *row;
    while (end < from->rows.n && from->rows.v[end].offset < from->ranges.v[range].end)
        end++;
    if (!r || VEC_RESERVE(&to->rows, to->rows.n + (end - *row)))
        return -ENOMEM;
    *r = from->ranges.v[range];
    memcpy(to->rows.v + to->rows.n, from->rows.v + *row, (end - *row) * sizeof(*to->rows.v));
    to->rows.n += end - *row;
    *row = end;
    return 0;
}

/* Both have different ranges. */
static int merge(const struct synth *a, const struct synth *b, struct synth *out)
{
    size_t i = 0, k = 0, row_a = 0, row_b = 0;
    int err = 0;
    while ((i < a->ranges.n || k < b->ranges.n) && !err) {
        bool first = k == b->ranges.n || (i < a->ranges.n && a->ranges.v[i].start < b->ranges.v[k].start);
        err = first ? move_range(out, a, i++, &row_a) : move_range(out, b, k++, &row_b);
    }
    out->n = (struct synth_counts){.gap_bytes = b->n.gap_bytes,
                                   .code_bytes = a->n.code_bytes + b->n.code_bytes,
                                   .claimed_bytes = a->n.claimed_bytes + b->n.claimed_bytes,
                                   .insns = a->n.insns + b->n.insns};
    return err;
}

static int read_new(struct stretches *s, const struct elf_file *e, const struct synth_span *covered, size_t n)
{
    struct synth *out = s->out;
    out->dropped = guard_foreign(e);
    int err = out->dropped ? 0 : code_list(&s->code, e, covered, n, FRAMES_MAX_CODE);
    if (err == -ENODATA || err == -ENOSPC)
        out->dropped = err == -ENODATA ? SYNTH_DROP_NO_CODE : SYNTH_DROP_BYTES;
    else if (err)
        return err;
    out->n.gap_bytes = s->code.gap_bytes;
    return out->dropped ? 0 : read_all(s);
}

int synth_read_stretches(const struct elf_file *e, const struct synth_span *covered, size_t n, const u32 *wanted,
                         size_t nwanted, const struct synth_limits *limits, struct synth *io)
{
    AUTO_SYNTH struct synth found = {0}, all = {0};
    CLEANUP(stretches_free)
    struct stretches s = {.wanted = wanted,
                          .n = nwanted,
                          .limits = limits,
                          .started = clock_ns(CLOCK_THREAD_CPUTIME_ID),
                          .out = &found,
                          .known = io};
    for (size_t i = 1; i < nwanted; i++)
        if (wanted[i] <= wanted[i - 1])
            return -EINVAL;
    int err = read_new(&s, e, covered, n);
    if (!err)
        err = merge(io, &found, &all);
    if (err)
        return err;
    all.dropped = found.dropped;
    all.unread = s.late ? s.n - s.next : 0;
    synth_free(io);
    *io = all;
    all = (struct synth){0}; /* handed over */
    return 0;
}
