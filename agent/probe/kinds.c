#include "probe/kinds.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "probe/cost.h"
#include "probe/object.h"
#include "probe/places.h"
#include "probe/probe_internal.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

struct kind {
    size_t event;
    bool ended;        /* nobody wants it: it goes once what it has counted is taken */
    bool counts_waits; /* an event of waits has it, besides what the scheduler's programs count */
    struct bpf_object *object;
    struct kind_links links;
    struct cost_cap cap;
    const struct bpf_map *cost; /* NULL: it does not count what it costs */
    const struct bpf_map *sums[2];
    u64 bytes; /* of its own maps */
};
struct kinds {
    VEC(struct kind *) list; /* those that are loaded: each shares maps with the first one */
    u64 seed, common_bytes;
    u32 refused; /* events that could not be loaded, as bits: they are not tried again */
};

/* ---- One kind ---------------------------------------------------------------------------------------------------- */

static int attach(struct kind *k, const struct probe *p)
{
    return kind_attach(&k->links, p, k->event, k->object);
}

static void kind_free(struct kind **k)
{
    if (!*k)
        return;
    kind_detach(&(*k)->links);
    kind_unload(&(*k)->object);
    free(*k);
    *k = NULL;
}

static struct xp_config config_of(const struct kinds *all, const struct probe *p, size_t event)
{
    struct xp_config c = *(const struct xp_config *)&p->skel->rodata->xp_config;
    c.event = (u32)event;
    c.wait_min = p->config.wait_min_ns;
    c.seed = all->seed;
    c.wait_shares = p->config.cgroup_files != 0; /* as they have shares of files */
    c.tags = p->config.events[event].tagged;
    c.ring_cqe = object_arguments("io_uring_complete") == 3;
    return c;
}

/* The first one of those that share maps among themselves. */
static struct bpf_object *sharing(const struct kinds *all)
{
    for (size_t i = 0; i < all->list.n; i++)
        if (!kind_is_slotted(all->list.v[i]->object))
            return all->list.v[i]->object;
    return NULL;
}

static int begin(struct kinds *all, struct probe *p, size_t event, char *why, size_t len)
{
    CLEANUP(kind_free) struct kind *k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    if (VEC_RESERVE(&all->list, all->list.n + 1))
        return -ENOMEM;
    struct xp_config config = config_of(all, p, event);
    struct bpf_object *other = sharing(all);
    k->event = event;
    k->counts_waits = p->config.events[event].how != PROBE_KIND;
    k->links.means = kind_means(p, event);
    int rc = kind_load(&k->object, p, p->config.events[event].object, &config, other);
    if (!rc)
        rc = attach(k, p);
    if (rc)
        return rc;
    cost_decide(&k->cap, probe_max_cost(&p->config, event), 0, 0, now_ns());
    kind_say_refused(&p->config.events[event], k->links.places.refused, why, len);
    k->cost = bpf_object__find_map_by_name(k->object, KIND_COST_MAP);
    k->sums[0] = bpf_object__find_map_by_name(k->object, "sums0");
    k->sums[1] = bpf_object__find_map_by_name(k->object, "sums1");
    k->bytes = kind_map_bytes(k->object, p, false);
    bool apart = kind_is_slotted(k->object);
    if (!apart && !other)
        all->common_bytes = kind_map_bytes(k->object, p, true);
    if (apart) {
        k->bytes += kind_map_bytes(k->object, p, true);
        p->attached_by = k->links.means;
        __atomic_store_n(&p->attached[event], k->object, __ATOMIC_RELEASE);
    }
    all->list.v[all->list.n++] = TAKE_PTR(k);
    return 0;
}

/* ---- What is wanted ---------------------------------------------------------------------------------------------- */

int kinds_new(struct kinds **out)
{
    struct kinds *all = calloc(1, sizeof(*all));
    if (!all)
        return -ENOMEM;
    if (getrandom(&all->seed, sizeof(all->seed), GRND_NONBLOCK) != sizeof(all->seed))
        all->seed = (uintptr_t)all;
    *out = all;
    return 0;
}

