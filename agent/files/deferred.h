/* Deferred unwinding: samples that met a file before its table was there carry registers and a piece of their stack.
 * Once the process's files have tables, the same unwinder runs over the copy. So do samples that stopped in code
 * without unwind information, as long as it is not decided whether that code gets rows (files_is_open): they wait for
 * it. Bounded in number and time; a stack that cannot be completed is counted as it arrived. Owned by the worker
 * thread.
 */
#pragma once
#include "files/files.h"
#include "probe/probe.h"
#include "profile/aggregate.h"

struct deferred_job {
    struct xp_sample *sample; /* owned: as the kernel side sent it, with the frames it found */
    struct xp_dump *dump;     /* owned */
};
void deferred_job_free(struct deferred_job *j);

/* The file in whose code without unwind information a stack stopped; 0: it did not. */
u32 deferred_gap_of(const struct xp_sample *s);

struct deferred;

int deferred_new(struct deferred **out, struct probe *probe, struct files *files);
void deferred_free(struct deferred **l);

/* Takes the job; beyond the bound it is not kept waiting, but added to `into` as it came. */
void deferred_add(struct deferred *l, struct deferred_job job, struct aggregate *into);
/* Unwinds what has waited for at least `min_age_ms`, and for no open file, into `into`. */
void deferred_run(struct deferred *l, unsigned min_age_ms, struct aggregate *into);
size_t deferred_waiting(const struct deferred *l);
u64 deferred_rescued(const struct deferred *l); /* stacks that came out complete */
