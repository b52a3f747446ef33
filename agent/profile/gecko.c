/* A profile for the Firefox Profiler (gecko_file.h).
 *
 * Each value of each thread is a track: stacks are sums here, not events in time, so that a track shows the recording's
 * duration shared out to its stacks in proportion to their values, one after the other.
 */
#include "base/cleanup.h"
#include "profile/formats.h"
#include "profile/gecko_file.h"
#include "profile/gecko_tables.h"
#include "profile/text.h"
#include <string.h>

struct track {
    struct prof_column column;
    const u32 *stacks; /* of its thread, in the order of the profile */
    size_t n;
    u64 sum;    /* of the value; never 0 */
    bool first; /* of its process */
};
struct writer {
    const struct profile *p;
    size_t ncolumns, ntracks;
    struct prof_column columns[PROF_COLUMNS];
    struct frames frames;
};

static bool is_time(const struct event_value *value)
{
    return !strcmp(value->unit, "nanoseconds");
}

/* The time between two samples where there is a clock; elsewhere it only says how narrow the graph may get. */
static u64 interval_of(const struct profile *p)
{
    bool clock = p->nevents && is_time(&p->events[0]->values[0]) && p->period[0] > 1;
    return clock ? p->period[0] : 1000000;
}

/* Appends a value as a weight: times in ms. */
static void put_weight(u64 value, bool time, struct buf *out)
{
    if (time)
        gecko_put_ms(value, out);
    else
        text_uint(out, value);
}

static const char *weight_type(const struct event_value *value)
{
    if (is_time(value))
        return "tracing-ms";
    return !strcmp(value->unit, "bytes") ? "bytes" : "samples";
}

struct samples { /* columns, while they are written */
    struct buf stacks, times, weights, cpu;
    size_t n;
};

static u64 value_of(const struct track *t, const struct prof_stack *s)
{
    return s->event == t->column.event ? s->value[t->column.value] : 0;
}

static u64 sum_of(const struct profile *p, const struct track *t)
{
    u64 sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += value_of(t, &p->stacks.v[t->stacks[i]]);
    return sum;
}

static void add_sample(struct samples *s, s64 stack, u64 time, u64 weight, const struct event_value *value)
{
    const char *comma = s->n++ ? "," : "";
    buf_str(&s->stacks, comma);
    if (stack < 0)
        buf_str(&s->stacks, "null");
    else
        text_uint(&s->stacks, (u64)stack);
    buf_str(&s->times, comma);
    gecko_put_ms(time, &s->times);
    buf_str(&s->weights, comma);
    put_weight(weight, is_time(value), &s->weights);
    buf_str(&s->cpu, comma);
    text_uint(&s->cpu, weight);
}

/* Begins with a sample of nothing: what a thread used before its first sample is not counted. */
static int add_samples(struct writer *w, const struct track *t, struct gecko_tables *tables, struct samples *out)
{
    const struct event_value *value = &w->p->events[t->column.event]->values[t->column.value];
    u64 until = 0;
    add_sample(out, -1, 0, 0, value);
    for (size_t i = 0; i < t->n; i++) {
        const struct prof_stack *s = &w->p->stacks.v[t->stacks[i]];
        u64 v = value_of(t, s);
        if (!v)
            continue;
        s64 row = frames_of(w->p, s, &w->frames) ? -1 : gecko_add_stack(tables, w->frames.v + 1, w->frames.n - 1);
        if (row < 0)
            return -ENOMEM;
        until += v;
        add_sample(out, row, (u64)((unsigned __int128)w->p->duration_ns * until / t->sum), v, value);
    }
    return out->stacks.failed || out->times.failed || out->weights.failed || out->cpu.failed ? -ENOMEM : 0;
}

static void put_numbers(const char *name, const struct buf *numbers, struct buf *out)
{
    buf_printf(out, ",\"%s\":[", name);
    buf_add(out, numbers->data, numbers->len);
    buf_char(out, ']');
}

