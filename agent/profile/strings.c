#include "profile/strings.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "profile/lookup.h"
#include <string.h>

/* Each chunk is twice the one before: a profile of one stack has few strings, and hundreds of those may wait. */
#define FIRST_CHUNK 1024u
#define MAX_CHUNK   (64u << 10)

struct chunk {
    struct chunk *next;
    char bytes[];
};
struct strings {
    struct chunk *chunks; /* the one with room first */
    size_t used, size;    /* of that one */
    VEC(const char *) texts;
    struct lookup rows;
    bool failed;
};

int strings_new(struct strings **out)
{
    struct strings *s = calloc(1, sizeof(*s));
    const char **empty = s ? VEC_PUSH(&s->texts) : NULL;
    if (!empty) {
        free(s);
        return -ENOMEM;
    }
    *empty = "";
    *out = s;
    return 0;
}

void strings_free(struct strings **s)
{
    if (!*s)
        return;
    for (struct chunk *c = (*s)->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    vec_free(&(*s)->texts);
    lookup_free(&(*s)->rows);
    free(TAKE_PTR(*s));
}

/* A copy that stays where it is; NULL without memory. */
static char *keep(struct strings *s, const char *text, size_t n)
{
    if (!s->chunks || s->size - s->used < n + 1) {
        size_t next = !s->size ? FIRST_CHUNK : 2 * s->size < MAX_CHUNK ? 2 * s->size : MAX_CHUNK;
        size_t size = n + 1 > next ? n + 1 : next;
        struct chunk *c = malloc(sizeof(*c) + size);
        if (!c)
            return NULL;
        c->next = s->chunks;
        s->chunks = c;
        s->used = 0;
        s->size = size;
    }
    char *p = s->chunks->bytes + s->used;
    memcpy(p, text, n);
    p[n] = 0;
    s->used += n + 1;
    return p;
}

static u32 intern(struct strings *s, const char *text, size_t n)
{
    u64 hash = hash_bytes(text, n, 0);
    u32 row;
    for (struct probe p = lookup_start(&s->rows, hash); lookup_next(&s->rows, &p, &row);)
        if (!strcmp(s->texts.v[row], text))
            return row;
    char *copy = s->texts.n < UINT32_MAX - 256 ? keep(s, text, n) : NULL; /* the last numbers are frames.h's */
    const char **place = copy ? VEC_PUSH(&s->texts) : NULL;
    if (!place || lookup_put(&s->rows, hash, (u32)(s->texts.n - 1))) {
        s->texts.n -= place != NULL;
        s->failed = true;
        return 0;
    }
    *place = copy;
    return (u32)(s->texts.n - 1);
}

static bool is_utf8(const char *text, size_t n)
{
    for (size_t i = 0, len; i < n; i += len)
        if (!(len = utf8_len(text + i, n - i)))
            return false;
    return true;
}

static u32 intern_repaired(struct strings *s, const char *text, size_t n)
{
    AUTO_BUF struct buf b = {0};
    for (size_t i = 0, len; i < n; i += len ? len : 1) {
        len = utf8_len(text + i, n - i);
        buf_add(&b, len ? text + i : "\xef\xbf\xbd", len ? len : 3);
    }
    if (!b.failed)
        return intern(s, b.data, b.len);
    s->failed = true;
    return 0;
}

u32 strings_add(struct strings *s, const char *text)
{
    size_t n = strlen(text);
    if (!n)
        return 0;
    return is_utf8(text, n) ? intern(s, text, n) : intern_repaired(s, text, n);
}

const char *strings_text(const struct strings *s, u32 string)
{
    return string < s->texts.n ? s->texts.v[string] : "";
}

size_t strings_count(const struct strings *s)
{
    return s->texts.n;
}

bool strings_failed(const struct strings *s)
{
    return s->failed;
}
