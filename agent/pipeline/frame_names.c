#include "pipeline/frame_names.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/shares.h"
#include "profile/name_set.h"
#include "runtime/kinds.h"
#include <errno.h>
#include <stdlib.h>

#define BYTES_MAX     (32u << 20) /* of an interval; a text may be as long as a process wants */
#define OWNER_MAX     (8u << 20)  /* of these, of a cgroup: each is copied several times until it is published */
#define PROCESSES_MAX (1u << 16)

struct frame_names {
    struct name_set young, old; /* of this interval, and of the one before */
    struct map ids;             /* hash of a process -> its number in the sets */
    struct map owners;          /* hash of a process -> its cgroup */
    struct shares shares;       /* of bytes in the young set */
    bool share;
    u32 next;
    struct frame_names_stats stats;
};

int frame_names_new(struct frame_names **out, bool share)
{
    struct frame_names *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->share = share;
    r->shares.limit = BYTES_MAX;
    *out = r;
    return 0;
}

void frame_names_free(struct frame_names **rr)
{
    struct frame_names *r = *rr;
    if (!r)
        return;
    name_set_free(&r->young);
    name_set_free(&r->old);
    map_free(&r->ids);
    map_free(&r->owners);
    shares_free(&r->shares);
    free(r);
    *rr = NULL;
}

/* A process has one number as long as it is known; 0: there is no memory. */
static u32 id_of(struct frame_names *r, u32 tgid, u64 start)
{
    if (r->ids.n >= PROCESSES_MAX) {
        map_free(&r->ids);
        map_free(&r->owners);
    }
    u64 *id = map_put(&r->ids, hash_process(tgid, start));
    if (id && !*id)
        *id = ++r->next;
    return id ? (u32)*id : 0;
}

/* Whose share the names of a process count against. */
static u64 owner_of(const struct frame_names *r, u32 tgid, u64 start)
{
    const u64 *owner = r->share ? map_get(&r->owners, hash_process(tgid, start)) : NULL;
    return owner ? *owner : SHARES_ALL;
}

static u64 place_of(const u64 *words)
{
    return hash_u64(words[0] ^ hash_u64(words[1]));
}

/* Returns what is known of a place; `from` (unless NULL): the set that it is in. */
static const struct named_place *find(const struct frame_names *r, u32 id, u64 place, const struct name_set **from)
{
    const struct named_place *p = name_set_find(&r->young, id, place);
    const struct name_set *in = p ? &r->young : &r->old;
    if (from)
        *from = in;
    return p ? p : name_set_find(in, id, place);
}

static void reset_young(struct frame_names *r)
{
    name_set_free(&r->young);
    shares_free(&r->shares);
}

static bool take(struct frame_names *r, u64 owner, u64 cost)
{
    return (owner == SHARES_ALL || shares_held(&r->shares, owner) + cost <= OWNER_MAX) &&
           shares_take(&r->shares, owner, cost);
}

/* Adds a place to the young set. */
static void put(struct frame_names *r, u64 owner, u32 id, u64 place, const struct names_frame *frames, u32 n,
                const char *strings)
{
    if (name_set_find(&r->young, id, place))
        return;
    if (!take(r, owner, name_set_cost(&r->young, frames, n, strings))) {
        r->stats.lost++;
        return;
    }
    if (name_set_add(&r->young, id, place, frames, n, strings))
        reset_young(r);
}

static u32 know(struct frame_names *r, u32 tgid, u64 start, u64 cgroup)
{
    u32 id = id_of(r, tgid, start);
    u64 *owner = id ? map_put(&r->owners, hash_process(tgid, start)) : NULL;
    if (owner)
        *owner = cgroup;
    return owner ? id : 0;
}

/* ---- Code that may be gone ---- */

#define CODE_SALT 0x436f6465u /* no frame has such a place */

static u64 place_of_code(u64 word, u64 more)
{
    return hash_u64(CODE_SALT ^ (word & ~XP_WORD_EXACT) ^ hash_u64(XP_MORE_COOKIE(more)));
}

