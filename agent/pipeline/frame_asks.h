/* Collects frames of runtimes that are to be named, which has to be done soon: their code, or their process, may be
 * gone a moment later. Each is asked for when it is first seen, and again after an interval without it. Owned by the
 * collector.
 */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "pipeline/jobs.h"

#define FRAME_ASKS_MAX  4096 /* of a process at once */
#define FRAME_CODES_MAX 64   /* texts that were sent along */

struct frame_asking {
    u32 tgid;
    u64 start, cgroup;
    VEC(u64) words; /* two of each frame */
    VEC(struct xp_code_event) codes;
};
struct frame_asks {  /* all zero: empty */
    struct map seen; /* hash of process and words -> interval */
    VEC(struct frame_asking) list;
    u32 interval;
    u64 lost; /* frames for which there was no memory */
};

void frame_asks_free(struct frame_asks *a);
/* Notes the frames of a sample. */
void frame_asks_note(struct frame_asks *a, const struct xp_sample *s);
/* Notes the texts of code that may be gone when it is asked for. */
void frame_asks_code(struct frame_asks *a, const struct xp_code_event *e);
/* Returns a job (JOB_NAMES) for those of a process; NULL: there are none. */
struct job *frame_asks_take(struct frame_asks *a);
/* An interval ended. */
void frame_asks_age(struct frame_asks *a);
