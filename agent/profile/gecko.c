/* The Firefox Profiler's processed profile format, https://github.com/firefox-devtools/profiler: docs-developer/
 * processed-profile-format.md and src/types/profile.ts. Its version 55 is the last one in which a thread has its tables
 * for itself; the profiler converts older versions when it loads them.
 *
 * Each value of each thread is a track: stacks are sums here, not events in time, so that a track shows the recording's
 * duration shared out to its stacks in proportion to their values, one after the other.
 */
#include "base/cleanup.h"
#include "profile/formats.h"
#include "profile/gecko_tables.h"
#include "profile/text.h"
#include <string.h>

#define VERSION 55

static const struct {
    const char *name, *color;
} CATEGORIES[GECKO_CATEGORIES] = {[GECKO_OTHER] = {"Other", "grey"},
                                  [GECKO_USER] = {"User", "yellow"},
                                  [GECKO_KERNEL] = {"Kernel", "orange"},
                                  [GECKO_RUNTIME] = {"Runtime", "green"},
                                  [GECKO_WAIT] = {"Waiting", "blue"}};

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

static void put_categories(struct buf *out)
{
    buf_str(out, "\"categories\":[");
    for (size_t i = 0; i < GECKO_CATEGORIES; i++)
        buf_printf(out, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}", i ? "," : "",
                   CATEGORIES[i].name, CATEGORIES[i].color);
    buf_char(out, ']');
}

/* Appends `ns` in ms. */
static void put_ms(u64 ns, struct buf *out)
{
    buf_printf(out, "%llu.%06u", (unsigned long long)(ns / 1000000), (unsigned)(ns % 1000000));
}

/* What is known of the recording: the comments are "key: value". */
static void put_comments(const struct profile *p, struct buf *out)
{
    buf_str(out, "\"extra\":[{\"label\":\"Recording\",\"entries\":[");
    for (size_t i = 0, n = 0; i < p->comments.n; i++) {
        const char *text = profile_text(p, p->comments.v[i]), *value = strstr(text, ": ");
        AUTO_BUF struct buf key = {0};
        buf_add(&key, text, value ? (size_t)(value - text) : 0);
        buf_char(&key, 0);
        out->failed |= key.failed;
        if (!value || out->failed)
            continue;
        buf_str(out, n++ ? ",{\"label\":" : "{\"label\":");
        buf_json(out, key.data);
        buf_str(out, ",\"format\":\"string\",\"value\":");
        buf_json(out, value + 2);
        buf_char(out, '}');
    }
    buf_str(out, "]}]");
}

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

static void put_meta(const struct profile *p, struct buf *out)
{
    buf_printf(out, "\"meta\":{\"version\":24,\"preprocessedProfileVersion\":%d,\"product\":\"xprof\",", VERSION);
    buf_str(out, "\"profileName\":");
    buf_json(out, profile_title(p));
    buf_str(out,
            ",\"processType\":0,\"debug\":false,\"stackwalk\":1,\"symbolicated\":true,\"toolkit\":\"\","
            "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],"
            "\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
            "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
            "\"interval\":");
    put_ms(interval_of(p), out);
    buf_str(out, ",\"startTime\":");
    put_ms(p->time_ns, out);
    buf_char(out, ',');
    put_categories(out);
    buf_char(out, ',');
    put_comments(p, out);
    buf_char(out, '}');
}

/* Appends a value as a weight: times in ms. */
static void put_weight(u64 value, bool time, struct buf *out)
{
    if (time)
        put_ms(value, out);
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
    put_ms(time, &s->times);
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

static void put_name(const struct writer *w, const struct track *t, struct buf *out)
{
    const struct prof_stack *s = &w->p->stacks.v[t->stacks[0]];
    u32 name = s->thread ? s->thread : w->p->processes.v[s->process].name;
    AUTO_BUF struct buf text = {0};
    buf_str(&text, frame_text(w->p, name));
    if (w->ncolumns > 1)
        buf_printf(&text, " %s", event_value_name(w->p->events[t->column.event], t->column.value));
    out->failed |= text.failed;
    if (!out->failed)
        buf_json(out, text.data);
}

static int put_track(struct writer *w, const struct track *t, struct buf *out)
{
    const struct prof_process *process = &w->p->processes.v[w->p->stacks.v[t->stacks[0]].process];
    struct gecko_tables tables = {.p = w->p};
    buf_str(out, w->ntracks ? ",\n{\"name\":" : "\n{\"name\":");
    put_name(w, t, out);
    buf_str(out, ",\"processName\":");
    buf_json(out, frame_text(w->p, process->name));
    buf_printf(out, ",\"processType\":\"default\",\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%zu,",
               t->first ? "true" : "false", process->tgid, ++w->ntracks);
    buf_str(out,
            "\"registerTime\":0,\"processStartupTime\":0,\"unregisterTime\":null,\"processShutdownTime\":null,"
            "\"pausedRanges\":[],\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],"
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
    buf_char(out, '{');
    put_meta(p, out);
    buf_str(out, ",\"libs\":[],\"pages\":[],\"profilerOverhead\":[],\"counters\":[],\"threads\":[");
    int r = put_threads(&w, out);
    buf_str(out, "]}\n");
    vec_free(&w.frames);
    return out->failed ? -ENOMEM : r;
}
