/* Stacks and sums for tests of waits, and what comes of them. */
#pragma once
#include "pipeline/waits.h"

#define OFFCPU   3
#define RUNQUEUE 5
#define LOCK     6
#define WAKEUP   7
#define DEEP     (XP_MAX_KERNEL + 20)

static const struct wait_events WAITS_EVENTS = {OFFCPU, RUNQUEUE, WAKEUP, LOCK, 0, 0, 0};

/* What waits_take passed on. */
struct seen {
    size_t n;
    struct xp_sample last;
    struct xp_amount values[XP_MAX_VALUES];
    size_t nvalues;
    u64 words[XP_MAX_REASON + XP_MAX_USER];
};

void waits_see(void *seen, const struct xp_sample *s, const struct xp_amount *values, size_t n);
/* Keeps a stack of `n` words base, base + 1, ...: a user stack of cgroup, or a kernel stack if that is 0. */
void waits_keep_made(struct waits *w, u64 key, u64 cgroup, u64 base, size_t n, bool open);
/* Ends an interval with one sum, or with none. */
int waits_end_with(struct waits *w, struct xp_wait_key key, struct xp_wait sum, struct seen *seen);
int waits_end_none(struct waits *w);
