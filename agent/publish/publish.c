#include "publish/publish_internal.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/queue.h"
#include "kube/policy.h"
#include "profile/subset.h"
#include <errno.h>
#include <string.h>

#define QUEUE_IDENTITIES 32768
#define MAX_WAITING      256
#define MAX_ROUNDS       3 /* intervals that a part waits for a name */
#define GONE_ROUNDS      6 /* intervals that a removed cgroup is remembered */

void identity_free(struct identity **i)
{
    if (!*i)
        return;
    labels_free(&(*i)->labels);
    free(TAKE_PTR(*i));
}

static void rule_set_free(struct rule_set *s)
{
    for (size_t i = 0; s && i < s->n; i++) {
        free(s->v[i].comm);
        labels_free(&s->v[i].labels);
    }
    free(s);
}

int publisher_new(struct publisher **out, const struct publisher_config *config)
{
    struct publisher *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->config = *config;
    if (queue_new(&p->news, QUEUE_IDENTITIES) || (config->every && labels_copy(&p->every, config->every))) {
        publisher_free(&p);
        return -ENOMEM;
    }
    *out = p;
    return 0;
}

void publisher_free(struct publisher **pp)
{
    struct publisher *p = *pp;
    if (!p)
        return;
    for (struct identity *i; p->news && (i = queue_get(p->news, 0));)
        identity_free(&i);
    queue_free(&p->news);
    for (size_t i = 0; i < p->known.n; i++)
        identity_free(&p->known.v[i].identity);
    for (size_t i = 0; i < p->waiting.n; i++)
        profile_free(&p->waiting.v[i].profile);
    vec_free(&p->known);
    vec_free(&p->waiting);
    map_free(&p->by_cgroup);
    labels_free(&p->every);
    rule_set_free(p->rules);
    rule_set_free(p->next_rules);
    free(p);
    *pp = NULL;
}

/* ---- Who is who ---------------------------------------------------------------------------------------------------
 */

int publisher_know(struct publisher *p, struct identity *i)
{
    return queue_put(p->news, i);
}

int publisher_set_rules(struct publisher *p, const struct process_rule *rules, size_t n)
{
    struct rule_set *s = calloc(1, sizeof(*s) + n * sizeof(s->v[0]));
    bool failed = !s;
    for (size_t i = 0; i < n && !failed; i++) {
        s->n = i + 1;
        s->v[i].pid = rules[i].pid;
        s->v[i].comm = rules[i].comm ? strdup(rules[i].comm) : NULL;
        failed = (rules[i].comm && !s->v[i].comm) || labels_copy(&s->v[i].labels, rules[i].labels);
    }
    if (failed) {
        rule_set_free(s);
        return -ENOMEM;
    }
    rule_set_free(__atomic_exchange_n(&p->next_rules, s, __ATOMIC_ACQ_REL));
    return 0;
}

static void take_rules(struct publisher *p)
{
    struct rule_set *s = __atomic_exchange_n(&p->next_rules, NULL, __ATOMIC_ACQ_REL);
    if (!s)
        return;
    rule_set_free(p->rules);
    p->rules = s;
}

static const struct own_rule *rule_of(const struct publisher *p, const struct profile *all,
                                      const struct prof_process *who)
{
    for (size_t i = 0; p->rules && i < p->rules->n; i++) {
        const struct own_rule *r = &p->rules->v[i];
        if ((!r->pid || r->pid == who->tgid) && (!r->comm || policy_glob(r->comm, profile_text(all, who->name))))
            return r;
    }
    return NULL;
}

static void learn(struct publisher *p, struct identity *i)
{
    u64 *at = map_put(&p->by_cgroup, i->cgroup);
    struct known *k = at && *at ? &p->known.v[*at - 1] : at ? VEC_PUSH(&p->known) : NULL;
    if (!k) {
        identity_free(&i);
        return;
    }
    if (i->gone) { /* its name stays for samples on their way */
        if (*at)
            k->identity->gone = true;
        else
            p->known.n--;
        identity_free(&i);
        return;
    }
    if (*at)
        identity_free(&k->identity);
    *at = (u64)(k - p->known.v) + 1;
    *k = (struct known){.identity = i};
}

