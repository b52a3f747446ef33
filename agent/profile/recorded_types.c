#include "profile/recorded_types.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct types {
    const char *const *names;
    size_t n;
};

static bool is_type(const struct types *t, size_t i, const char *name)
{
    return i < t->n && !strcmp(t->names[i], name);
}

/* Returns the number of types from `i` on that are those of a kind, all of them in the order in which encoders write
 * them; 0: they are not. */
static size_t types_of_kind(const struct types *t, size_t i, const struct event_kind *kind)
{
    size_t at = i;
    for (size_t v = 0; v < event_width(kind); v++) {
        const struct event_value *value = &kind->values[v];
        if (value->count && *value->count && !is_type(t, at++, value->count))
            return 0;
        if (!is_type(t, at++, value->type))
            return 0;
    }
    return at - i;
}

static const struct event_kind *kind_at(const struct types *t, size_t i, size_t *types)
{
    size_t n;
    const struct event_kind *all = event_kinds(&n), *best = NULL;
    *types = 0;
    for (size_t k = 0; k <= n; k++) {
        const struct event_kind *kind = k < n ? &all[k] : event_kind_leaks();
        size_t fit = types_of_kind(t, i, kind);
        if (fit > *types) {
            *types = fit;
            best = kind;
        }
    }
    return best;
}

static void place_values(struct recorded_place *to, u8 event, const struct event_kind *kind)
{
    for (u8 v = 0; v < event_width(kind); v++) {
        const char *count = kind->values[v].count;
        if (count && *count)
            *to++ = (struct recorded_place){event, v, PLACE_COUNT};
        *to++ = (struct recorded_place){event, v, PLACE_SUM};
    }
}

size_t recorded_types(const char *const *names, size_t n, struct recorded_place places[RECORDED_TYPES],
                      const struct event_kind *kinds[XP_MAX_EVENTS])
{
    struct types t = {names, n < RECORDED_TYPES ? n : RECORDED_TYPES};
    size_t found = 0;
    memset(places, 0, RECORDED_TYPES * sizeof(*places));
    for (size_t i = 0, types; i < t.n; i += types ? types : 1) {
        const struct event_kind *kind = kind_at(&t, i, &types);
        if (kind && found < XP_MAX_EVENTS) {
            place_values(places + i, (u8)found, kind);
            kinds[found++] = kind;
        } else if (is_type(&t, i, "samples")) {
            places[i].what = PLACE_SAMPLES;
        }
    }
    return found;
}

struct recorded_kind {
    struct event_kind kind;
    char count[256], name[256], unit[64];
};

/* `count`: the type that is the number of occurrences of the other one; NULL: there is none. */
static struct recorded_kind *make_kind(const char *count, const char *name, const char *unit)
{
    struct recorded_kind *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    snprintf(k->count, sizeof(k->count), "%s", count ? count : "");
    snprintf(k->name, sizeof(k->name), "%s", name);
    snprintf(k->unit, sizeof(k->unit), "%s", unit);
    k->kind = (struct event_kind){
        .name = k->name,
        .values = {{k->name, k->unit, k->count}},
        .series = k->name,
        .needs = "",
        .help = k->name,
    };
    return k;
}

/* Whether a type is the number of what the next one is the sum of: such pairs are common. */
static bool is_count_of_next(const char *const *names, const char *const *units, size_t n,
                             const struct recorded_place *places, size_t i)
{
    return i + 1 < n && i + 1 < RECORDED_TYPES && places[i + 1].what == PLACE_NOTHING && names[i + 1][0] &&
           !strcmp(units[i], "count") && strcmp(units[i + 1], "count") != 0;
}

int recorded_other_types(struct profile *p, const char *const *names, const char *const *units, size_t n,
                         struct recorded_place places[RECORDED_TYPES])
{
    for (size_t i = 0; i < n && i < RECORDED_TYPES && p->nevents < XP_MAX_EVENTS; i++) {
        if (places[i].what != PLACE_NOTHING || !names[i][0])
            continue;
        u8 event = (u8)p->nevents;
        bool pair = is_count_of_next(names, units, n, places, i);
        size_t sum = i + pair;
        struct recorded_kind *k = make_kind(pair ? names[i] : NULL, names[sum], units[sum]);
        if (!k)
            return -ENOMEM;
        places[i] = (struct recorded_place){event, 0, PLACE_COUNT};
        places[sum] = (struct recorded_place){event, 0, PLACE_SUM};
        p->made[event] = k;
        p->events[event] = &k->kind;
        p->nevents++;
    }
    return 0;
}

void recorded_periods(struct profile *p)
{
    for (size_t i = 0; i < p->stacks.n; i++) {
        const struct prof_stack *s = &p->stacks.v[i];
        const struct event_kind *kind = p->events[s->event];
        u64 n = s->count[kind->main], value = s->value[kind->main];
        if (kind->default_hz && p->period[s->event] == 1 && n && value % n == 0)
            p->period[s->event] = value / n;
    }
}
