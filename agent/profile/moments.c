#include "profile/profile.h"
#include <string.h>

/* Stacks are sorted (symbolize.c): those that differ by time only are next to each other. */
static bool differ_by_time(const struct profile *p, const struct prof_stack *a, const struct prof_stack *b)
{
    const u32 *frames = p->stack_locations.v;
    return a->process == b->process && a->thread == b->thread && a->cause == b->cause && a->event == b->event &&
           a->holder == b->holder && a->tag == b->tag && a->nstid == b->nstid && a->n == b->n &&
           (!a->nstid || a->tid == b->tid) && !memcmp(frames + a->first, frames + b->first, a->n * sizeof(*frames));
}

void profile_forget_times(struct profile *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->stacks.n; i++) {
        struct prof_stack *s = &p->stacks.v[i], *last = n ? &p->stacks.v[n - 1] : NULL;
        s->time = 0;
        if (!s->nstid)
            s->tid = 0;
        if (last && differ_by_time(p, last, s))
            stack_add(last, s);
        else
            p->stacks.v[n++] = *s;
    }
    p->stacks.n = n;
}
