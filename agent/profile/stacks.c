/* The text format of Stack_Analyzer (linuxkerneltravel/lmp), for those who have scripts that read it. Columns are
 * separated by tabs:
 *
 *     time:20240131_12_00_00                     of the beginning, UTC
 *     counts:
 *     pid usid ksid cpu/10101010nanoseconds      a thread, its user and its kernel stack, and how many of these units
 *     traces:
 *     sid trace                                  the frames of a stack from the root to the leaf: `symbol+0xOFF;`
 *     info:
 *     pid NSpid comm tgid cgroup                 of each thread
 *     OK
 *
 * A stack that there is not has a negative number. There is a column for each value of the recording. Where the numbers
 * of threads are not known, that of the process is in their place; of frames that had names in a raw profile, the
 * offset is not known.
 */
#include "base/cleanup.h"
#include "base/map.h"
#include "base/hash.h"
#include "profile/formats.h"
#include "profile/frames.h"
#include "profile/lookup.h"
#include "profile/text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ABSENT (-14) /* -EFAULT, which the kernel says of a stack that there is not */

struct row { /* of counts */
    u32 pid;
    s32 user, kernel;
    u64 values[PROF_COLUMNS];
};
struct trace {
    size_t at, len; /* in the text */
};
struct writer {
    const struct profile *p;
    struct prof_column columns[PROF_COLUMNS];
    size_t ncolumns;
    struct buf text;          /* of traces */
    VEC(struct trace) traces; /* number N is at N - 1 */
    struct lookup known;
    VEC(struct row) rows;
    struct frames frames; /* of the stack at hand */
    bool failed;
};

/* ---- Traces ------------------------------------------------------------------------------------------------------ */

/* Without blanks, which separate columns. */
static void add_name(struct buf *text, const char *name)
{
    AUTO_BUF struct buf clean = {0};
    text_clean(&clean, name, ';', ':');
    for (size_t i = 0; i < clean.len; i++)
        if (clean.data[i] != ' ' && clean.data[i] != '\t')
            buf_char(text, clean.data[i]);
    text->failed |= clean.failed;
}

static bool is_code(const struct frame *f)
{
    return f->kind == FRAME_NATIVE || f->kind == FRAME_KERNEL || f->kind == FRAME_JIT;
}

static void add_frame(struct writer *w, const struct frame *f)
{
    add_name(&w->text, frame_text(w->p, f->name));
    if (is_code(f) && f->into != INTO_UNKNOWN)
        buf_printf(&w->text, "+0x%llx", (unsigned long long)f->into);
    buf_char(&w->text, ';');
}

/* The number of the trace at the end of the text, which goes if there was one like it. */
static s32 number_of(struct writer *w, size_t at)
{
    struct trace t = {at, w->text.len - at};
    u64 hash = hash_bytes(w->text.data + at, t.len, 0);
    u32 row;
    for (struct probe p = lookup_start(&w->known, hash); lookup_next(&w->known, &p, &row);) {
        const struct trace *have = &w->traces.v[row];
        if (have->len == t.len && !memcmp(w->text.data + have->at, w->text.data + at, t.len)) {
            w->text.len = at;
            return (s32)row + 1;
        }
    }
    struct trace *place = VEC_PUSH(&w->traces);
    if (!place || lookup_put(&w->known, hash, (u32)w->traces.n - 1)) {
        w->failed = true;
        return ABSENT;
    }
    *place = t;
    return (s32)w->traces.n;
}

