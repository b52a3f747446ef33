/* What follows from what is known, told to the two that have to know: the kernel side (wants) and the publisher
 * (identities). Both are told of a change only; what has no room with them is told again.
 */
#include "discover/discover_internal.h"
#include "base/clock.h"
#include "base/hash.h"
#include <string.h>

#define SAY_AGAIN_NS NS_PER_SEC
#define SWEEP_NS     (60 * NS_PER_SEC)

static u64 identity_hash(const struct identity *i)
{
    u64 flags = i->by_program | i->unwanted << 1 | i->pending << 2 | i->by_rule << 3;
    return hash_u64(labels_hash(&i->labels) ^ hash_u64(flags + 1));
}

struct notified *notify_row(struct discover *d, u64 cgroup, bool make)
{
    u64 *at = make ? map_put(&d->notified_by_cgroup, cgroup) : map_get(&d->notified_by_cgroup, cgroup);
    struct notified *t = at && *at ? &d->notified.v[*at - 1] : NULL;
    if (!at || !make)
        return t && t->used ? t : NULL;
    if (t && t->used)
        return t;
    d->notified_unused -= t != NULL; /* an id that came back before its row was cleared away */
    t = t ? t : VEC_PUSH(&d->notified);
    if (!t)
        return NULL;
    *t = (struct notified){.cgroup = cgroup, .used = true};
    *at = (u64)(t - d->notified.v) + 1;
    return t;
}

static void say_again(struct discover *d, struct notified *t)
{
    t->unsaid = true;
    d->unsaid = true;
}

/* One that is refused leaves the kernel side with what it had. */
static void set_want(struct discover *d, struct notified *t, u64 want)
{
    const struct discover_sampler *s = &d->config.sampler;
    if (parts_tell(&d->parts, XP_WANT_PARTS_ROW(want), s->set_parts, s->ctx) || s->want(s->ctx, t->cgroup, want)) {
        d->wants_refused++;
        say_again(d, t);
        return;
    }
    t->own = true;
    t->want = want;
}

static void notify_kernel(struct discover *d, struct notified *t, const struct verdict *v)
{
    if (v->own && (!t->own || t->want != v->want)) {
        set_want(d, t, v->want);
    } else if (!v->own && t->own) {
        d->config.sampler.unwant(d->config.sampler.ctx, t->cgroup);
        t->own = false;
    }
}

static void notify_publisher(struct discover *d, struct notified *t, struct verdict *v)
{
    u64 hash = v->identity ? identity_hash(v->identity) : 0;
    if (hash == t->identity || !hash)
        return;
    if (t->named && v->identity->pending) /* its pod is gone, but not its last samples: it keeps its name */
        return;
    bool named = !v->identity->pending;
    if (publisher_know(d->config.publisher, v->identity)) {
        say_again(d, t);
        return;
    }
    v->identity = NULL;
    t->identity = hash;
    t->named = named;
}

/* The verdict on `c`, told of a cgroup: its own, or one below it, which has no want of its own. */
void notify_verdict(struct discover *d, const struct container *c, struct notified *t)
{
    struct verdict v;
    d->verdicts++;
    if (inventory_decide(&d->inventory, c, &v))
        return;
    t->gone = false;                 /* a group that has its id back */
    v.own &= !t->of && !c->ended_ns; /* of one that has ended, only what was sampled is still to be named */
    if (v.identity)
        v.identity->cgroup = t->cgroup;
    notify_kernel(d, t, &v);
    notify_publisher(d, t, &v);
    verdict_free(&v);
}

void notify_of(struct discover *d, const struct container *c)
{
    struct notified *t = notify_row(d, c->cgroup, true);
    if (t)
        notify_verdict(d, c, t);
    for (size_t i = 0; d->followers && i < d->notified.n; i++)
        if (d->notified.v[i].used && d->notified.v[i].of == c->cgroup)
            notify_verdict(d, c, &d->notified.v[i]);
}

/* The host's: not in the registry. */
void notify_host(struct discover *d, struct notified *t)
{
    static char nothing[1];
    struct container c = {
        .cgroup = t->cgroup, .path = nothing, .name = nothing, .image = nothing, .pod = nothing, .namespace_ = nothing};
    t->nobody = true;
    notify_verdict(d, &c, t);
}

