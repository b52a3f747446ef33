#include "synth/targets.h"
#include <string.h>

/* The addresses that a value stands for; false: none. */
static bool read_value(const struct target_sets *t, u64 v, struct targets *out)
{
    u32 at;
    *out = (struct targets){0};
    if (VALUE_KIND(v) == VALUE_TARGETS) {
        *out = t->v.v[(u32)v];
        return true;
    }
    if (VALUE_KIND(v) != VALUE_CONST || !code_find(t->code, value_number(v), &at))
        return false;
    out->n = 1;
    out->v[0] = value_number(v);
    return true;
}

static bool add(struct targets *s, u64 address)
{
    u32 i = 0;
    while (i < s->n && s->v[i] < address)
        i++;
    if (i < s->n && s->v[i] == address)
        return true;
    if (s->n == TARGETS_MAX)
        return false;
    memmove(&s->v[i + 1], &s->v[i], (s->n - i) * sizeof(*s->v));
    s->v[i] = address;
    s->n++;
    return true;
}

static u64 number(struct target_sets *t, const struct targets *s)
{
    for (size_t i = 0; i < t->v.n; i++)
        if (t->v.v[i].n == s->n && !memcmp(t->v.v[i].v, s->v, s->n * sizeof(*s->v)))
            return VALUE(VALUE_TARGETS, 0, i);
    struct targets *copy = t->v.n < TARGETS_MAX_SETS ? VEC_PUSH(&t->v) : NULL;
    if (!copy)
        return VALUE_UNKNOWN;
    *copy = *s;
    return VALUE(VALUE_TARGETS, 0, t->v.n - 1);
}

u64 targets_either(struct target_sets *t, u64 a, u64 b)
{
    struct targets x, y;
    if (!read_value(t, a, &x) || !read_value(t, b, &y))
        return VALUE_UNKNOWN;
    for (u32 i = 0; i < y.n; i++)
        if (!add(&x, y.v[i]))
            return VALUE_UNKNOWN;
    return number(t, &x);
}
