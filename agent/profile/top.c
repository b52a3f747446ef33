/* The table of hottest functions, for a terminal. Total counts a function once a stack, however often it recurs. */
#include "base/cleanup.h"
#include "profile/encode.h"
#include "profile/frames.h"
#include "profile/text.h"

#define NAME_COLUMNS 60 /* longer names, as templates have them, are cut: the other formats have them in full */

struct hot {
    u64 self, total;
    size_t seen; /* number of the last stack that it was counted in */
    u32 row;     /* of the frame table */
};
struct ranking {
    const struct profile *p;
    struct frame_table frames;
    VEC(struct hot) functions; /* the same rows */
    u64 total;
};

static int count_frame(struct ranking *r, const struct frame *f, size_t stack, u64 value, bool leaf)
{
    s64 row = frame_table_add(&r->frames, f);
    if (row < 0)
        return -ENOMEM;
    if ((size_t)row == r->functions.n) {
        struct hot *place = VEC_PUSH(&r->functions);
        if (!place)
            return -ENOMEM;
        *place = (struct hot){.row = (u32)row};
    }
    struct hot *h = &r->functions.v[row];
    if (h->seen != stack + 1)
        h->total += value;
    h->seen = stack + 1;
    h->self += leaf ? value : 0;
    return 0;
}

static int count_stacks(struct ranking *r)
{
    struct frames frames = {0};
    int result = 0;
    for (size_t i = 0; i < r->p->stacks.n && !result; i++) {
        const struct prof_stack *s = &r->p->stacks.v[i];
        u64 value = profile_main_of(r->p, s);
        result = frames_of(r->p, s, &frames);
        for (size_t f = 1; f < frames.n && !result; f++) /* 0 is the process */
            result = count_frame(r, &frames.v[f], i, value, f + 1 == frames.n);
        r->total += value;
    }
    vec_free(&frames);
    return result;
}

static int hottest_first(const void *x, const void *y)
{
    const struct hot *a = x, *b = y;
    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static void print_row(const struct ranking *r, const struct hot *h, struct buf *out)
{
    const struct frame_row *f = &r->frames.rows.v[h->row];
    const char *unit = r->p->nevents ? profile_main(r->p)->unit : "count";
    AUTO_BUF struct buf self = {0}, name = {0};
    text_quantity(&self, h->self, unit);
    text_clean(&name, frame_text(r->p, f->name), 0, 0);
    text_cut(&name, NAME_COLUMNS);
    if (self.failed || name.failed) {
        out->failed = true;
        return;
    }
    double share = r->total ? 100.0 / (double)r->total : 0;
    buf_printf(out, "%6.2f %%  %12s  %6.2f %%  %s", share * (double)h->self, self.data, share * (double)h->total,
               name.data);
    if (f->module) {
        for (size_t w = text_width(name.data); w < NAME_COLUMNS; w++)
            buf_char(out, ' ');
        buf_str(out, "  ");
        text_clean(out, text_base(profile_text(r->p, f->module)), 0, 0);
    }
    buf_char(out, '\n');
}

int encode_top(const struct profile *p, size_t rows, struct buf *out)
{
    struct ranking r = {.p = p};
    int result = count_stacks(&r);
    if (!result) {
        if (r.functions.n)
            qsort(r.functions.v, r.functions.n, sizeof(*r.functions.v), hottest_first);
        buf_printf(out, "%8s  %12s  %8s  %-*s  %s\n", "SELF", "", "TOTAL", NAME_COLUMNS, "FUNCTION", "FILE");
        for (size_t i = 0; i < r.functions.n && i < rows; i++)
            if (r.functions.v[i].total)
                print_row(&r, &r.functions.v[i], out);
    }
    frame_table_free(&r.frames);
    vec_free(&r.functions);
    return out->failed ? -ENOMEM : result;
}
