/* speedscope's file format: a "sampled" profile for each value, each distinct stack one sample with its weight. */
#include "base/cleanup.h"
#include "profile/formats.h"
#include "profile/frames.h"
#include "profile/text.h"
#include <string.h>

/* The stacks as rows of a table of frames, written while they are walked: "[0,1,2],[0,3]" for each column. */
struct writer {
    const struct profile *p;
    struct frame_table frames;
    struct prof_column columns[PROF_COLUMNS];
    size_t ncolumns;
    struct buf samples[PROF_COLUMNS], weights[PROF_COLUMNS];
    u64 sum[PROF_COLUMNS];
};

static void separate(struct buf *b)
{
    if (b->len)
        buf_char(b, ',');
}

static int write_stack(struct writer *w, const struct prof_stack *s, const struct frames *f)
{
    AUTO_BUF struct buf rows = {0};
    for (size_t i = 0; i < f->n; i++) {
        s64 row = frame_table_add(&w->frames, &f->v[i]);
        if (row < 0)
            return -ENOMEM;
        separate(&rows);
        text_uint(&rows, (u64)row);
    }
    for (size_t c = 0; c < w->ncolumns; c++) {
        u8 v = w->columns[c].value;
        if (w->columns[c].event != s->event || !(s->count[v] || s->value[v]))
            continue;
        separate(&w->samples[c]);
        buf_char(&w->samples[c], '[');
        buf_add(&w->samples[c], rows.data, rows.len);
        buf_char(&w->samples[c], ']');
        separate(&w->weights[c]);
        text_uint(&w->weights[c], s->value[v]);
        w->sum[c] += s->value[v];
    }
    return rows.failed ? -ENOMEM : 0;
}

static int write_stacks(struct writer *w)
{
    struct frames f = {0};
    int r = 0;
    for (size_t i = 0; i < w->p->stacks.n && !r; i++) {
        r = frames_of(w->p, &w->p->stacks.v[i], &f);
        if (!r)
            r = write_stack(w, &w->p->stacks.v[i], &f);
    }
    vec_free(&f);
    return r;
}

static void put_frame(const struct profile *p, const struct frame_row *f, struct buf *out)
{
    AUTO_BUF struct buf name = {0};
    buf_str(&name, frame_text(p, f->name));
    if (f->pid)
        buf_printf(&name, " (%u)", f->pid);
    if (f->kind == FRAME_KERNEL)
        buf_str(&name, " [kernel]");
    out->failed |= name.failed;
    if (out->failed)
        return;
    buf_str(out, "{\"name\":");
    buf_json(out, name.data);
    u32 file = f->file ? f->file : f->module;
    if (file) {
        buf_str(out, ",\"file\":");
        buf_json(out, profile_text(p, file));
    }
    if (f->line_lo)
        buf_printf(out, ",\"line\":%u", f->line_lo);
    buf_char(out, '}');
}

static const char *unit_of(const struct event_value *value)
{
    static const char *const known[] = {"nanoseconds", "bytes"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcmp(value->unit, known[i]))
            return known[i];
    return "none";
}

static void put_profile(const struct writer *w, size_t c, struct buf *out)
{
    const struct event_kind *kind = w->p->events[w->columns[c].event];
    u8 value = w->columns[c].value;
    buf_str(out, "{\"type\":\"sampled\",\"name\":");
    buf_json(out, event_value_name(kind, value));
    buf_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\"samples\":[", unit_of(&kind->values[value]),
               (unsigned long long)w->sum[c]);
    buf_add(out, w->samples[c].data, w->samples[c].len);
    buf_str(out, "],\"weights\":[");
    buf_add(out, w->weights[c].data, w->weights[c].len);
    buf_str(out, "]}");
    out->failed |= w->samples[c].failed || w->weights[c].failed;
}

static void put_file(const struct writer *w, struct buf *out)
{
    buf_str(out,
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"xprof\",\"name\":");
    buf_json(out, profile_title(w->p));
    buf_str(out, ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
    for (size_t i = 0; i < w->frames.rows.n; i++) {
        buf_str(out, i ? ",\n" : "\n");
        put_frame(w->p, &w->frames.rows.v[i], out);
    }
    buf_str(out, "]},\"profiles\":[");
    for (size_t c = 0; c < w->ncolumns; c++) {
        buf_str(out, c ? ",\n" : "\n");
        put_profile(w, c, out);
    }
    buf_str(out, "]}\n");
}

int encode_speedscope(const struct profile *p, struct buf *out)
{
    struct writer w = {.p = p};
    w.ncolumns = profile_columns(p, w.columns);
    int r = write_stacks(&w);
    if (!r)
        put_file(&w, out);
    frame_table_free(&w.frames);
    for (size_t c = 0; c < w.ncolumns; c++) {
        buf_free(&w.samples[c]);
        buf_free(&w.weights[c]);
    }
    return out->failed ? -ENOMEM : r;
}
