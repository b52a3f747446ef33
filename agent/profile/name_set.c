#include "profile/name_set.h"
#include "base/hash.h"
#include <errno.h>
#include <string.h>

static u64 key_of(u32 id, u64 offset)
{
    return hash_u64(offset ^ hash_u64(id));
}

const struct named_place *name_set_find(const struct name_set *s, u32 id, u64 offset)
{
    const u64 *at = map_get(&s->by_key, key_of(id, offset));
    const struct named_place *p = at && *at ? &s->places.v[*at - 1] : NULL;
    return p && p->id == id && p->offset == offset ? p : NULL;
}

/* The place of a text in our own strings. */
static u32 intern(struct name_set *s, const char *text)
{
    size_t len = strlen(text) + 1;
    if (!s->strings.len)
        buf_char(&s->strings, 0); /* place 0 is "" */
    if (len == 1)
        return 0;
    u64 *at = map_put(&s->string_of, hash_bytes(text, len, 0));
    if (at && *at && !strcmp(s->strings.data + *at - 1, text))
        return (u32)*at - 1;
    u32 place = (u32)s->strings.len;
    buf_add(&s->strings, text, len);
    if (at && !s->strings.failed)
        *at = (u64)place + 1;
    return s->strings.failed ? 0 : place;
}

/* What the text would take. */
static size_t text_cost(const struct name_set *s, const char *text)
{
    size_t len = strlen(text) + 1;
    const u64 *at = len > 1 ? map_get(&s->string_of, hash_bytes(text, len, 0)) : NULL;
    bool is_there = len == 1 || (at && *at && !strcmp(s->strings.data + *at - 1, text));
    return is_there ? 0 : len + sizeof(struct map_slot);
}

size_t name_set_cost(const struct name_set *s, const struct names_frame *frames, u32 n, const char *strings)
{
    size_t cost = sizeof(s->places.v[0]) + sizeof(struct map_slot) + n * sizeof(*frames);
    for (u32 i = 0; i < n; i++)
        cost += text_cost(s, strings + frames[i].name) + text_cost(s, strings + frames[i].system_name) +
                text_cost(s, strings + frames[i].file);
    return cost;
}

int name_set_add(struct name_set *s, u32 id, u64 offset, const struct names_frame *frames, u32 n, const char *strings)
{
    u64 *at = map_put(&s->by_key, key_of(id, offset));
    struct named_place *p = at && !VEC_RESERVE(&s->frames, s->frames.n + n) ? VEC_PUSH(&s->places) : NULL;
    if (!p)
        return -ENOMEM;
    *p = (struct named_place){offset, id, (u32)s->frames.n, n};
    *at = s->places.n;
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
    return s->places.n * (sizeof(s->places.v[0]) + sizeof(struct map_slot)) + s->frames.n * sizeof(s->frames.v[0]) +
           s->strings.len + s->string_of.n * sizeof(struct map_slot);
}

void name_set_free(struct name_set *s)
{
    vec_free(&s->places);
    vec_free(&s->frames);
    map_free(&s->by_key);
    map_free(&s->string_of);
    buf_free(&s->strings);
    *s = (struct name_set){0};
}