static bool is_plain(const char *text, u32 len, u32 room)
{
    for (u32 i = 0; i < len && i < room; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return len <= room;
}

void frame_names_code(struct frame_names *r, const struct xp_code_event *e)
{
    char strings[1 + XP_CODE_NAME + 1 + XP_CODE_FILE + 1] = {0};
    u32 id = know(r, e->tgid, e->start, e->cgroup), file = 1 + e->name_len + 1;
    if (!id || !e->name_len || !is_plain(e->name, e->name_len, XP_CODE_NAME))
        return;
    memcpy(strings + 1, e->name, e->name_len);
    struct names_frame f = {.start = RUNTIME_INTERPRETED, .name = 1, .system_name = 1};
    if (e->file_len && is_plain(e->file, e->file_len, XP_CODE_FILE)) {
        memcpy(strings + file, e->file, e->file_len);
        f.file = file;
    }
    put(r, r->share ? e->cgroup : SHARES_ALL, id, place_of_code(e->word, e->more), &f, 1, strings);
}

/* ---- Frames ---- */

void frame_names_add(struct frame_names *r, u32 tgid, u64 start, u64 cgroup, const u64 *words, size_t n,
                     const struct names *names)
{
    u32 id = know(r, tgid, start, cgroup);
    for (size_t i = 0; i < n && i < names->n; i++) {
        u32 first = names->first[i], count = names->first[i + 1] - first;
        bool gone = count && names->frames[first].start == RUNTIME_GONE;
        if (gone && id && find(r, id, place_of_code(words[2 * i], words[2 * i + 1]), NULL)) {
            r->stats.named++;
            continue;
        }
        r->stats.gone += gone;
        r->stats.named += count && !gone;
        if (id)
            put(r, r->share ? cgroup : SHARES_ALL, id, place_of(words + 2 * i), names->frames + first, count,
                names->strings);
    }
}

/* Appends the frames of a place, which stays for the next interval, in the share of its owner. */
static int append(struct frame_names *r, u64 owner, u32 id, const u64 *words, struct name_set *to)
{
    u64 place = place_of(words), known = place;
    const struct name_set *from;
    const struct named_place *p = find(r, id, known, &from);
    if (!p && XP_WORD_KIND(words[0]) == XP_WORD_SCRIPT) {
        known = place_of_code(words[0], words[1]);
        p = find(r, id, known, &from);
    }
    if (!p)
        return 0;
    if (from == &r->old)
        put(r, owner, id, known, from->frames.v + p->first, p->n, from->strings.data);
    return name_set_find(to, id, place)
               ? 0
               : name_set_add(to, id, place, from->frames.v + p->first, p->n, from->strings.data);
}

static int tell(const struct name_set *set, u32 id, const u64 *words, size_t n,
                void (*use)(void *arg, const struct names *names), void *arg)
{
    AUTO_FREE u32 *first = calloc(n + 1, sizeof(*first));
    VEC(struct names_frame) frames = {0};
    int rc = first ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        const struct named_place *p = name_set_find(set, id, place_of(words + 2 * i));
        if (p && VEC_RESERVE(&frames, frames.n + p->n))
            rc = -ENOMEM;
        for (u32 f = 0; p && !rc && f < p->n; f++)
            frames.v[frames.n++] = set->frames.v[p->first + f];
        first[i + 1] = (u32)frames.n;
    }
    struct names view = {first, frames.v, set->strings.data ? set->strings.data : "", (u32)n};
    if (!rc)
        use(arg, &view);
    vec_free(&frames);
    return rc;
}

int frame_names_answer(struct frame_names *r, u32 tgid, u64 start, const u64 *words, size_t n,
                       void (*use)(void *arg, const struct names *names), void *arg)
{
    struct name_set own = {0};
    u32 id = id_of(r, tgid, start);
    u64 owner = owner_of(r, tgid, start);
    int rc = id ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && !rc; i++)
        rc = append(r, owner, id, words + 2 * i, &own);
    if (!rc)
        rc = tell(&own, id, words, n, use, arg);
    name_set_free(&own);
    return rc;
}

void frame_names_age(struct frame_names *r)
{
    name_set_free(&r->old);
    r->old = r->young;
    r->young = (struct name_set){0};
    shares_free(&r->shares);
}

struct frame_names_stats frame_names_stats(const struct frame_names *r)
{
    return r->stats;
}
