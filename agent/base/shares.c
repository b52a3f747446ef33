#include "base/shares.h"

uint64_t shares_held(const struct shares *s, uint64_t owner)
{
    const uint64_t *held = map_get(&s->held, owner);
    return held ? *held : 0;
}

/* May an owner that holds so much leave so little? */
static bool is_fair(uint64_t owner, uint64_t holds, uint64_t free)
{
    return owner == SHARES_ALL || holds / SHARES_PART <= free;
}

bool shares_over(const struct shares *s, uint64_t owner)
{
    return !is_fair(owner, shares_held(s, owner), s->limit - s->used);
}

bool shares_take(struct shares *s, uint64_t owner, uint64_t n)
{
    uint64_t free = s->limit - s->used;
    if (!n)
        return true;
    if (n > free || !is_fair(owner, shares_held(s, owner) + n, free - n))
        return false;
    uint64_t *held = map_put(&s->held, owner);
    if (!held)
        return false;
    *held += n;
    s->used += n;
    return true;
}

void shares_give(struct shares *s, uint64_t owner, uint64_t n)
{
    uint64_t *held = map_get(&s->held, owner);
    if (!held)
        return;
    n = n < *held ? n : *held;
    *held -= n;
    s->used -= n;
    if (!*held)
        map_remove(&s->held, owner);
}

void shares_free(struct shares *s)
{
    map_free(&s->held);
    s->used = 0;
}