static bool notify_each(void *ctx, const struct container *c)
{
    notify_of(ctx, c);
    return true;
}

void notify_all(struct discover *d)
{
    parts_begin(&d->parts);
    containers_all(d->containers, notify_each, d);
    for (size_t i = 0; i < d->notified.n; i++)
        if (d->notified.v[i].used && d->notified.v[i].nobody)
            notify_host(d, &d->notified.v[i]);
    parts_end(&d->parts);
}

struct pod_search {
    struct discover *d;
    const char *uid;
};

static bool notify_if_in_pod(void *ctx, const struct container *c)
{
    const struct pod_search *s = ctx;
    if (!strcmp(c->is.pod, s->uid))
        notify_of(s->d, c);
    return true;
}

void notify_pod(struct discover *d, const char *runtime_uid)
{
    struct pod_search s = {d, runtime_uid};
    containers_all(d->containers, notify_if_in_pod, &s);
}

static void compact_notified(struct discover *d)
{
    size_t kept = 0;
    map_free(&d->notified_by_cgroup);
    for (size_t i = 0; i < d->notified.n; i++) {
        u64 *at = d->notified.v[i].used ? map_put(&d->notified_by_cgroup, d->notified.v[i].cgroup) : NULL;
        if (!at)
            continue;
        d->notified.v[kept++] = d->notified.v[i];
        *at = kept;
    }
    d->notified.n = kept;
    d->notified_unused = 0;
}

void notify_fence(struct discover *d, struct notified *t)
{
    t->fence = true;
    set_want(d, t, XP_WANT(0, 1));
}

/* The publisher forgets it; false: it has no room to be told. */
static bool forget(struct discover *d, const struct notified *t)
{
    struct identity *gone = t->identity ? calloc(1, sizeof(*gone)) : NULL;
    if (!gone)
        return !t->identity;
    gone->cgroup = t->cgroup;
    gone->gone = true;
    if (!publisher_know(d->config.publisher, gone))
        return true;
    identity_free(&gone);
    return false;
}

static void drop_row(struct discover *d, struct notified *t)
{
    t->used = false;
    d->notified_unused++;
}

static void end_row(struct discover *d, struct notified *t)
{
    if (t->own)
        d->config.sampler.unwant(d->config.sampler.ctx, t->cgroup);
    d->followers -= t->of != 0;
    t->of = 0;
    t->own = t->nobody = t->fence = t->named = false;
    t->gone = true;
    if (forget(d, t))
        drop_row(d, t);
    else
        say_again(d, t);
}

static void compact_if_due(struct discover *d)
{
    if (d->notified_unused > d->notified.n / 2 + 64)
        compact_notified(d);
}

void notify_gone(struct discover *d, u64 cgroup)
{
    struct notified *t = notify_row(d, cgroup, false);
    if (!t)
        return;
    end_row(d, t);
    compact_if_due(d);
}

static void say_row(struct discover *d, struct notified *t)
{
    t->unsaid = false;
    const struct container *c = containers_find(d->containers, t->of ? t->of : t->cgroup);
    if (t->gone)
        end_row(d, t);
    else if (t->fence)
        notify_fence(d, t);
    else if (t->nobody)
        notify_host(d, t);
    else if (c)
        notify_verdict(d, c, t);
}

/* A group that the registry does not have, and that does not exist any more: the event of its end was lost. */
static bool is_lost(const struct discover *d, const struct notified *t)
{
    return t->used && (t->of || t->nobody || t->fence) && hierarchy_is_gone(d->config.hierarchy, t->cgroup);
}

void notify_due(struct discover *d, u64 now)
{
    if (d->unsaid && now >= d->next_say_ns) {
        d->unsaid = false;
        d->next_say_ns = now + SAY_AGAIN_NS;
        for (size_t i = 0; i < d->notified.n; i++)
            if (d->notified.v[i].used && d->notified.v[i].unsaid)
                say_row(d, &d->notified.v[i]);
    }
    if (now >= d->next_sweep_ns) {
        d->next_sweep_ns = now + SWEEP_NS;
        for (size_t i = 0; i < d->notified.n; i++)
            if (is_lost(d, &d->notified.v[i]))
                end_row(d, &d->notified.v[i]);
    }
    compact_if_due(d);
}
