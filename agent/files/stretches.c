#include "files/stretches.h"
#include "parser/synth_table.h"
#include <string.h>

/* Where `number` is or belongs among the wanted ones. */
static size_t place_of(const struct stretches *s, u32 number)
{
    size_t lo = 0, hi = s->wanted.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (s->wanted.v[mid] < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool stretches_note(struct stretches *s, struct shares *all, u64 owner, u64 offset)
{
    u64 number = offset / SYNTH_STRETCH;
    if (s->wanted.n >= STRETCHES_MAX || number >= STRETCHES_LIMIT)
        return false;
    size_t at = place_of(s, (u32)number);
    if (at < s->wanted.n && s->wanted.v[at] == number)
        return false;
    if (!shares_take(all, owner, 1))
        return false;
    u32 *end = VEC_PUSH(&s->wanted);
    if (!end) {
        shares_give(all, owner, 1);
        return false;
    }
    memmove(&s->wanted.v[at + 1], &s->wanted.v[at], (size_t)(end - &s->wanted.v[at]) * sizeof(*end));
    s->wanted.v[at] = (u32)number;
    return true;
}

bool stretches_due(const struct stretches *s, u64 now)
{
    return !s->on || now >= s->due_ns;
}

void stretches_begin(struct stretches *s, u64 now)
{
    s->on = true;
    s->began_ns = now;
    s->due_ns = 0;
}

void stretches_pause(struct stretches *s, u64 took, u64 now)
{
    u64 pause = (now - s->began_ns) / STRETCHES_PAUSE;
    pause = pause < STRETCHES_MIN_NS ? STRETCHES_MIN_NS : pause > STRETCHES_MAX_NS ? STRETCHES_MAX_NS : pause;
    s->due_ns = now + (took > pause ? took : pause);
}

void stretches_free(struct stretches *s, struct shares *all, u64 owner)
{
    shares_give(all, owner, s->wanted.n);
    vec_free(&s->wanted);
    *s = (struct stretches){0};
}