void kinds_free(struct kinds **all)
{
    if (!*all)
        return;
    for (size_t i = 0; i < (*all)->list.n; i++)
        kind_free(&(*all)->list.v[i]);
    vec_free(&(*all)->list);
    free(*all);
    *all = NULL;
}

static struct kind *find(const struct kinds *all, size_t event)
{
    for (size_t i = 0; i < all->list.n; i++)
        if (all->list.v[i]->event == event)
            return all->list.v[i];
    return NULL;
}

/* Other threads may use an object whose programs they attach: it stays. */
static void drop_ended(struct kinds *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->list.n; i++) {
        struct kind *k = all->list.v[i];
        if (k->ended && !kind_is_slotted(k->object))
            kind_free(&k);
        else
            all->list.v[n++] = k;
    }
    all->list.n = n;
}

/* Whether its programs are attached to files of processes as these map them. */
static bool is_followed(const struct kind *k, const struct probe *p)
{
    const struct probe_places *places = p->config.events[k->event].places;
    return places && places->file;
}

/* Without links, an object costs nothing. What it has counted is still to be taken (kinds_take). */
static int change(const struct probe *p, struct kind *k, bool want)
{
    k->ended = !want;
    if (want)
        return kind_is_attached(&k->links) || (k->cap.off && !is_followed(k, p)) ? 0 : attach(k, p);
    kind_detach(&k->links);
    return 0;
}

/* What an event goes on without is no failure. It does not take the place of another line. */
static int refuse(struct kinds *all, const struct probe_event *event, size_t number, int rc, char *why, size_t len)
{
    all->refused |= 1u << number;
    if (event->how == PROBE_KIND || !why[0])
        kind_explain(rc, event, why, len);
    return event->how == PROBE_KIND ? rc : 0;
}

int kinds_see(struct kinds *all, struct probe *p, u32 wanted, char *why, size_t len)
{
    int result = 0;
    for (size_t e = 0; e < p->config.nevents; e++) {
        struct kind *k = find(all, e);
        bool want = wanted >> e & 1;
        if (!p->config.events[e].object || all->refused >> e & 1 || (!k && !want))
            continue;
        int rc = k ? change(p, k, want) : begin(all, p, e, why, len);
        if (rc)
            rc = refuse(all, &p->config.events[e], e, rc, why, len);
        else
            rc = !k && p->config.events[e].how == PROBE_KIND;
        result = rc < 0 ? rc : result < 0 ? result : result | rc;
    }
    return result;
}

void kinds_stop(struct kinds *all)
{
    for (size_t i = 0; i < all->list.n; i++)
        kind_detach(&all->list.v[i]->links);
}

/* ---- What they cost ---------------------------------------------------------------------------------------------- */

/* Returns whether it rests for the first time. What is attached to files of processes is taken off by who attached it
 * (probe_rests); the programs that see who maps them stay. */
static bool see_cost(struct kind *k, struct probe *p)
{
    u64 hits, ns;
    u32 bit = 1u << k->event;
    bool was_off = k->cap.off;
    if (k->ended || !k->cost || kind_cost(k->cost, p->ncpus, p->config.events[k->event].trap_ns, &hits, &ns))
        return false;
    bool on = cost_decide(&k->cap, probe_max_cost(&p->config, k->event), hits, ns, now_ns()), turns = on == was_off;
    if (turns && !is_followed(k, p)) {
        if (!on)
            kind_rest(&k->links);
        else if (attach(k, p)) { /* as much as could be attached is no sample of anything */
            kind_detach(&k->links);
            k->cap.off = true;
        }
    }
    cost_copy(&p->costs[k->event], &k->cap.sum);
    if (k->cap.off)
        __atomic_or_fetch(&p->resting, bit, __ATOMIC_RELAXED);
    else
        __atomic_and_fetch(&p->resting, ~bit, __ATOMIC_RELAXED);
    return turns && !on && k->cap.sum.rests == 1;
}

bool kinds_may_cost(const struct kinds *all)
{
    bool any = false;
    for (size_t i = 0; i < all->list.n; i++)
        any |= all->list.v[i]->cost && !all->list.v[i]->ended && !all->list.v[i]->cap.off;
    return any;
}