/* Cgroups that are long gone leave; ids are never used again, so there is no hurry. */
static void forget_gone(struct publisher *p)
{
    size_t kept = 0, n = p->known.n;
    for (size_t i = 0; i < n; i++) {
        struct known *k = &p->known.v[i];
        if (k->identity->gone && ++k->gone_for > GONE_ROUNDS)
            identity_free(&k->identity);
        else
            p->known.v[kept++] = *k;
    }
    p->known.n = kept;
    if (kept == n)
        return;
    map_free(&p->by_cgroup);
    for (size_t i = 0; i < kept; i++) {
        u64 *at = map_put(&p->by_cgroup, p->known.v[i].identity->cgroup);
        if (at)
            *at = i + 1;
    }
}

static const struct identity *identity_of(const struct publisher *p, u64 cgroup)
{
    const u64 *at = map_get(&p->by_cgroup, cgroup);
    return at && *at ? p->known.v[*at - 1].identity : NULL;
}

/* ---- Taking an interval apart -------------------------------------------------------------------------------------
 */

static u64 key_of(const struct identity *i, const struct own_rule *rule, const struct prof_process *who)
{
    bool alone = !i || i->pending || i->unwanted; /* labels do not tell such groups apart: theirs may be empty */
    u64 key = alone ? hash_u64(who->cgroup ^ 0x756e6b6e6f776eull) : labels_hash(&i->labels);
    if (rule)
        key = hash_u64(key ^ (uintptr_t)rule);
    if (i && i->by_rule)
        key ^= 1; /* not together with one of the same labels that is wanted */
    return i && i->by_program ? hash_u64(key ^ hash_u64(who->name)) : key;
}

static struct group *group_of(group_list *groups, struct map *index, u64 key)
{
    u64 *at = map_put(index, key);
    struct group *g = at && *at ? &groups->v[*at - 1] : at ? VEC_PUSH(groups) : NULL;
    if (g && !*at) {
        *g = (struct group){.key = key};
        *at = groups->n;
    }
    return g;
}

static bool same_labels(const struct identity *a, const struct identity *b)
{
    return a == b || (a && b && !labels_compare(&a->labels, &b->labels));
}

/* The group that a process's stacks belong to; NULL without memory. Whoever chooses his labels can make them hash like
 * another's: those are told apart. */
static struct group *group_of_process(struct publisher *p, const struct profile *all, u32 process, group_list *groups,
                                      struct map *index)
{
    const struct prof_process *who = &all->processes.v[process];
    const struct identity *identity = identity_of(p, who->cgroup);
    const struct own_rule *rule = rule_of(p, all, who);
    u64 key = key_of(identity, rule, who);
    struct group *g;
    while ((g = group_of(groups, index, key)) && g->stacks.n && !same_labels(g->identity, identity))
        key = hash_u64(key ^ who->cgroup);
    if (!g)
        return NULL;
    g->program = process;
    g->cgroup = who->cgroup;
    g->identity = identity;
    g->rule = rule;
    return g;
}

static void sort_stacks(struct publisher *p, const struct profile *all, group_list *groups)
{
    struct map index = {0};
    for (u32 i = 0; i < all->stacks.n; i++) {
        struct group *g = group_of_process(p, all, all->stacks.v[i].process, groups, &index);
        u32 *row = g ? VEC_PUSH(&g->stacks) : NULL;
        if (row)
            *row = i;
        else
            publish_count(&p->stats.refused, stack_count(&all->stacks.v[i]));
    }
    map_free(&index);
}

