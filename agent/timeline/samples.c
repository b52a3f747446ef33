#include "timeline/samples.h"
#include <errno.h>

const struct prof_stack *samples_at(const struct tl_samples *s, size_t i)
{
    return &s->p->stacks.v[s->stacks.v[i]];
}

u32 samples_tgid(const struct tl_samples *s, size_t i)
{
    return s->p->processes.v[samples_at(s, i)->process].tgid;
}

static int compare_u64(u64 a, u64 b)
{
    return (a > b) - (a < b);
}

static int by_time(const void *x, const void *y, void *arg)
{
    const struct profile *p = arg;
    const struct prof_stack *a = &p->stacks.v[*(const u32 *)x], *b = &p->stacks.v[*(const u32 *)y];
    int r = compare_u64(p->processes.v[a->process].tgid, p->processes.v[b->process].tgid);
    if (!r)
        r = compare_u64(a->tid, b->tid);
    return r ? r : compare_u64(a->time, b->time);
}

int samples_init(struct tl_samples *s, const struct profile *p, u64 begin)
{
    *s = (struct tl_samples){.p = p};
    for (size_t i = 0; i < p->stacks.n; i++) {
        u64 time = p->stacks.v[i].time;
        if (!time || time < begin)
            continue;
        u32 *place = VEC_PUSH(&s->stacks);
        if (!place)
            return -ENOMEM;
        *place = (u32)i;
    }
    if (s->stacks.n)
        qsort_r(s->stacks.v, s->stacks.n, sizeof(*s->stacks.v), by_time, (void *)p);
    return 0;
}

void samples_free(struct tl_samples *s)
{
    vec_free(&s->stacks);
    vec_free(&s->frames);
}

static bool before(const struct tl_samples *s, size_t i, u32 tgid, u32 tid)
{
    u32 process = samples_tgid(s, i);
    return process != tgid ? process < tgid : samples_at(s, i)->tid < tid;
}

size_t samples_of(const struct tl_samples *s, u32 tgid, u32 tid, size_t *n)
{
    size_t lo = 0, hi = s->stacks.n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (before(s, middle, tgid, tid))
            lo = middle + 1;
        else
            hi = middle;
    }
    for (*n = 0; lo + *n < s->stacks.n && samples_tgid(s, lo + *n) == tgid && samples_at(s, lo + *n)->tid == tid; ++*n)
        ;
    return lo;
}