/* Appends "samples": those stacks that have something of the track's value, each at the end of its share. */
static int put_samples(struct writer *w, const struct track *t, struct gecko_tables *tables, struct buf *out)
{
    const struct event_value *value = &w->p->events[t->column.event]->values[t->column.value];
    struct samples s = {0};
    int r = add_samples(w, t, tables, &s);
    buf_printf(out, "\"samples\":{\"length\":%zu,\"weightType\":\"%s\"", s.n, weight_type(value));
    put_numbers("stack", &s.stacks, out);
    put_numbers("time", &s.times, out);
    put_numbers("weight", &s.weights, out);
    if (!strcmp(value->type, "cpu")) /* tracks are sorted by it */
        put_numbers("threadCPUDelta", &s.cpu, out);
    buf_str(out, "},");
    buf_free(&s.stacks);
    buf_free(&s.times);
    buf_free(&s.weights);
    buf_free(&s.cpu);
    return r;
}

static void name_of(const struct writer *w, const struct track *t, struct buf *out)
{
    const struct prof_stack *s = &w->p->stacks.v[t->stacks[0]];
    u32 name = s->thread ? s->thread : w->p->processes.v[s->process].name;
    buf_str(out, frame_text(w->p, name));
    if (w->ncolumns > 1)
        buf_printf(out, " %s", event_value_name(w->p->events[t->column.event], t->column.value));
}

static int put_track(struct writer *w, const struct track *t, struct buf *out)
{
    const struct prof_process *process = &w->p->processes.v[w->p->stacks.v[t->stacks[0]].process];
    struct gecko_tables tables = {.p = w->p};
    AUTO_BUF struct buf name = {0};
    name_of(w, t, &name);
    struct gecko_thread thread = {name.data ? name.data : "", frame_text(w->p, process->name), process->tgid,
                                  (u32)++w->ntracks, t->first};
    buf_str(out, w->ntracks > 1 ? "," : "");
    gecko_begin_thread(&thread, out);
    buf_str(out,
            "\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],"
            "\"phase\":[],\"startTime\":[]},");
    int r = put_samples(w, t, &tables, out);
    gecko_put_tables(&tables, out);
    buf_char(out, '}');
    gecko_tables_free(&tables);
    return r;
}

/* By process, then by thread; otherwise as in the profile. */
static int by_thread(const void *x, const void *y, void *arg)
{
    const struct profile *p = arg;
    const u32 *i = x, *j = y;
    const struct prof_stack *a = &p->stacks.v[*i], *b = &p->stacks.v[*j];
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return *i < *j ? -1 : *i > *j;
}

/* Writes the tracks of a thread, whose n stacks begin at `stacks`. *shown: the last process with a track. */
static int put_thread(struct writer *w, const u32 *stacks, size_t n, s64 *shown, struct buf *out)
{
    u32 process = w->p->stacks.v[stacks[0]].process;
    int r = 0;
    for (size_t c = 0; c < w->ncolumns && !r; c++) {
        struct track t = {.column = w->columns[c], .stacks = stacks, .n = n, .first = *shown != process};
        t.sum = sum_of(w->p, &t);
        if (!t.sum)
            continue;
        r = put_track(w, &t, out);
        *shown = process;
    }
    return r;
}

static bool same_thread(const struct profile *p, u32 i, u32 j)
{
    const struct prof_stack *a = &p->stacks.v[i], *b = &p->stacks.v[j];
    return a->process == b->process && a->thread == b->thread;
}

static int put_threads(struct writer *w, struct buf *out)
{
    const struct profile *p = w->p;
    AUTO_FREE u32 *order = calloc(p->stacks.n + 1, sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < p->stacks.n; i++)
        order[i] = (u32)i;
    qsort_r(order, p->stacks.n, sizeof(*order), by_thread, (void *)p);
    s64 shown = -1;
    int r = 0;
    for (size_t i = 0, end; i < p->stacks.n && !r; i = end) {
        for (end = i + 1; end < p->stacks.n && same_thread(p, order[i], order[end]); end++)
            ;
        r = put_thread(w, order + i, end - i, &shown, out);
    }
    return r;
}

int encode_gecko(const struct profile *p, struct buf *out)
{
    struct writer w = {.p = p};
    w.ncolumns = profile_columns(p, w.columns);
    gecko_begin(p, interval_of(p), out);
    int r = put_threads(&w, out);
    gecko_end(out);
    vec_free(&w.frames);
    return out->failed ? -ENOMEM : r;
}
