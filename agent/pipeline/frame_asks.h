/* Collects frames of runtimes that are to be named, which has to be done soon: their code, or their process, may be
 * gone a moment later. Each is asked for when it is first seen, and again after an interval without it. Owned by the
 * collector.
 */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "pipeline/jobs.h"

#define FRAME_ASKS_NS  50000000ull /* frames are collected for this long */
#define FRAME_ASKS_MAX 4096        /* of a process at once */

struct frame_asking {
    u32 tgid;
    u64 start, cgroup;
    u64 since_ns;
    VEC(u64) words; /* two of each frame */
};
struct frame_asks {  /* all zero: empty */
    struct map seen; /* hash of process and words -> interval */
    VEC(struct frame_asking) list;
    u32 interval;
    u64 lost; /* frames for which there was no memory */
};

void frame_asks_free(struct frame_asks *a);
/* Notes the frames of a sample. */
void frame_asks_note(struct frame_asks *a, const struct xp_sample *s, u64 now_ns);
/* Returns a job (JOB_NAMES) for frames that are due by a time; NULL: there are none. UINT64_MAX: all are due. */
struct job *frame_asks_take(struct frame_asks *a, u64 now_ns);
/* An interval ended. */
void frame_asks_age(struct frame_asks *a);
