/* The strings of the image: sorted, so that each can leave out what it shares with the one in front (dwarf.h). */
#include "base/cleanup.h"
#include "dwarf/build.h"
#include <errno.h>
#include <stdlib.h>

#define MAX_HEAD 10 /* bytes of two LEB128 below 2^32 */

struct sorter {
    const char *pool;
    const u32 *at; /* of each string, in the order of the pool */
};

static int by_text(const void *a, const void *b, void *sorter)
{
    const struct sorter *s = sorter;
    return strcmp(s->pool + s->at[*(const u32 *)a], s->pool + s->at[*(const u32 *)b]);
}

/* Where each string of the pool begins. */
static int list_strings(const struct dwarf_builder *b, struct dwarf_strings *s)
{
    for (size_t at = 0; at < b->strings.n; at += strlen(b->strings.v + at) + 1)
        s->n++;
    s->at = reallocarray(NULL, s->n, sizeof(u32));
    s->order = reallocarray(NULL, s->n, sizeof(u32));
    s->rank = reallocarray(NULL, s->n, sizeof(u32));
    s->marks = reallocarray(NULL, s->n / DWARF_INDEX_STRINGS + 1, sizeof(u32));
    if (!s->at || !s->order || !s->rank || !s->marks)
        return -ENOMEM;
    size_t i = 0;
    for (size_t at = 0; at < b->strings.n; at += strlen(b->strings.v + at) + 1) {
        s->order[i] = (u32)i;
        s->at[i++] = (u32)at;
    }
    return 0;
}

static u8 *put_uleb(u8 *p, size_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (u8)v | 0x80;
    *p++ = (u8)v;
    return p;
}

static size_t shared(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

static int write_strings(const struct dwarf_builder *b, struct dwarf_strings *s)
{
    if (VEC_RESERVE(&s->bytes, b->strings.n + s->n * MAX_HEAD))
        return -ENOMEM;
    u8 *p = s->bytes.v;
    const char *before = "";
    for (size_t i = 0; i < s->n; i++) {
        const char *text = b->strings.v + s->at[s->order[i]];
        if (i % DWARF_INDEX_STRINGS == 0) {
            s->marks[s->nmarks++] = (u32)(p - s->bytes.v);
            before = "";
        }
        size_t same = shared(before, text), len = strlen(text);
        p = put_uleb(put_uleb(p, same), len - same);
        memcpy(p, text + same, len - same);
        p += len - same;
        before = text;
    }
    s->bytes.n = (size_t)(p - s->bytes.v);
    return 0;
}

/* Number of the string at this place of the pool. */
static u32 number_of(const struct dwarf_strings *s, u32 at)
{
    size_t lo = 0, hi = s->n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->at[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    return s->rank[lo];
}

int dwarf_strings_make(struct dwarf_builder *b, struct dwarf_strings *s)
{
    int err = list_strings(b, s);
    if (err)
        return err;
    struct sorter sorter = {b->strings.v, s->at};
    qsort_r(s->order, s->n, sizeof(u32), by_text, &sorter);
    for (size_t i = 0; i < s->n; i++)
        s->rank[s->order[i]] = (u32)i;
    err = write_strings(b, s);
    for (size_t i = 0; i < b->nodes.n && !err; i++)
        b->nodes.v[i].name = number_of(s, b->nodes.v[i].name);
    for (size_t i = 0; i < b->files.n && !err; i++)
        b->files.v[i] = number_of(s, b->files.v[i]);
    return err;
}

void dwarf_strings_free(struct dwarf_strings *s)
{
    free(s->at);
    free(s->order);
    free(s->rank);
    free(s->marks);
    vec_free(&s->bytes);
}