static bool put_event_aside(struct publisher *p, const struct profile *all, const struct group *g, u32 rounds, size_t e)
{
    struct subset s = {.stacks = g->stacks.v, .n = g->stacks.n, .event = e};
    struct part part = {.cgroup = g->cgroup, .rounds = rounds};
    if (p->waiting.n >= MAX_WAITING || profile_init(&part.profile))
        return false;
    bool done = !profile_subset(all, &s, &part.profile);
    struct part *place = done && part.profile.stacks.n ? VEC_PUSH(&p->waiting) : NULL;
    if (place)
        *place = part;
    else {
        done &= !part.profile.stacks.n;
        profile_free(&part.profile);
    }
    return done;
}

/* Keeps a copy of the group's stacks for later, of all events or of none. False: no room. */
static bool put_aside(struct publisher *p, const struct profile *all, const struct group *g, u32 rounds)
{
    size_t before = p->waiting.n, e = 0;
    while (e < all->nevents && put_event_aside(p, all, g, rounds, e))
        e++;
    while (e < all->nevents && p->waiting.n > before)
        profile_free(&p->waiting.v[--p->waiting.n].profile);
    return e == all->nevents;
}

static u64 samples_of_group(const struct profile *all, const struct group *g)
{
    u64 n = 0;
    for (size_t i = 0; i < g->stacks.n; i++)
        n += stack_count(&all->stacks.v[g->stacks.v[i]]);
    return n;
}

/* A group of an interval, or of what has waited for `rounds` of them. */
static void deliver(struct publisher *p, const struct profile *all, const struct group *g, u32 rounds)
{
    const struct identity *i = g->identity;
    if (i && (i->unwanted || (i->by_rule && !g->rule))) {
        publish_count(&p->stats.unwanted, samples_of_group(all, g));
        return;
    }
    if (!i && p->config.unknown)
        p->config.unknown(p->config.ctx, g->cgroup, all->processes.v[g->program].tgid);
    if ((!i || i->pending) && rounds < MAX_ROUNDS && put_aside(p, all, g, rounds + 1))
        return;
    if (!i)
        publish_count(&p->stats.unknown, samples_of_group(all, g));
    for (size_t e = 0; e < all->nevents; e++)
        publish_group(p, all, g, e);
}

static void publish(struct publisher *p, const struct profile *all, u32 rounds)
{
    group_list groups = {0};
    sort_stacks(p, all, &groups);
    for (size_t i = 0; i < groups.n; i++) {
        publish_programs(all, &groups.v[i]);
        deliver(p, all, &groups.v[i], rounds);
        vec_free(&groups.v[i].stacks);
    }
    vec_free(&groups);
}

/* Everything that waits gets another chance; what is not known after `most` rounds goes out as it is. */
static void publish_waiting(struct publisher *p, u32 most)
{
    __typeof__(p->waiting) old = p->waiting;
    memset(&p->waiting, 0, sizeof(p->waiting));
    for (size_t i = 0; i < old.n; i++) {
        publish(p, &old.v[i].profile, old.v[i].rounds > most ? MAX_ROUNDS : old.v[i].rounds);
        profile_free(&old.v[i].profile);
    }
    vec_free(&old);
}

static void learn_all(struct publisher *p)
{
    for (struct identity *i; (i = queue_get(p->news, 0));)
        learn(p, i);
}

void publisher_publish(struct publisher *p, const struct profile *interval)
{
    learn_all(p);
    take_rules(p);
    publish_waiting(p, MAX_ROUNDS);
    publish(p, interval, 0);
    forget_gone(p);
    __atomic_store_n(&p->stats.waiting, p->waiting.n, __ATOMIC_RELAXED);
}

void publisher_flush(struct publisher *p)
{
    learn_all(p);
    publish_waiting(p, 0);
}

void publisher_stats(const struct publisher *p, struct publisher_stats *out)
{
    const u64 *from = (const u64 *)&p->stats;
    u64 *to = (u64 *)out;
    for (size_t i = 0; i < sizeof(*out) / sizeof(u64); i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}
