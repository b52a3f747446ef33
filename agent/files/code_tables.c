#include "files/code_tables.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/shares.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

struct known { /* a mapping */
    struct xp_region_key key;
    u64 end, hash; /* of its image */
    u64 owner;     /* whose share it counts against */
    u64 since_ns;  /* monotonic: it was not known before */
    struct probe_table place;
    struct xp_file value;
};
struct process {
    struct code_owner who;
    VEC(struct known) list;
};
struct code_tables {
    struct probe *probe;
    VEC(struct process) list;
    struct shares shares; /* of XP_MAX_REGIONS */
    bool share, starved;
    u64 loaded, refused;
};

int code_tables_new(struct code_tables **out, struct probe *probe, bool share)
{
    struct code_tables *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    *t = (struct code_tables){.probe = probe, .share = share, .shares = {.limit = XP_MAX_REGIONS}};
    *out = t;
    return 0;
}

void code_tables_free(struct code_tables **tt)
{
    struct code_tables *t = *tt;
    if (!t)
        return;
    for (size_t i = 0; i < t->list.n; i++)
        vec_free(&t->list.v[i].list);
    vec_free(&t->list);
    shares_free(&t->shares);
    free(t);
    *tt = NULL;
}

static u64 owner_of(const struct code_tables *t, const struct code_owner *who)
{
    return t->share ? who->cgroup : SHARES_ALL;
}

static struct process *find_process(const struct code_tables *t, u32 tgid, u64 start)
{
    for (size_t i = 0; i < t->list.n; i++)
        if (t->list.v[i].who.tgid == tgid && t->list.v[i].who.start == start)
            return &t->list.v[i];
    return NULL;
}

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

static void give_up(struct code_tables *t, struct known *k)
{
    probe_forget_region(t->probe, &k->key);
    probe_table_free(t->probe, &k->place);
    shares_give(&t->shares, k->owner, 1);
}

static u64 hash_of(const struct generated_region *r)
{
    return r->image->checksum ^ hash_u64(r->image->lo + r->image->nblocks);
}

static bool is_same(const struct known *k, const struct code_owner *who, const struct generated_region *r)
{
    return k->key.stack == who->stack && k->key.start == r->start && k->end == r->end && k->hash == hash_of(r);
}

/* Takes over the table that the mapping has already. */
static bool keep(struct process *old, const struct code_owner *who, const struct generated_region *r, struct known *out)
{
    for (size_t i = 0; i < old->list.n; i++) {
        if (!is_same(&old->list.v[i], who, r))
            continue;
        *out = old->list.v[i];
        old->list.v[i] = old->list.v[--old->list.n];
        return true;
    }
    return false;
}

/* Publishes a table. False: there is no room. */
static bool load(struct code_tables *t, const struct code_owner *who, const struct generated_region *r,
                 struct known *out)
{
    u64 owner = owner_of(t, who);
    struct known k = {.end = r->end, .hash = hash_of(r), .owner = owner, .since_ns = now_ns()};
    k.place.flags = r->image->flags;
    k.key = (struct xp_region_key){.process = who->start, .stack = who->stack, .start = r->start, .tgid = who->tgid};
    bool room = shares_take(&t->shares, owner, 1),
         loaded = room && !probe_table_load(t->probe, owner, r->image, &k.place);
    if (loaded && !probe_publish_region(t->probe, &k.key, &k.place, &k.value)) {
        *out = k;
        return true;
    }
    if (loaded)
        probe_table_free(t->probe, &k.place);
    shares_give(&t->shares, owner, room);
    t->starved = true;
    return false;
}

static struct process *process_of(struct code_tables *t, const struct code_owner *who)
{
    struct process *p = find_process(t, who->tgid, who->start);
    if (!p && (p = VEC_PUSH(&t->list)))
        *p = (struct process){.who = *who};
    return p;
}

/* What is gone is forgotten before another table is published under its key. */
void code_tables_put(struct code_tables *t, const struct code_owner *who, const struct generated *code)
{
    struct process *p = process_of(t, who), fresh = {.who = *who};
    size_t kept = 0;
    if (!p || VEC_RESERVE(&fresh.list, code->nregions + 1))
        return;
    for (size_t i = 0; i < code->nregions; i++)
        kept += keep(p, who, &code->regions[i], &fresh.list.v[kept]);
    fresh.list.n = kept;
    size_t gone = p->list.n;
    for (size_t i = 0; i < gone; i++)
        give_up(t, &p->list.v[i]);
    p->list.n = 0;
    for (size_t i = 0; i < code->nregions; i++) {
        const struct generated_region *r = &code->regions[i];
        bool known = false;
        for (size_t k = 0; k < kept && !known; k++)
            known = fresh.list.v[k].key.start == r->start;
        if (known)
            continue;
        if (load(t, who, r, &fresh.list.v[fresh.list.n]))
            fresh.list.n++;
        else
            t->refused++;
    }
    t->loaded += fresh.list.n - kept;
    if (gone || fresh.list.n > kept)
        probe_files_changed(t->probe);
    vec_free(&p->list);
    *p = fresh;
}

static void give_up_all(struct code_tables *t, struct process *p)
{
    for (size_t k = 0; k < p->list.n; k++)
        give_up(t, &p->list.v[k]);
    vec_free(&p->list);
}

/* Gives up the processes for which `goes` is true. */
static void give_up_some(struct code_tables *t, bool (*goes)(const struct code_tables *t, const struct process *p))
{
    size_t kept = 0;
    for (size_t i = 0; i < t->list.n; i++) {
        struct process *p = &t->list.v[i];
        if (goes(t, p))
            give_up_all(t, p);
        else
            t->list.v[kept++] = *p;
    }
    if (kept < t->list.n)
        probe_files_changed(t->probe);
    t->list.n = kept;
}

static bool has_ended(const struct code_tables *t, const struct process *p)
{
    return kill((pid_t)p->who.tgid, 0) && errno == ESRCH;
}

static bool is_over_share(const struct code_tables *t, const struct process *p)
{
    u64 owner = owner_of(t, &p->who);
    return shares_over(&t->shares, owner) || probe_over_share(t->probe, owner);
}

void code_tables_age(struct code_tables *t)
{
    give_up_some(t, has_ended);
}

void code_tables_make_room(struct code_tables *t)
{
    t->starved = false;
    give_up_some(t, is_over_share);
}

bool code_tables_starved(const struct code_tables *t)
{
    return t->starved;
}

const struct xp_file *code_tables_find(const struct code_tables *t, u32 tgid, u64 process_start, u64 start, u64 time_ns)
{
    const struct process *p = find_process(t, tgid, process_start);
    for (size_t i = 0; p && i < p->list.n; i++)
        if (p->list.v[i].key.start == start && p->list.v[i].since_ns <= time_ns)
            return &p->list.v[i].value;
    return NULL;
}

struct code_tables_stats code_tables_stats(const struct code_tables *t)
{
    struct code_tables_stats s = {.processes = t->list.n, .loaded = t->loaded, .refused = t->refused};
    for (size_t i = 0; i < t->list.n; i++)
        s.regions += t->list.v[i].list.n;
    return s;
}
