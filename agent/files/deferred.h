/* Deferred unwinding: samples that met a file before its table was built carry registers and a part of their stack.
 * Once the files of the process have tables, the same unwinder runs over that copy. Samples that stopped in code
 * without unwind information also carry a copy, and wait until it is decided whether that code gets rows
 * (files_is_open). Number (with a share for each cgroup, files_share) and waiting time are limited; a stack that cannot
 * be completed is counted as it arrived. Owned by the worker thread.
 */
#pragma once
#include "files/files.h"
#include "probe/probe.h"
#include "profile/aggregate.h"

struct deferred_job {
    struct xp_sample *sample; /* owned: as sent by the kernel side, with the frames it found */
    struct xp_dump *dump;     /* owned */
};
void deferred_job_free(struct deferred_job *j);

/* Returns the file where a stack stopped in code without unwind information; 0: it did not. *offset: where. */
u32 deferred_gap_of(const struct xp_sample *s, u64 *offset);

struct code_tables;
struct deferred;

int deferred_new(struct deferred **out, struct probe *probe, struct files *files);
/* Generated code is unwound by these tables (borrowed). */
void deferred_use_code(struct deferred *l, const struct code_tables *code);
struct machine_source;
/* Stacks through virtual machines are unwound with what is known of these, and their memory (machine_memory.h). Returns
 * 0 or -ENOMEM. */
int deferred_use_machines(struct deferred *l, const struct machine_source *from);
/* Stacks without value (XP_RECORD_STACK), and those with frames of a runtime, go to `use`, which takes ownership, once
 * they are unwound; as they came if they cannot be. False: it does not want it. So does what is needed of a process
 * whose runtime is to be looked at: XP_RECORD_NONE, without words. */
void deferred_use_stacks(struct deferred *l, bool (*use)(void *ctx, struct xp_sample *stack), void *ctx);
void deferred_free(struct deferred **l);

/* Takes ownership of the job. If the limit is reached, its stack is added to `into` unchanged. */
void deferred_add(struct deferred *l, struct deferred_job job, struct aggregate *into);
/* Unwinds the stacks that have waited for at least `min_age_ms`, and neither for an open file nor for one that is still
 * to be opened, and adds them to `into`. */
void deferred_run(struct deferred *l, unsigned min_age_ms, struct aggregate *into);
/* No further files will come. */
void deferred_end(struct deferred *l);
size_t deferred_waiting(const struct deferred *l);
u64 deferred_rescued(const struct deferred *l); /* stacks that were completed */
