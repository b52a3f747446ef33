#include "profile/lookup.h"

static void place(u64 *slots, size_t cap, u64 slot)
{
    size_t at = (slot >> 32) & (cap - 1);
    while (slots[at])
        at = (at + 1) & (cap - 1);
    slots[at] = slot;
}

static int grow(struct lookup *l)
{
    size_t cap = l->cap ? 2 * l->cap : 64;
    u64 *slots = calloc(cap, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < l->cap; i++)
        if (l->slots[i])
            place(slots, cap, l->slots[i]);
    free(l->slots);
    l->slots = slots;
    l->cap = cap;
    return 0;
}

int lookup_put(struct lookup *l, u64 hash, u32 row)
{
    if (lookup_growth(l) && grow(l))
        return -ENOMEM;
    place(l->slots, l->cap, (hash >> 32) << 32 | (row + 1));
    l->n++;
    return 0;
}

void lookup_free(struct lookup *l)
{
    free(l->slots);
    *l = (struct lookup){0};
}
