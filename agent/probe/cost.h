/* Keeps what the probes of an event cost below a share of one CPU: probes that cost more are taken off, and come back
 * when they have rested for long enough. Resting is better than staying off: whoever costs too much only for a while
 * (as a program starts) is seen for the rest of the time; and what is seen of others is spread over the recording, so
 * that the share of the time that they were on says how much there was.
 */
#pragma once
#include "probe/probe.h"

struct cost_cap {
    struct probe_cost sum;
    u64 looked_ns; /* 0: never */
    s64 credit;    /* ns of CPU time */
    bool off;
};

/* Takes what it has cost so far (hits and ns). Returns whether its programs are to be attached from now on. `percent`
 * of a CPU; 0: no limit. */
bool cost_decide(struct cost_cap *c, unsigned percent, u64 hits, u64 ns, u64 now_ns);

/* From one thread to others. */
void cost_copy(struct probe_cost *to, const struct probe_cost *from);
