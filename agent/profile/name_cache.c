#include "profile/name_cache.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "parser/parser.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct known { /* an offset that was answered */
    u64 key, offset;
    u32 id;
    u32 first, n; /* in frames */
};

struct name_cache {
    size_t max_bytes;
    VEC(struct known) known;
    struct map by_key;              /* hash of (id, offset) -> row + 1 */
    VEC(struct names_frame) frames; /* names are places in `strings` */
    struct buf strings;
    struct map string_of; /* hash of a text -> its place + 1 */
    u64 hits;
};

int name_cache_new(struct name_cache **out, size_t max_bytes)
{
    struct name_cache *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    n->max_bytes = max_bytes;
    *out = n;
    return 0;
}

static void forget(struct name_cache *n)
{
    vec_free(&n->known);
    vec_free(&n->frames);
    map_free(&n->by_key);
    map_free(&n->string_of);
    buf_free(&n->strings);
    n->strings = (struct buf){0};
}

void name_cache_free(struct name_cache **n)
{
    if (!*n)
        return;
    forget(*n);
    free(TAKE_PTR(*n));
}

u64 name_cache_hits(const struct name_cache *n)
{
    return n->hits;
}

static size_t bytes(const struct name_cache *n)
{
    return n->known.cap * sizeof(n->known.v[0]) + n->frames.cap * sizeof(n->frames.v[0]) + n->strings.cap +
           (n->by_key.cap + n->string_of.cap) * sizeof(struct map_slot);
}

static u64 key_of(u32 id, u64 offset)
{
    return hash_u64(offset ^ hash_u64(id));
}

static const struct known *find(const struct name_cache *n, u32 id, u64 offset)
{
    const u64 *at = map_get(&n->by_key, key_of(id, offset));
    const struct known *k = at && *at ? &n->known.v[*at - 1] : NULL;
    return k && k->id == id && k->offset == offset ? k : NULL;
}

/* The place of a text in our own strings. */
static u32 intern(struct name_cache *n, const char *text)
{
    size_t len = strlen(text) + 1;
    if (!n->strings.len)
        buf_char(&n->strings, 0); /* place 0 is "" */
    if (len == 1)
        return 0;
    u64 *at = map_put(&n->string_of, hash_bytes(text, len, 0));
    if (at && *at && !strcmp(n->strings.data + *at - 1, text))
        return (u32)*at - 1;
    u32 place = (u32)n->strings.len;
    buf_add(&n->strings, text, len);
    if (at && !n->strings.failed)
        *at = (u64)place + 1;
    return n->strings.failed ? 0 : place;
}

struct lesson {
    struct name_cache *named;
    const struct name_cache_query *question;
    const u64 *offsets; /* those that were asked for */
    size_t n;
};

static void learn(void *arg, const struct names *names)
{
    const struct lesson *l = arg;
    struct name_cache *n = l->named;
    for (u32 i = 0; i < names->n && i < l->n; i++) {
        u32 count = names->first[i + 1] - names->first[i];
        u64 key = key_of(l->question->id, l->offsets[i]), *at = map_put(&n->by_key, key);
        struct known *k = at && !VEC_RESERVE(&n->frames, n->frames.n + count) ? VEC_PUSH(&n->known) : NULL;
        if (!k)
            return;
        *k = (struct known){key, l->offsets[i], l->question->id, (u32)n->frames.n, count};
        *at = n->known.n;
        for (u32 f = 0; f < count; f++) {
            struct names_frame frame = names->frames[names->first[i] + f];
            frame.name = intern(n, names->strings + frame.name);
            frame.system_name = intern(n, names->strings + frame.system_name);
            frame.file = intern(n, names->strings + frame.file);
            n->frames.v[n->frames.n++] = frame;
        }
    }
}

/* Asks for what is not known. */
static int ask_rest(struct name_cache *n, const struct name_cache_query *q)
{
    AUTO_FREE u64 *rest = calloc(q->n + 1, sizeof(*rest));
    size_t nrest = 0;
    if (!rest)
        return -ENOMEM;
    for (size_t i = 0; i < q->n; i++)
        if (!find(n, q->id, q->offsets[i]))
            rest[nrest++] = q->offsets[i];
    n->hits += q->n - nrest;
    struct lesson l = {n, q, rest, nrest};
    return nrest ? q->ask(q->ctx, q->id, rest, nrest, learn, &l) : 0;
}

int name_cache_answer(struct name_cache *n, const struct name_cache_query *q)
{
    if (bytes(n) > n->max_bytes)
        forget(n);
    int rc = ask_rest(n, q);
    AUTO_FREE u32 *first = calloc(q->n + 1, sizeof(*first));
    VEC(struct names_frame) frames = {0};
    if (!rc && (!first || n->strings.failed))
        rc = -ENOMEM;
    for (size_t i = 0; i < q->n && !rc; i++) {
        const struct known *k = find(n, q->id, q->offsets[i]);
        if (!k || VEC_RESERVE(&frames, frames.n + k->n))
            rc = -ENOMEM;
        for (u32 f = 0; !rc && f < k->n; f++)
            frames.v[frames.n++] = n->frames.v[k->first + f];
        first[i + 1] = (u32)frames.n;
    }
    struct names view = {first, frames.v, n->strings.data ? n->strings.data : "", (u32)q->n};
    if (!rc)
        q->use(q->arg, &view);
    if (rc == -ENOMEM)
        forget(n);
    vec_free(&frames);
    return rc;
}
