#include "profile/leaks.h"
#include "base/cleanup.h"
#include "base/map.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS      32           /* kept; of more, two become one */
#define FIRST_GAP  500000000ull /* ns between the first ones */
#define LEAST      8            /* looks without which nothing is decided */
#define PARTS      4            /* of the time, in each of which a leak grows */
#define LEAST_PART 8            /* by an eighth of its growth until the last part: a third, less what chance does */
#define STEPS      4            /* looks until the last part at which more was held than before, at least */

struct series {
    u64 stack;
    u64 objects; /* at the last look at which it held something */
    u64 bytes[LOOKS];
};

struct leaks {
    size_t n;
    u64 gap_ns;
    u64 time_ns[LOOKS];
    struct map places; /* key of a stack -> its place in `all` */
    VEC(struct series) all;
};

int leaks_new(struct leaks **out)
{
    struct leaks *l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    l->gap_ns = FIRST_GAP;
    *out = l;
    return 0;
}

void leaks_free(struct leaks **l)
{
    if (!*l)
        return;
    map_free(&(*l)->places);
    vec_free(&(*l)->all);
    free(TAKE_PTR(*l));
}

bool leaks_due(const struct leaks *l, u64 now_ns)
{
    return !l->n || now_ns - l->time_ns[l->n - 1] >= l->gap_ns;
}

/* Two looks become one. It has the time of the first one and what was held at both: what matters is what is held from
 * then on. */
static void merge(struct leaks *l)
{
    for (size_t i = 0; i < LOOKS / 2; i++)
        l->time_ns[i] = l->time_ns[2 * i];
    for (size_t s = 0; s < l->all.n; s++) {
        u64 *b = l->all.v[s].bytes;
        for (size_t i = 0; i < LOOKS / 2; i++)
            b[i] = b[2 * i] < b[2 * i + 1] ? b[2 * i] : b[2 * i + 1];
        memset(b + LOOKS / 2, 0, LOOKS / 2 * sizeof(*b));
    }
    l->n = LOOKS / 2;
    l->gap_ns *= 2;
}

void leaks_look(struct leaks *l, u64 now_ns)
{
    if (l->n == LOOKS)
        merge(l);
    l->time_ns[l->n++] = now_ns;
}

static struct series *series_of(struct leaks *l, u64 stack)
{
    const u64 *known = map_get(&l->places, stack);
    if (known)
        return &l->all.v[*known];
    struct series *s = l->all.n < LEAKS_STACKS ? VEC_PUSH(&l->all) : NULL;
    u64 *place = s ? map_put(&l->places, stack) : NULL;
    if (!place) {
        l->all.n -= s != NULL;
        return NULL;
    }
    *place = l->all.n - 1;
    *s = (struct series){.stack = stack};
    return s;
}

void leaks_hold(struct leaks *l, u64 stack, struct xp_amount held)
{
    struct series *s = l->n ? series_of(l, stack) : NULL;
    if (!s)
        return;
    s->bytes[l->n - 1] = held.value;
    s->objects = held.count;
}

bool leaks_can_tell(const struct leaks *l)
{
    return l->n >= LEAST;
}

u64 leaks_span_ns(const struct leaks *l)
{
    return l->n ? l->time_ns[l->n - 1] - l->time_ns[0] : 0;
}

/* What is held for good from each look on: the least of what is held from then on. Returns at how many looks up
 * to one of them it is more than before. */
static size_t find_floor(const struct leaks *l, const struct series *s, u64 floor[LOOKS], size_t up_to)
{
    size_t steps = 0;
    for (size_t i = l->n; i-- > 0;) {
        bool last = i + 1 == l->n;
        floor[i] = last || s->bytes[i] < floor[i + 1] ? s->bytes[i] : floor[i + 1];
        steps += i < up_to && floor[i] < floor[i + 1];
    }
    return steps;
}

/* The last look of the first parts of the time. */
static size_t look_at_share(const struct leaks *l, u64 parts)
{
    u64 end = l->time_ns[0] + leaks_span_ns(l) / PARTS * parts;
    size_t i = l->n - 1;
    while (i && l->time_ns[i] > end && parts < PARTS)
        i--;
    return i;
}

/* Returns the bytes that it leaks, for all the time of the looks; 0: it does not leak. How fast it grows is taken from
 * the first parts: what came in the last one may still go, but something must have come. */
static u64 leaked_by(const struct leaks *l, const struct series *s)
{
    u64 floor[LOOKS], before, grown;
    size_t last = look_at_share(l, PARTS - 1);
    bool leaks = find_floor(l, s, floor, last) >= STEPS;
    grown = floor[last] - floor[0];
    before = floor[0];
    for (u64 part = 1; part <= PARTS && leaks; part++) {
        u64 now = floor[look_at_share(l, part)];
        leaks = now > before && (now - before) * LEAST_PART >= grown;
        before = now;
    }
    double per_ns = (double)grown / (double)(l->time_ns[last] - l->time_ns[0] + 1);
    return leaks ? (u64)(per_ns * (double)leaks_span_ns(l) + 0.5) : 0;
}

static int by_growth(const void *x, const void *y)
{
    const struct leak *a = x, *b = y;
    if (a->grown.value != b->grown.value)
        return a->grown.value < b->grown.value ? 1 : -1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

int leaks_find(const struct leaks *l, leaks_list *out)
{
    for (size_t i = 0; i < l->all.n && leaks_can_tell(l); i++) {
        const struct series *s = &l->all.v[i];
        u64 bytes = leaked_by(l, s), held = s->bytes[l->n - 1];
        struct leak *found = bytes ? VEC_PUSH(out) : NULL;
        if (bytes && !found)
            return -ENOMEM;
        if (!bytes)
            continue;
        u64 objects = held ? (u64)((double)s->objects * (double)bytes / (double)held + 0.5) : 0;
        *found = (struct leak){s->stack, {objects ? objects : 1, bytes}};
    }
    if (out->n)
        qsort(out->v, out->n, sizeof(*out->v), by_growth);
    return 0;
}
