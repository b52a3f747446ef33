/* Keeps the processes with runtimes whose frames the kernel side finds (bpf/machine.h). Each cgroup has a share of
 * them. Owned by the worker thread.
 */
#pragma once
#include "files/code_tables.h"
#include "probe/probe.h"

struct machines;

struct machines_stats {
    u64 processes; /* now */
    u64 refused;   /* for which there was no room */
};

/* `share`: each cgroup has a share of XP_MAX_MACHINES. Returns 0 or -ENOMEM. */
int machines_new(struct machines **out, struct probe *probe, bool share);
void machines_free(struct machines **m);
/* Takes what is known of a process by now, in place of what was known of it. */
void machines_put(struct machines *m, const struct code_owner *who, const struct xp_machine *value);
/* False: nothing is known of the process. */
bool machines_find(const struct machines *m, u32 tgid, u64 start, struct xp_machine *out);
/* Forgets the processes that have ended. Call it every few seconds. */
void machines_age(struct machines *m);
struct machines_stats machines_stats(const struct machines *m);
