/* A static flame graph: one SVG without script or reference to elsewhere, for documents and mail. Root at the bottom;
 * what is narrower than a third of a pixel is left out. The page of html.c is the one to explore in.
 */
#include "base/cleanup.h"
#include "profile/calltree.h"
#include "profile/formats.h"
#include "profile/text.h"
#include "runtime/kinds.h"
#include <string.h>

#define WIDTH       1200
#define MARGIN      12
#define ROW         18
#define HEADER      62
#define NARROWEST   0.33
#define LETTER      6.65 /* width of a letter of 11 px monospace */
#define TITLE_CHARS 400  /* longest name in a tooltip */

struct canvas {
    const struct profile *p;
    const struct calltree *tree;
    size_t column; /* of the tree: what is drawn */
    const char *unit;
    double scale;   /* pixels a value */
    const u64 *all; /* count and value of everything */
    u32 deepest;
    struct buf *out;
};

/* Colours say where code runs, or that it waits; shades, by name, tell neighbours apart. */
static void put_colour(const struct canvas *c, const struct frame_row *f)
{
    static const struct {
        unsigned hue, spread, saturation, light;
    } kinds[FRAME_KINDS + 1] = {{44, 14, 88, 66}, {12, 12, 82, 69}, {150, 20, 48, 66}, {199, 8, 66, 72},
                                {215, 0, 18, 78}, {0, 0, 0, 62},    {88, 18, 44, 70}};
    size_t kind = f->codes == 1u << RUNTIME_INTERPRETED ? FRAME_KINDS : f->kind;
    const char *name = frame_text(c->p, f->name);
    u64 h = hash_bytes(name, strlen(name), 0);
    unsigned hue = kinds[kind].hue + (unsigned)(h % (kinds[kind].spread + 1)) + 360 - kinds[kind].spread / 2;
    buf_printf(c->out, "hsl(%u,%u%%,%u%%)", hue % 360, kinds[kind].saturation,
               kinds[kind].light + (unsigned)(h >> 32) % 7);
}

