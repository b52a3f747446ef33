#include "profile/name_cache.h"
#include "base/cleanup.h"
#include "profile/name_set.h"
#include <errno.h>
#include <stdlib.h>

#define PLACE_BYTES 192 /* of a place with its frames and texts, about; bench/named.c */
#define PART        3   /* of the memory is a generation's: what grows has up to 0.7 times as much in reserve */

struct name_cache {
    struct name_set young, old;
    struct shares shares; /* of the young generation */
    bool short_of_room;
    u64 hits;
};

int name_cache_new(struct name_cache **out, size_t max_bytes)
{
    struct name_cache *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    n->shares.limit = max_bytes / PART;
    *out = n;
    return 0;
}

static void forget_young(struct name_cache *n)
{
    name_set_free(&n->young);
    shares_free(&n->shares);
}

void name_cache_free(struct name_cache **n)
{
    if (!*n)
        return;
    forget_young(*n);
    name_set_free(&(*n)->old);
    free(TAKE_PTR(*n));
}

u64 name_cache_hits(const struct name_cache *n)
{
    return n->hits;
}

static void begin_generation(struct name_cache *n)
{
    name_set_free(&n->old);
    n->old = n->young;
    n->young = (struct name_set){0};
    shares_free(&n->shares);
    n->short_of_room = false;
}

void name_cache_age(struct name_cache *n)
{
    if (n->short_of_room || n->shares.used > n->shares.limit / 2)
        begin_generation(n);
}

/* Reserves room in the young generation for the places of a query that are not there. False: there is none. */
static bool reserve(struct name_cache *n, const struct name_cache_query *q, u64 *reserved)
{
    *reserved = 0;
    for (size_t i = 0; i < q->n; i++)
        *reserved += name_set_find(&n->young, q->id, q->offsets[i]) ? 0 : PLACE_BYTES;
    if (shares_take(&n->shares, q->owner, *reserved))
        return true;
    n->short_of_room = true;
    if (q->owner != SHARES_ALL)
        return false;
    begin_generation(n);
    *reserved = q->n * PLACE_BYTES;
    return shares_take(&n->shares, q->owner, *reserved);
}

/* Replaces what was reserved by what was needed, which may be somewhat more than there was room for. */
static void settle(struct name_cache *n, u64 owner, u64 reserved, u64 needed)
{
    shares_give(&n->shares, owner, reserved);
    if (!shares_take(&n->shares, owner, needed))
        shares_take(&n->shares, owner, reserved);
}

struct lesson {
    struct name_set *set;
    u32 id;
    const u64 *offsets; /* those that were asked for */
    size_t n;
    int error;
};

static void learn(void *arg, const struct names *names)
{
    struct lesson *l = arg;
    for (u32 i = 0; i < names->n && i < l->n && !l->error; i++) {
        const struct names_frame *f = names->frames + names->first[i];
        l->error = name_set_add(l->set, l->id, l->offsets[i], f, names->first[i + 1] - names->first[i], names->strings);
    }
}

/* Adds a place of another set. -ENOENT: it is not there. */
static int copy(struct name_set *to, const struct name_set *from, u32 id, u64 offset)
{
    const struct named_place *p = to == from ? NULL : name_set_find(from, id, offset);
    if (!p)
        return -ENOENT;
    return name_set_add(to, id, offset, from->frames.v + p->first, p->n, from->strings.data);
}

/* Has all places of a query in `set`: those that are known, and the others by asking. */
static int gather(struct name_cache *n, const struct name_cache_query *q, struct name_set *set)
{
    AUTO_FREE u64 *rest = calloc(q->n + 1, sizeof(*rest));
    size_t nrest = 0;
    if (!rest)
        return -ENOMEM;
    for (size_t i = 0; i < q->n; i++) {
        if (name_set_find(set, q->id, q->offsets[i]))
            continue;
        int rc = copy(set, &n->young, q->id, q->offsets[i]);
        rc = rc == -ENOENT ? copy(set, &n->old, q->id, q->offsets[i]) : rc;
        if (rc == -ENOENT)
            rest[nrest++] = q->offsets[i];
        else if (rc)
            return rc;
    }
    n->hits += q->n - nrest;
    struct lesson l = {set, q->id, rest, nrest, 0};
    int rc = nrest ? q->ask(q->ctx, q->id, rest, nrest, learn, &l) : 0;
    return rc ? rc : l.error;
}

static int tell(const struct name_set *set, const struct name_cache_query *q)
{
    AUTO_FREE u32 *first = calloc(q->n + 1, sizeof(*first));
    VEC(struct names_frame) frames = {0};
    int rc = first ? 0 : -ENOMEM;
    for (size_t i = 0; i < q->n && !rc; i++) {
        const struct named_place *p = name_set_find(set, q->id, q->offsets[i]);
        if (!p || VEC_RESERVE(&frames, frames.n + p->n))
            rc = -ENOMEM;
        for (u32 f = 0; !rc && f < p->n; f++)
            frames.v[frames.n++] = set->frames.v[p->first + f];
        first[i + 1] = (u32)frames.n;
    }
    struct names view = {first, frames.v, set->strings.data ? set->strings.data : "", (u32)q->n};
    if (!rc)
        q->use(q->arg, &view);
    vec_free(&frames);
    return rc;
}

int name_cache_answer(struct name_cache *n, const struct name_cache_query *q)
{
    struct name_set own = {0}; /* of who has no room */
    u64 reserved;
    bool keeps = !q->passing && reserve(n, q, &reserved);
    struct name_set *set = keeps ? &n->young : &own;
    size_t before = name_set_bytes(set);
    int rc = gather(n, q, set);
    rc = rc ? rc : tell(set, q);
    if (keeps)
        settle(n, q->owner, reserved, name_set_bytes(set) - before);
    name_set_free(&own);
    if (rc == -ENOMEM)
        forget_young(n);
    return rc;
}
