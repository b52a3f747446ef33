#include "base/turns.h"

static uint64_t of(const struct map *m, uint64_t owner)
{
    const uint64_t *ns = map_get(m, owner);
    return ns ? *ns : 0;
}

/* Adds half of each amount. Without memory, the past is forgotten. */
static void add_half(struct map *to, const struct map *from)
{
    for (size_t i = 0; i < from->cap; i++) {
        const struct map_slot *s = &from->slots[i];
        uint64_t *ns = s->used && s->value / 2 ? map_put(to, s->key) : NULL;
        if (ns)
            *ns += s->value / 2;
    }
}

void turns_begin(struct turns *t, uint64_t limit_ns)
{
    struct map past = {0};
    add_half(&past, &t->past);
    add_half(&past, &t->now);
    turns_free(t);
    *t = (struct turns){.limit_ns = limit_ns, .past = past};
}

bool turns_may(const struct turns *t, uint64_t owner)
{
    if (!t->limit_ns)
        return true;
    return t->used_ns < t->limit_ns && of(&t->now, owner) / TURNS_PART < t->limit_ns - t->used_ns;
}

void turns_spend(struct turns *t, uint64_t owner, uint64_t ns)
{
    uint64_t *used = t->limit_ns && ns ? map_put(&t->now, owner) : NULL;
    if (!used)
        return;
    *used += ns;
    t->used_ns += ns;
}

uint64_t turns_spent(const struct turns *t, uint64_t owner)
{
    return of(&t->now, owner) + of(&t->past, owner);
}

void turns_free(struct turns *t)
{
    map_free(&t->now);
    map_free(&t->past);
    t->used_ns = 0;
}
