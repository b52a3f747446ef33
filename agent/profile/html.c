/* The page: a flame graph to explore, in one file that loads nothing from elsewhere. The call tree goes in as columns
 * of varints, gzipped, in base64: what page/model.js reads back. Of all names only the title reaches the HTML itself.
 */
#include "base/cleanup.h"
#include "base/gz.h"
#include "base/pb.h"
#include "profile/calltree.h"
#include "profile/formats.h"
#include "profile/page.h"
#include "profile/strings.h"
#include "profile/text.h"
#include <string.h>

#define MOST_PIDS                                                                                      \
    64 /* processes told apart; more are merged by name, as a build's thousands of compilers should be \
        */

/* ---- About the recording: JSON ----------------------------------------------------------------------------------- */

struct page {
    const struct profile *p;
    struct prof_column columns[PROF_COLUMNS];
    size_t ncolumns;
};

/* Values that are all counts times the period need no column of their own. */
static u64 scale_of(const struct profile *p, struct prof_column c)
{
    for (size_t i = 0; i < p->stacks.n; i++) {
        const struct prof_stack *s = &p->stacks.v[i];
        if (s->event == c.event && s->value[c.value] != s->count[c.value] * p->period[c.event])
            return 0;
    }
    return p->period[c.event];
}

/* What the page calls events are values. */
static void put_events(const struct page *g, struct buf *out)
{
    buf_str(out, ",\"events\":[");
    for (size_t i = 0; i < g->ncolumns; i++) {
        struct prof_column c = g->columns[i];
        const struct event_kind *kind = g->p->events[c.event];
        buf_str(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json(out, event_value_name(kind, c.value));
        buf_str(out, ",\"help\":");
        buf_json(out, kind->help);
        buf_str(out, ",\"unit\":");
        buf_json(out, kind->values[c.value].unit);
        buf_str(out, ",\"scale\":");
        text_uint(out, scale_of(g->p, c));
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

/* How the stacks of each event ended; what no stack ended with is left out. */
static void put_causes(const struct page *g, struct buf *out)
{
    struct cause_sum sum[PROF_COLUMNS][XP_CAUSE_COUNT];
    for (size_t i = 0; i < g->ncolumns; i++)
        cause_sums(g->p, g->columns[i], sum[i]);
    bool first = true;
    buf_str(out, ",\"causes\":[");
    for (u8 c = 0; c < XP_CAUSE_COUNT; c++) {
        bool any = false;
        for (size_t e = 0; e < g->ncolumns; e++)
            any |= sum[e][c].count || sum[e][c].value;
        if (!any)
            continue;
        buf_printf(out, "%s{\"slug\":\"%s\",\"class\":\"%c\",\"text\":", first ? "" : ",", cause_slug(c),
                   cause_class(c));
        buf_json(out, cause_text(c));
        buf_str(out, ",\"counts\":[");
        for (size_t e = 0; e < g->ncolumns; e++)
            buf_printf(out, "%s%llu", e ? "," : "", (unsigned long long)sum[e][c].count);
        buf_str(out, "],\"values\":[");
        for (size_t e = 0; e < g->ncolumns; e++)
            buf_printf(out, "%s%llu", e ? "," : "", (unsigned long long)sum[e][c].value);
        buf_str(out, "]}");
        first = false;
    }
    buf_char(out, ']');
}

static void put_comments(const struct profile *p, struct buf *out)
{
    buf_str(out, ",\"comments\":[");
    for (size_t i = 0; i < p->comments.n; i++) {
        buf_str(out, i ? "," : "");
        buf_json(out, profile_text(p, p->comments.v[i]));
    }
    buf_char(out, ']');
}

/* Without control characters, and marks that would turn the text beside them. */
static u32 page_string(struct strings *strings, const char *text, struct buf *out)
{
    AUTO_BUF struct buf clean = {0};
    text_clean(&clean, text, 0, 0);
    out->failed |= clean.failed;
    return clean.len ? strings_add(strings, clean.data) : 0;
}

/* Rows of seven numbers, the first three of them strings; bit 3 of the kind: inlined; from bit 4 on: FOUND_*; from bit
 * 6 on: codes. */
static void put_frames(const struct profile *p, const struct frame_table *t, struct strings *strings, struct buf *out)
{
    buf_str(out, ",\"frames\":[");
    for (size_t i = 0; i < t->rows.n; i++) {
        const struct frame_row *f = &t->rows.v[i];
        const u64 row[] = {page_string(strings, frame_text(p, f->name), out),
                           page_string(strings, profile_text(p, f->module), out),
                           page_string(strings, profile_text(p, f->file), out),
                           f->line_lo,
                           f->line_hi,
                           f->kind | (f->inlined ? 8u : 0u) | (u32)f->found << 4 | (u32)f->codes << 6,
                           f->pid};
        for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
            buf_str(out, i || k ? "," : "");
            text_uint(out, row[k]);
        }
    }
    buf_str(out, "],\"strings\":[");
    for (u32 i = 0; i < strings_count(strings); i++) {
        buf_str(out, i ? "," : "");
        buf_json(out, strings_text(strings, i));
    }
    buf_char(out, ']');
    out->failed |= strings_failed(strings);
}

static int put_json(const struct page *g, const struct calltree *t, struct buf *out)
{
    const struct profile *p = g->p;
    struct strings *strings __attribute__((cleanup(strings_free))) = NULL;
    if (strings_new(&strings))
        return -ENOMEM;
    buf_str(out, "{\"title\":");
    buf_json(out, profile_title(p));
    buf_printf(out, ",\"time\":%llu,\"duration\":%llu,\"nodes\":%zu", (unsigned long long)p->time_ns,
               (unsigned long long)p->duration_ns, t->n);
    put_comments(p, out);
    put_events(g, out);
    put_causes(g, out);
    put_frames(p, &t->frames, strings, out);
    buf_char(out, '}');
    return out->failed ? -ENOMEM : 0;
}

/* ---- The tree: columns ------------------------------------------------------------------------------------------- */

static void put_columns(const struct page *g, const struct calltree *t, struct buf *out)
{
    for (size_t i = 1; i < t->n; i++)
        pb_varint(out, t->nodes[i].frame);
    for (size_t i = 1; i < t->n; i++)
        pb_varint(out, t->nodes[i - 1].depth + 1 - t->nodes[i].depth); /* levels up from the node before */
    for (size_t e = 0; e < g->ncolumns; e++) {
        for (size_t i = 1; i < t->n; i++)
            pb_varint(out, calltree_self(t, i, e)[0]);
        bool values = !scale_of(g->p, g->columns[e]);
        for (size_t i = 1; i < t->n && values; i++)
            pb_varint(out, calltree_self(t, i, e)[1]);
    }
}

static int put_data(const struct profile *p, const struct calltree *t, struct buf *out)
{
    AUTO_BUF struct buf json = {0};
    struct page g = {.p = p};
    g.ncolumns = profile_columns(p, g.columns);
    if (put_json(&g, t, &json))
        return -ENOMEM;
    for (unsigned i = 0; i < 4; i++)
        buf_char(out, (char)(json.len >> 8 * i));
    buf_add(out, json.data, json.len);
    put_columns(&g, t, out);
    return out->failed ? -ENOMEM : 0;
}

static void put_base64(const struct buf *in, struct buf *out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const u8 *b = (const u8 *)in->data;
    for (size_t i = 0; i < in->len; i += 3) {
        size_t left = in->len - i;
        u32 w = (u32)b[i] << 16 | (left > 1 ? (u32)b[i + 1] << 8 : 0) | (left > 2 ? b[i + 2] : 0);
        char four[4] = {letters[w >> 18], letters[w >> 12 & 63], left > 1 ? letters[w >> 6 & 63] : '=',
                        left > 2 ? letters[w & 63] : '='};
        buf_add(out, four, 4);
    }
}

/* ---- The page ---------------------------------------------------------------------------------------------------- */

/* The page with its marks, @LIKE_THIS@, replaced. */
static void put_page(const struct profile *p, const struct buf *data, struct buf *out)
{
    const char *at = page_html;
    for (const char *mark; (mark = strchr(at, '@')); at = strchr(mark + 1, '@') + 1) {
        buf_add(out, at, (size_t)(mark - at));
        if (!strncmp(mark, "@TITLE@", 7))
            text_xml(out, profile_title(p), 120);
        else if (!strncmp(mark, "@STYLE@", 7))
            buf_str(out, page_style);
        else if (!strncmp(mark, "@DATA@", 6))
            put_base64(data, out);
        else if (!strncmp(mark, "@SCRIPT@", 8))
            buf_str(out, page_script);
        else if (!strncmp(mark, "@VERSION@", 9))
            buf_str(out, "xprof " XPROF_VERSION);
    }
    buf_str(out, at);
}

int encode_html(const struct profile *p, struct buf *out)
{
    AUTO_BUF struct buf raw = {0}, packed = {0};
    struct calltree t = {0};
    int r = calltree_build(p, p->processes.n <= MOST_PIDS, &t);
    if (!r)
        r = put_data(p, &t, &raw);
    calltree_free(&t);
    if (!r)
        r = gz_compress(raw.data, raw.len, 6, &packed);
    if (!r)
        put_page(p, &packed, out);
    return out->failed ? -ENOMEM : r;
}
