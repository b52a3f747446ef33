#include "kube/lines.h"
#include <string.h>

static void skip(struct lines *l)
{
    buf_free(&l->line);
    l->skipping = true;
    l->oversize++;
}

static void append(struct lines *l, const char *data, size_t n)
{
    if (l->skipping)
        return;
    if (n > l->max - l->line.len) {
        skip(l);
        return;
    }
    buf_add(&l->line, data, n);
    if (l->line.failed)
        skip(l);
}

/* The line is whole now. */
static bool finish(struct lines *l, bool (*each)(void *ctx, const char *line, size_t len), void *ctx)
{
    bool go_on = l->skipping || !l->line.len || each(ctx, l->line.data, l->line.len);
    l->skipping = false;
    l->line.len = 0;
    return go_on;
}

bool lines_feed(struct lines *l, const char *data, size_t n, bool (*each)(void *ctx, const char *line, size_t len),
                void *ctx)
{
    while (n) {
        const char *end = memchr(data, '\n', n);
        size_t part = end ? (size_t)(end - data) : n;
        append(l, data, part);
        if (!end)
            return true;
        data += part + 1;
        n -= part + 1;
        if (!finish(l, each, ctx))
            return false;
    }
    return true;
}

void lines_free(struct lines *l)
{
    buf_free(&l->line);
    *l = (struct lines){.max = l->max};
}