static void put_node(const struct canvas *c, const struct tree_node *n, double x, u64 total, u64 self, u64 count)
{
    const struct frame_row *f = &c->tree->frames.rows.v[n->frame];
    const char *name = frame_text(c->p, f->name);
    double w = (double)total * c->scale, y = HEADER + (double)(c->deepest - n->depth) * ROW;
    buf_str(c->out, "<g><title>");
    text_xml(c->out, name, TITLE_CHARS);
    if (f->module) {
        buf_str(c->out, " (");
        text_xml(c->out, profile_text(c->p, f->module), TITLE_CHARS);
        buf_char(c->out, ')');
    }
    buf_str(c->out, "\n");
    text_quantity(c->out, total, c->unit);
    buf_printf(c->out, ", %.2f %%, ", 100.0 * (double)total / (double)c->all[1]);
    text_quantity(c->out, count, "count");
    buf_str(c->out, " samples; self ");
    text_quantity(c->out, self, c->unit);
    buf_printf(c->out, "</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"", x, y, w, ROW - 1);
    put_colour(c, f);
    buf_str(c->out, "\"/>");
    size_t letters = w > 8 ? (size_t)((w - 6) / LETTER) : 0;
    if (letters >= 3) {
        buf_printf(c->out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + 12.5);
        text_xml(c->out, name, letters);
        buf_str(c->out, "</text>");
    }
    buf_str(c->out, "</g>\n");
}

/* Draws each node wide enough; x of the next child of each level stands in `at`. */
static int put_nodes(const struct canvas *c)
{
    AUTO_FREE double *at = calloc(c->deepest + 2, sizeof(*at));
    if (!at)
        return -ENOMEM;
    at[1] = MARGIN;
    for (size_t i = 1; i < c->tree->n;) {
        const struct tree_node *n = &c->tree->nodes[i];
        const u64 *total = calltree_total(c->tree, i, c->column);
        double w = (double)total[1] * c->scale, x = at[n->depth];
        at[n->depth] += w;
        if (w < NARROWEST) {
            i = n->end;
            continue;
        }
        put_node(c, n, x, total[1], calltree_self(c->tree, i, c->column)[1], total[0]);
        at[n->depth + 1] = x;
        i++;
    }
    return 0;
}

/* Rows that something is drawn in. */
static u32 deepest(const struct calltree *t, size_t column, double scale)
{
    u32 d = 1;
    for (size_t i = 1; i < t->n;) {
        bool drawn = (double)calltree_total(t, i, column)[1] * scale >= NARROWEST;
        if (drawn && t->nodes[i].depth > d)
            d = t->nodes[i].depth;
        i = drawn ? i + 1 : t->nodes[i].end;
    }
    return d;
}

/* How many stacks are whole, by their values, and what most of the others lack. */
static void put_completeness(const struct canvas *c)
{
    struct cause_sum sum[XP_CAUSE_COUNT] = {0};
    double part = 0;
    u8 worst = XP_CAUSE_COUNT;
    if (!c->all[1])
        return;
    cause_sums(c->p, (struct prof_column){0, (u8)c->column}, sum);
    for (u8 i = 0; i < XP_CAUSE_COUNT; i++) {
        if ((cause_class(i) != 'x' && i != XP_CAUSE_NOT_TAKEN) || !sum[i].value)
            continue;
        part += (double)sum[i].value;
        worst = worst == XP_CAUSE_COUNT || sum[i].value > sum[worst].value ? i : worst;
    }
    buf_printf(c->out, "; %.1f %% of the stacks are whole", 100.0 * ((double)c->all[1] - part) / (double)c->all[1]);
    if (worst == XP_CAUSE_NOT_TAKEN)
        buf_str(c->out, ", most others were not taken");
    else if (worst < XP_CAUSE_COUNT)
        buf_printf(c->out, ", most others were cut: %s", cause_slug(worst));
}

static void put_header(const struct canvas *c, double height)
{
    buf_printf(c->out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
               "role=\"img\" aria-label=\"Flame graph\">\n"
               "<style>text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1b1f27;"
               "pointer-events:none}.h{font:600 17px system-ui,sans-serif}.s{font:12px system-ui,sans-serif;"
               "fill:#5b6472}rect{rx:2px}g:hover rect{stroke:#1b1f27;stroke-width:1}</style>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fdfdfc\"/>\n",
               WIDTH, height, WIDTH, height);
    buf_printf(c->out, "<text class=\"h\" x=\"%d\" y=\"28\">", MARGIN);
    text_xml(c->out, profile_title(c->p), 110);
    buf_printf(c->out, "</text><text class=\"s\" x=\"%d\" y=\"48\">", MARGIN);
    text_xml(c->out, c->p->nevents ? c->p->events[0]->help : "no event", 60);
    buf_str(c->out, ": ");
    text_quantity(c->out, c->all[1], c->unit);
    buf_str(c->out, " in ");
    text_quantity(c->out, c->all[0], "count");
    buf_str(c->out, " samples over ");
    text_quantity(c->out, c->p->duration_ns, "nanoseconds");
    put_completeness(c);
    buf_str(c->out, "</text>\n");
}

static int put_svg(const struct profile *p, const struct calltree *t, struct buf *out)
{
    static const u64 nothing[2];
    struct canvas c = {.p = p, .tree = t, .out = out, .all = nothing, .unit = "count"};
    if (p->nevents) {
        c.column = p->events[0]->main;
        c.all = calltree_total(t, 0, c.column);
        c.unit = profile_main(p)->unit;
    }
    c.scale = c.all[1] ? (WIDTH - 2 * MARGIN) / (double)c.all[1] : 0;
    c.deepest = p->nevents ? deepest(t, c.column, c.scale) : 1;
    put_header(&c, HEADER + (double)c.deepest * ROW + MARGIN);
    int r = p->nevents ? put_nodes(&c) : 0;
    buf_str(out, "</svg>\n");
    return out->failed ? -ENOMEM : r;
}

int encode_svg(const struct profile *p, struct buf *out)
{
    struct calltree t = {0};
    int r = calltree_build(p, false, &t);
    if (!r)
        r = put_svg(p, &t, out);
    calltree_free(&t);
    return r;
}
