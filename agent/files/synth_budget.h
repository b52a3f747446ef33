/* Limits the time that the worker spends on low-priority work: a tenth of the elapsed time, with a small burst. The
 * time spent on a file must be earned again before the next file is processed, so that a process that keeps mapping new
 * files cannot occupy the worker.
 */
#pragma once
#include "base/clock.h"
#include "bpf/types.h"
#include <stdbool.h>

#define FILES_BUDGET_PART 10
#define FILES_BUDGET_NS   ((s64)(5 * NS_PER_SEC))  /* at first, and at most */
#define FILES_DEBT_NS     ((s64)(60 * NS_PER_SEC)) /* at most: more than one file can cost within the parser's limits */

struct files_budget { /* {0} at first */
    s64 ns;           /* available time; below 0: debt */
    u64 paid_ns;      /* last time that some was added; 0: never */
};

/* Adds the time earned since the last call. Returns whether any is left. */
static inline bool files_budget_left(struct files_budget *c, u64 now)
{
    u64 all = (u64)(FILES_BUDGET_NS + FILES_DEBT_NS);
    u64 passed = now > c->paid_ns ? now - c->paid_ns : 0;
    u64 more = c->paid_ns ? passed / FILES_BUDGET_PART : all;
    if (c->paid_ns && !more)
        return c->ns > 0;
    c->ns += (s64)(more < all ? more : all);
    c->ns = c->ns < FILES_BUDGET_NS ? c->ns : FILES_BUDGET_NS;
    c->paid_ns = now;
    return c->ns > 0;
}

static inline void files_budget_spend(struct files_budget *c, u64 ns)
{
    u64 most = (u64)(c->ns + FILES_DEBT_NS);
    c->ns -= (s64)(ns < most ? ns : most);
}