/* Frames from the root on: the process, those of the user, and from the first one of the kernel on its own. */
static s32 add_trace(struct writer *w, size_t from, size_t to)
{
    size_t at = w->text.len;
    bool any = false;
    for (size_t i = from; i < to; i++) {
        any |= w->frames.v[i].kind != FRAME_MARK;
        add_frame(w, &w->frames.v[i]);
    }
    if (w->text.failed || !any) {
        w->text.len = any ? w->text.len : at;
        w->failed |= w->text.failed;
        return ABSENT;
    }
    return number_of(w, at);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static u32 pid_of(const struct profile *p, const struct prof_stack *s)
{
    return s->tid ? s->tid : p->processes.v[s->process].tgid;
}

/* How many of its units a value is one of: samples of a clock stand for a period each. */
static u64 unit_of(const struct profile *p, struct prof_column c)
{
    return p->events[c.event]->default_hz && p->period[c.event] ? p->period[c.event] : 1;
}

/* Returns whether the stack has any. */
static bool fill_values(const struct writer *w, const struct prof_stack *s, u64 *values)
{
    u64 any = 0;
    for (size_t c = 0; c < w->ncolumns; c++)
        if (w->columns[c].event == s->event)
            any |= values[c] = s->value[w->columns[c].value] / unit_of(w->p, w->columns[c]);
    return any;
}

static void add_stack(struct writer *w, const struct prof_stack *s)
{
    struct row row = {.pid = pid_of(w->p, s)};
    if (!fill_values(w, s, row.values))
        return;
    if (frames_of(w->p, s, &w->frames)) {
        w->failed = true;
        return;
    }
    size_t kernel = 1;
    while (kernel < w->frames.n && w->frames.v[kernel].kind != FRAME_KERNEL)
        kernel++;
    row.user = add_trace(w, 1, kernel);
    row.kernel = add_trace(w, kernel, w->frames.n);
    struct row *place = VEC_PUSH(&w->rows);
    if (place)
        *place = row;
    w->failed |= !place;
}

static int compare_rows(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->user != b->user)
        return a->user < b->user ? -1 : 1;
    return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

static void write_rows(struct writer *w, struct buf *out)
{
    const struct row none = {0};
    if (w->rows.n)
        qsort(w->rows.v, w->rows.n, sizeof(w->rows.v[0]), compare_rows);
    for (size_t i = 0, end; i < w->rows.n; i = end) {
        struct row sum = none;
        for (end = i; end < w->rows.n && !compare_rows(&w->rows.v[i], &w->rows.v[end]); end++)
            for (size_t c = 0; c < w->ncolumns; c++)
                sum.values[c] += w->rows.v[end].values[c];
        buf_printf(out, "%u\t%d\t%d", w->rows.v[i].pid, w->rows.v[i].user, w->rows.v[i].kernel);
        for (size_t c = 0; c < w->ncolumns; c++)
            buf_printf(out, "\t%llu", (unsigned long long)sum.values[c]);
        buf_char(out, '\n');
    }
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

/* Its name, which ends at a slash: what has a path in it is called as in pprof. */
static void add_column(struct buf *out, const char *name)
{
    size_t at = out->len;
    add_name(out, name);
    for (size_t i = at; i < out->len; i++)
        if (out->data[i] == '/')
            out->data[i] = '_';
}

static void write_head(const struct writer *w, struct buf *out)
{
    time_t at = (time_t)(w->p->time_ns / 1000000000);
    struct tm tm;
    char text[32];
    strftime(text, sizeof(text), "%Y%m%d_%H_%M_%S", gmtime_r(&at, &tm));
    buf_printf(out, "time:%s\ncounts:\npid\tusid\tksid", text);
    for (size_t i = 0; i < w->ncolumns; i++) {
        const struct prof_column c = w->columns[i];
        const struct event_value *v = &w->p->events[c.event]->values[c.value];
        const char *name = event_value_name(w->p->events[c.event], c.value);
        buf_char(out, '\t');
        add_column(out, strchr(name, '/') ? v->type : name);
        buf_printf(out, "/%llu%s", (unsigned long long)unit_of(w->p, c), v->unit);
    }
    buf_char(out, '\n');
}

static void write_traces(const struct writer *w, struct buf *out)
{
    buf_str(out, "traces:\nsid\ttrace\n");
    for (size_t i = 0; i < w->traces.n; i++) {
        buf_printf(out, "%zu\t", i + 1);
        buf_add(out, w->text.data + w->traces.v[i].at, w->traces.v[i].len);
        buf_char(out, '\n');
    }
}

/* Of each thread that there are counts of, once: in the order of the profile. */
static void write_info(const struct profile *p, struct buf *out)
{
    struct map told = {0};
    buf_str(out, "info:\npid\tNSpid\tcomm\ttgid\tcgroup\n");
    for (size_t i = 0; i < p->stacks.n && !out->failed; i++) {
        const struct prof_stack *s = &p->stacks.v[i];
        const struct prof_process *who = &p->processes.v[s->process];
        u64 *place = stack_has_any(s) ? map_put(&told, pid_of(p, s)) : NULL;
        if (stack_has_any(s) && !place)
            out->failed = true;
        if (!place || *place)
            continue;
        *place = 1;
        buf_printf(out, "%u\t%u\t", pid_of(p, s), s->nstid ? s->nstid : pid_of(p, s));
        add_name(out, profile_text(p, s->thread ? s->thread : who->name));
        buf_printf(out, "\t%u\t%llu\n", who->tgid, (unsigned long long)who->cgroup);
    }
    map_free(&told);
}

static void writer_free(struct writer *w)
{
    buf_free(&w->text);
    vec_free(&w->traces);
    vec_free(&w->rows);
    vec_free(&w->frames);
    lookup_free(&w->known);
}

int encode_stacks(const struct profile *p, struct buf *out)
{
    CLEANUP(writer_free) struct writer w = {.p = p};
    w.ncolumns = profile_columns(p, w.columns);
    for (size_t i = 0; i < p->stacks.n && !w.failed; i++)
        add_stack(&w, &p->stacks.v[i]);
    write_head(&w, out);
    write_rows(&w, out);
    write_traces(&w, out);
    write_info(p, out);
    buf_str(out, "OK\n");
    return w.failed || out->failed ? -ENOMEM : 0;
}