u32 kinds_see_costs(struct kinds *all, struct probe *p)
{
    u32 first = 0;
    for (size_t i = 0; i < all->list.n; i++)
        first |= (u32)see_cost(all->list.v[i], p) << all->list.v[i]->event;
    return first;
}

/* ---- What was counted -------------------------------------------------------------------------------------------- */

struct taking {
    struct probe_waits *out;
    const struct kind *kind;
};

/* The label is the lock that was waited for. */
static bool keep_wait(struct probe_waits *out, const struct xp_sum_key *key, const struct xp_amount *amount)
{
    struct probe_wait *w = VEC_PUSH(&out->sums);
    if (!w)
        return false;
    w->key = (struct xp_wait_key){.user = key->stack, .with = key->label, .flags = XP_WAIT_LOCKED};
    w->sum = (struct xp_wait){amount->count, amount->value};
    return true;
}

static bool keep(void *ctx, const void *key, const void *value)
{
    struct taking *t = ctx;
    struct xp_sum_key k;
    struct xp_sum sum;
    memcpy(&k, key, sizeof(k));
    memcpy(&sum, value, sizeof(sum));
    if (t->kind->counts_waits)
        return keep_wait(t->out, &k, &sum.of[0]);
    struct probe_sum *s = VEC_PUSH(&t->out->kinds);
    if (!s)
        return false;
    *s = (struct probe_sum){.key = k, .sum = sum, .event = (u8)t->kind->event};
    return true;
}

/* Of a kind that has tags; of others, there is no such map. */
static int forget_tags(const struct bpf_object *object)
{
    const struct bpf_map *told = bpf_object__find_map_by_name(object, "told_tags");
    return told ? probe_empty(told, NULL, NULL) : 0;
}

/* Stacks are told, and count, again. */
static int forget_told(const struct bpf_object *object)
{
    int told = probe_empty(bpf_object__find_map_by_name(object, "told_stacks"), NULL, NULL);
    int groups = probe_empty(bpf_object__find_map_by_name(object, "wait_groups"), NULL, NULL);
    return told ? told : groups;
}

/* Also once they are back: what changed while they rested may have been the last change. */
int kinds_catch_up(const struct kinds *all)
{
    int rc = 0;
    for (size_t i = 0; i < all->list.n; i++) {
        int r = all->list.v[i]->cap.sum.rests ? kind_catch_up(all->list.v[i]->object) : 0;
        rc = rc ? rc : r;
    }
    return rc;
}

int kinds_take(struct kinds *all, struct probe *p, u32 interval, struct probe_waits *out)
{
    int rc = 0;
    for (size_t i = 0; i < all->list.n; i++) {
        struct taking t = {out, all->list.v[i]};
        int r = probe_empty(all->list.v[i]->sums[interval & 1], keep, &t);
        rc = rc ? rc : r;
        goroutines_tidy(all->list.v[i]->object);
        disks_take(&p->disks, all->list.v[i]->object, p->ncpus, all->list.v[i]->ended);
    }
    const struct bpf_object *first = sharing(all);
    for (size_t i = 0; i < all->list.n; i++) {
        const struct bpf_object *object = all->list.v[i]->object;
        int r = object == first || kind_is_slotted(object) ? forget_told(object) : 0;
        rc = rc ? rc : r;
        r = forget_tags(object);
        rc = rc ? rc : r;
    }
    drop_ended(all);
    return rc;
}

bool kinds_any(const struct kinds *all)
{
    return all->list.n != 0;
}

u64 kinds_map_bytes(const struct kinds *all)
{
    u64 sum = all->list.n ? all->common_bytes : 0;
    for (size_t i = 0; i < all->list.n; i++)
        sum += all->list.v[i]->bytes;
    return sum;
}

void kinds_run_time(const struct kinds *all, u64 ns[])
{
    for (size_t i = 0; i < all->list.n; i++)
        ns[all->list.v[i]->event] += run_time_of(all->list.v[i]->object);
}
