/* Late unwinding: samples that met a file before its table was there carry registers and a piece of their stack. Once
 * the process's files have tables, the same unwinder runs over the copy. Bounded in number; what can't be helped is
 * counted as it came. Owned by the worker thread.
 */
#pragma once
#include "files.h"
#include "probe/probe.h"
#include "profile/aggregate.h"

struct late_job {
    struct xp_sample *sample; /* owned: as the kernel side sent it, with the frames it found */
    struct xp_dump *dump;     /* owned */
};
void late_job_free(struct late_job *j);

struct late;

int late_new(struct late **out, struct probe *probe, struct files *files);
void late_free(struct late **l);

/* Takes the job; beyond the bound it is not kept waiting, but added to `into` as it came. */
void late_add(struct late *l, struct late_job job, struct aggregate *into);
/* Unwinds what has waited for at least `min_age_ms`, into `into`. */
void late_run(struct late *l, unsigned min_age_ms, struct aggregate *into);
size_t late_waiting(const struct late *l);
u64 late_rescued(const struct late *l); /* stacks that came out complete */
