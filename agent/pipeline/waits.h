/* Makes samples of waits, and of the sums of other kinds: the kernel side sends each distinct stack once per interval,
 * and at its end sums of waits that refer to them by key. A stack is kept while it is referred to: a thread may sleep
 * for hours. Owned by the collector.
 */
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "base/vec.h"
#include "pipeline/holders.h"
#include "pipeline/tags.h"
#include "probe/probe.h"

#define WAITS_STACK_BYTES (32u << 20) /* limit of the stacks kept */

struct waits {
    struct map places; /* key of a stack -> its place in `stacks`, plus 1 */
    VEC(struct wait_stack) stacks;
    struct shares bytes;    /* by cgroup; kernel stacks belong to nobody */
    struct holders holders; /* of locks */
    struct tags tags;       /* of sums */
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
    u32 levels;      /* bits of kinds whose second value comes as what went away, and is to be what is left */
    u32 open_levels; /* of kinds whose third value comes as what came, and is to be what became none of the others */
    u32 lent_levels; /* of those of `levels`: kinds whose blocks may go away when their process is forgotten */
};
typedef void waits_use(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n);
/* Ends an interval: passes each wait, and each sum, as a sample with its values to `use`. Returns 0 or -ENOMEM. */
int waits_take(struct waits *w, const struct probe_waits *rows, const struct wait_events *events, waits_use *use,
               void *ctx);
/* Passes these values of a stack to `use`. Returns 0; -ENODATA: it is not known; -ENOMEM. */
int waits_add(const struct waits *w, u64 key, u8 event, const struct xp_amount values[XP_MAX_VALUES], waits_use *use,
              void *ctx);
/* Begins a profile interval: passes what is left of earlier ones to `use`. What processes held that no longer live is
 * forgotten. Returns 0 or -ENOMEM. */
int waits_carry(struct waits *w, bool (*lives)(u32 tgid), waits_use *use, void *ctx);
