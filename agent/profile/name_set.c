#include "profile/name_set.h"
#include "base/hash.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static u64 key_of(u32 id, u64 offset)
{
    return hash_u64(offset ^ hash_u64(id));
}

static u64 place_hash(const struct name_set *s, u32 row)
{
    return key_of(s->places.v[row].id, s->places.v[row].offset);
}

static u64 text_hash(const struct name_set *s, u32 place)
{
    const char *text = s->strings.data + place;
    return hash_bytes(text, strlen(text) + 1, 0);
}

/* Makes room for one more: a quarter stays free. Returns 0 or -ENOMEM. */
static int slots_reserve(struct name_slots *t, const struct name_set *s,
                         u64 (*hash)(const struct name_set *s, u32 number))
{
    if (t->n * 4ull < t->cap * 3ull)
        return 0;
    struct name_slots more = {.n = t->n, .cap = t->cap ? 2 * t->cap : 16};
    if (!more.cap || !(more.v = calloc(more.cap, sizeof(*more.v))))
        return -ENOMEM;
    for (u32 k = 0; k < t->cap; k++) {
        if (!t->v[k])
            continue;
        u32 i = (u32)hash(s, t->v[k] - 1) & (more.cap - 1);
        while (more.v[i])
            i = (i + 1) & (more.cap - 1);
        more.v[i] = t->v[k];
    }
    free(t->v);
    *t = more;
    return 0;
}

/* The slot of a place, or the free one that it would have; NULL: there are no slots. */
static u32 *place_slot(const struct name_set *s, u32 id, u64 offset)
{
    const struct name_slots *t = &s->by_key;
    if (!t->cap)
        return NULL;
    u32 i = (u32)key_of(id, offset) & (t->cap - 1);
    while (t->v[i] && (s->places.v[t->v[i] - 1].id != id || s->places.v[t->v[i] - 1].offset != offset))
        i = (i + 1) & (t->cap - 1);
    return &t->v[i];
}

/* The same of a text, of `len` bytes with its end. */
static u32 *text_slot(const struct name_set *s, const char *text, size_t len)
{
    const struct name_slots *t = &s->string_of;
    if (!t->cap)
        return NULL;
    u32 i = (u32)hash_bytes(text, len, 0) & (t->cap - 1);
    while (t->v[i] && strcmp(s->strings.data + t->v[i] - 1, text))
        i = (i + 1) & (t->cap - 1);
    return &t->v[i];
}

const struct named_place *name_set_find(const struct name_set *s, u32 id, u64 offset)
{
    const u32 *at = place_slot(s, id, offset);
    return at && *at ? &s->places.v[*at - 1] : NULL;
}

/* The place of a text in our own strings. */
static u32 intern(struct name_set *s, const char *text)
{
    size_t len = strlen(text) + 1;
    if (!s->strings.len)
        buf_char(&s->strings, 0); /* place 0 is "" */
    if (len == 1)
        return 0;
    bool room = !slots_reserve(&s->string_of, s, text_hash);
    u32 *at = text_slot(s, text, len), place = (u32)s->strings.len;
    if (at && *at)
        return *at - 1;
    buf_add(&s->strings, text, len);
    if (s->strings.failed)
        return 0;
    if (room) { /* else it is there a second time */
        *at = place + 1;
        s->string_of.n++;
    }
    return place;
}

/* What the text would take. */
static size_t text_cost(const struct name_set *s, const char *text)
{
    size_t len = strlen(text) + 1;
    const u32 *at = len > 1 ? text_slot(s, text, len) : NULL;
    bool is_there = len == 1 || (at && *at);
    return is_there ? 0 : len + sizeof(*at);
}

size_t name_set_cost(const struct name_set *s, const struct names_frame *frames, u32 n, const char *strings)
{
    size_t cost = sizeof(s->places.v[0]) + sizeof(s->by_key.v[0]) + n * sizeof(*frames);
    for (u32 i = 0; i < n; i++)
        cost += text_cost(s, strings + frames[i].name) + text_cost(s, strings + frames[i].system_name) +
                text_cost(s, strings + frames[i].file);
    return cost;
}

int name_set_add(struct name_set *s, u32 id, u64 offset, const struct names_frame *frames, u32 n, const char *strings)
{
    bool room = !slots_reserve(&s->by_key, s, place_hash) && !VEC_RESERVE(&s->frames, s->frames.n + n);
    u32 *at = room ? place_slot(s, id, offset) : NULL;
    struct named_place *p = room ? VEC_PUSH(&s->places) : NULL;
    if (!p)
        return -ENOMEM;
    *p = (struct named_place){offset, id, (u32)s->frames.n, n};
    *at = (u32)s->places.n;
    s->by_key.n++;
    for (u32 i = 0; i < n; i++) {
        struct names_frame frame = frames[i];
        frame.name = intern(s, strings + frame.name);
        frame.system_name = intern(s, strings + frame.system_name);
        frame.file = intern(s, strings + frame.file);
        s->frames.v[s->frames.n++] = frame;
    }
    return s->strings.failed ? -ENOMEM : 0;
}

size_t name_set_bytes(const struct name_set *s)
{
    return s->places.n * sizeof(s->places.v[0]) + s->by_key.n * sizeof(s->by_key.v[0]) +
           s->frames.n * sizeof(s->frames.v[0]) + s->strings.len + s->string_of.n * sizeof(s->string_of.v[0]);
}

void name_set_free(struct name_set *s)
{
    vec_free(&s->places);
    vec_free(&s->frames);
    free(s->by_key.v);
    free(s->string_of.v);
    buf_free(&s->strings);
    *s = (struct name_set){0};
}
