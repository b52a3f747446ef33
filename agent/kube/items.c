#include "kube/items.h"
#include <string.h>

#define LIST_DEPTH   1 /* within the list's own braces */
#define OBJECT_DEPTH 3 /* within those of an object in "items" */

static bool in_object(const struct items *t)
{
    return t->inside && t->depth >= OBJECT_DEPTH;
}

static void keep(struct items *t, char c)
{
    if (!in_object(t)) {
        if (t->inside) /* commas and blanks between the objects */
            return;
        if (t->head.len < ITEMS_HEAD_MAX)
            buf_char(&t->head, c);
        t->broken |= t->head.failed || t->head.len == ITEMS_HEAD_MAX;
        return;
    }
    if (t->skipping)
        return;
    if (t->item.len < t->max)
        buf_char(&t->item, c);
    if (t->item.failed || t->item.len == t->max) {
        t->skipping = true;
        t->oversize++;
        buf_free(&t->item);
    }
}

/* A character of a string; those at depth 1 are the list's keys, or their values. */
static void string_char(struct items *t, char c)
{
    if (t->escaped)
        t->escaped = false;
    else if (c == '\\')
        t->escaped = true;
    else if (c == '"')
        t->quoted = false;
    if (t->quoted && t->depth == LIST_DEPTH && t->key_len < sizeof(t->key))
        t->key[t->key_len++] = c;
    keep(t, c);
}

static void open_bracket(struct items *t, char c)
{
    bool items = c == '[' && t->depth == LIST_DEPTH && t->key_len == 5 && !memcmp(t->key, "items", 5);
    if (items)
        keep(t, c);
    t->depth++;
    t->inside |= items;
    if (!items)
        keep(t, c);
}

static bool close_bracket(struct items *t, char c, bool (*each)(void *ctx, const char *object, size_t len), void *ctx)
{
    bool object = t->inside && t->depth == OBJECT_DEPTH, go_on = true;
    t->broken |= !t->depth;
    if (t->broken)
        return false;
    if (t->inside && t->depth == OBJECT_DEPTH - 1)
        t->inside = false;
    keep(t, c);
    t->depth--;
    if (object) {
        if (!t->skipping)
            go_on = each(ctx, t->item.data, t->item.len);
        t->item.len = 0;
        t->skipping = false;
    }
    return go_on;
}

bool items_feed(struct items *t, const char *data, size_t n, bool (*each)(void *ctx, const char *object, size_t len),
                void *ctx)
{
    for (const char *c = data; c < data + n && !t->broken; c++) {
        if (t->quoted) {
            string_char(t, *c);
        } else if (*c == '{' || *c == '[') {
            open_bracket(t, *c);
        } else if (*c == '}' || *c == ']') {
            if (!close_bracket(t, *c, each, ctx))
                return false;
        } else {
            t->quoted = *c == '"';
            if (t->quoted && t->depth == LIST_DEPTH)
                t->key_len = 0;
            keep(t, *c);
        }
    }
    return !t->broken;
}

bool items_complete(const struct items *t)
{
    return !t->broken && !t->depth && !t->quoted && t->head.len;
}

void items_free(struct items *t)
{
    buf_free(&t->head);
    buf_free(&t->item);
    *t = (struct items){.max = t->max};
}
