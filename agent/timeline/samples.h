/* Samples of clocks (event cpu) that were taken beside the timeline: each has its time and its stack. */
#pragma once
#include "base/vec.h"
#include "profile/frames.h"
#include "profile/profile.h"

struct tl_samples {
    const struct profile *p;
    VEC(u32) stacks; /* rows of p->stacks, by process, thread and time */
    struct frames frames;
};

/* Those since `begin` (CLOCK_MONOTONIC). Returns 0 or -ENOMEM. */
int samples_init(struct tl_samples *s, const struct profile *p, u64 begin);
void samples_free(struct tl_samples *s);
/* Returns the place of the first sample of a thread in `stacks`; *n: how many there are. */
size_t samples_of(const struct tl_samples *s, u32 tgid, u32 tid, size_t *n);
const struct prof_stack *samples_at(const struct tl_samples *s, size_t i);
u32 samples_tgid(const struct tl_samples *s, size_t i);
