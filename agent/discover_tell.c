/* What follows from what is known, told to the two that have to know: the kernel side (wants) and the publisher
 * (identities). Both are told of a change only.
 */
#include "discover_internal.h"
#include "base/hash.h"
#include <string.h>

static u64 identity_hash(const struct identity *i)
{
    u64 flags = i->by_program | i->unwanted << 1 | i->pending << 2 | i->by_rule << 3;
    return hash_u64(labels_hash(&i->labels) ^ hash_u64(flags + 1));
}

struct told *tell_row(struct discover *d, u64 cgroup, bool make)
{
    u64 *at = make ? map_put(&d->told_by_cgroup, cgroup) : map_get(&d->told_by_cgroup, cgroup);
    if (!at || (!*at && !make))
        return NULL;
    if (!*at) {
        struct told *t = VEC_PUSH(&d->told);
        if (!t)
            return NULL;
        *t = (struct told){.cgroup = cgroup, .used = true};
        *at = d->told.n;
    }
    return &d->told.v[*at - 1];
}

static void tell_kernel(struct discover *d, struct told *t, const struct verdict *v)
{
    if (v->own && (!t->own || t->want != v->want)) {
        int rc = agent_want(d->config.agent, t->cgroup, v->want);
        d->wants_refused += rc != 0;
        t->own = !rc; /* else it is tried again at the next look */
        t->want = v->want;
    } else if (!v->own && t->own) {
        agent_unwant(d->config.agent, t->cgroup);
        t->own = false;
    }
}

static void tell_publisher(struct discover *d, struct told *t, struct verdict *v)
{
    u64 hash = v->identity ? identity_hash(v->identity) : 0;
    if (hash == t->identity || !hash)
        return;
    if (t->named && v->identity->pending) /* its pod is gone, but not its last samples: it keeps its name */
        return;
    bool named = !v->identity->pending;
    if (!publisher_know(d->config.publisher, v->identity)) {
        v->identity = NULL;
        t->identity = hash;
        t->named = named;
    }
}

/* The verdict on `c`, told of a cgroup: its own, or one below it, which has no want of its own. */
void tell_verdict(struct discover *d, const struct container *c, struct told *t)
{
    struct verdict v;
    if (world_judge(&d->world, c, &v))
        return;
    v.own &= !t->of;
    if (v.identity)
        v.identity->cgroup = t->cgroup;
    tell_kernel(d, t, &v);
    tell_publisher(d, t, &v);
    verdict_free(&v);
}

void tell_of(struct discover *d, const struct container *c)
{
    struct told *t = tell_row(d, c->cgroup, true);
    if (t)
        tell_verdict(d, c, t);
    for (size_t i = 0; d->followers && i < d->told.n; i++)
        if (d->told.v[i].used && d->told.v[i].of == c->cgroup)
            tell_verdict(d, c, &d->told.v[i]);
}

/* The host's: not in the registry. */
void tell_host(struct discover *d, struct told *t)
{
    static char nothing[1];
    struct container c = {
        .cgroup = t->cgroup, .path = nothing, .name = nothing, .image = nothing, .pod = nothing, .namespace_ = nothing};
    t->nobody = true;
    tell_verdict(d, &c, t);
}

static bool judge_each(void *ctx, const struct container *c)
{
    tell_of(ctx, c);
    return true;
}

void tell_all(struct discover *d)
{
    containers_all(d->containers, judge_each, d);
    for (size_t i = 0; i < d->told.n; i++)
        if (d->told.v[i].used && d->told.v[i].nobody)
            tell_host(d, &d->told.v[i]);
}

struct pod_search {
    struct discover *d;
    const char *uid;
};

static bool judge_if_in_pod(void *ctx, const struct container *c)
{
    const struct pod_search *s = ctx;
    if (!strcmp(c->is.pod, s->uid))
        tell_of(s->d, c);
    return true;
}

void tell_pod(struct discover *d, const char *runtime_uid)
{
    struct pod_search s = {d, runtime_uid};
    containers_all(d->containers, judge_if_in_pod, &s);
}

static void compact_told(struct discover *d)
{
    size_t kept = 0;
    map_free(&d->told_by_cgroup);
    for (size_t i = 0; i < d->told.n; i++) {
        u64 *at = d->told.v[i].used ? map_put(&d->told_by_cgroup, d->told.v[i].cgroup) : NULL;
        if (!at)
            continue;
        d->told.v[kept++] = d->told.v[i];
        *at = kept;
    }
    d->told.n = kept;
    d->told_unused = 0;
}

void tell_gone(struct discover *d, u64 cgroup)
{
    struct told *t = tell_row(d, cgroup, false);
    if (!t)
        return;
    if (t->own)
        agent_unwant(d->config.agent, cgroup);
    struct identity *gone = t->identity ? calloc(1, sizeof(*gone)) : NULL;
    if (gone) {
        gone->cgroup = cgroup;
        gone->gone = true;
        if (publisher_know(d->config.publisher, gone))
            identity_free(&gone); /* it is remembered a little longer than needed */
    }
    d->followers -= t->of != 0;
    t->used = false;
    if (++d->told_unused > d->told.n / 2 + 64)
        compact_told(d);
}
