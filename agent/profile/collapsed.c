/* Collapsed stacks: one line per stack, `process;root;...;leaf VALUE`, as flamegraph.pl, speedscope and Pyroscope read
 * it. Kernel frames end in _[k]. The value is the main one of the first event in its unit: nanoseconds for times,
 * occurrences for counts. Stacks without any are left out. Lines are sorted, equal ones merged.
 */
#include "base/cleanup.h"
#include "profile/formats.h"
#include "profile/frames.h"
#include "profile/text.h"
#include <string.h>

struct line {
    size_t at, len; /* in the text */
    u64 value;
};

static void add_frame(struct buf *text, const struct profile *p, const struct frame *f)
{
    text_clean(text, frame_text(p, f->name), ';', ':');
    if (f->kind == FRAME_KERNEL)
        buf_str(text, "_[k]");
}

static int by_text(const void *x, const void *y, void *arg)
{
    const struct line *a = x, *b = y;
    const char *text = arg;
    size_t n = a->len < b->len ? a->len : b->len;
    int r = memcmp(text + a->at, text + b->at, n);
    return r ? r : (a->len > b->len) - (a->len < b->len);
}

/* All lines, in the order of the profile. */
static int make_lines(const struct profile *p, struct buf *text, struct line *lines, size_t *n)
{
    struct frames frames = {0};
    for (size_t i = 0; i < p->stacks.n && !text->failed; i++) {
        const struct prof_stack *s = &p->stacks.v[i];
        u64 value = profile_main_of(p, s);
        if (!value)
            continue;
        if (frames_of(p, s, &frames)) {
            text->failed = true;
            break;
        }
        struct line *l = &lines[(*n)++];
        l->at = text->len;
        for (size_t f = 0; f < frames.n; f++) {
            if (f)
                buf_char(text, ';');
            add_frame(text, p, &frames.v[f]);
        }
        l->len = text->len - l->at;
        l->value = value;
    }
    vec_free(&frames);
    return text->failed ? -ENOMEM : 0;
}

int encode_collapsed(const struct profile *p, struct buf *out)
{
    AUTO_BUF struct buf text = {0};
    AUTO_FREE struct line *lines = calloc(p->stacks.n + 1, sizeof(*lines));
    size_t n = 0;
    if (!lines || make_lines(p, &text, lines, &n))
        return -ENOMEM;
    qsort_r(lines, n, sizeof(*lines), by_text, text.data);
    for (size_t i = 0, end; i < n; i = end) {
        u64 value = 0;
        for (end = i; end < n && !by_text(&lines[i], &lines[end], text.data); end++)
            value += lines[end].value;
        buf_add(out, text.data + lines[i].at, lines[i].len);
        buf_printf(out, " %llu\n", (unsigned long long)value);
    }
    return out->failed ? -ENOMEM : 0;
}
