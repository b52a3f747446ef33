/* Makes samples of waits: the kernel side sends each distinct stack once per interval, and at its end sums of waits
 * that refer to them by key. A stack is kept while it is referred to: a thread may sleep for hours. Owned by the
 * collector.
 */
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "base/vec.h"
#include "pipeline/holders.h"
#include "probe/probe.h"

#define WAITS_STACK_BYTES (32u << 20) /* limit of the stacks kept */

struct waits {
    struct map places; /* key of a stack -> its place in `stacks`, plus 1 */
    VEC(struct wait_stack) stacks;
    struct shares bytes;    /* by cgroup; kernel stacks belong to nobody */
    struct holders holders; /* of locks */
    u32 interval;
    size_t open; /* stacks that are still being unwound */
    u64 lost;    /* waits whose stack is not known */
};

void waits_init(struct waits *w);
void waits_free(struct waits *w);

/* Keeps a stack (XP_RECORD_STACK; the caller has checked that it contains all its words), or replaces the one of that
 * key. `open`: it is still being unwound, and will be replaced. */
void waits_keep(struct waits *w, const struct xp_sample *s, bool open);
/* Returns the number of stacks that are still being unwound. */
size_t waits_open(const struct waits *w);

struct wait_events { /* their numbers; -1: not recorded */
    int offcpu, runqueue, wakeup, lock;
};
/* Ends an interval: passes each wait as a sample to `use`. Returns 0 or -ENOMEM. */
int waits_take(struct waits *w, const struct probe_waits *rows, const struct wait_events *events,
               void (*use)(void *ctx, const struct xp_sample *s), void *ctx);
