/* What the labels of a sample in a pprof file say, by the names that encoders give them (pprof.c).
 */
#pragma once
#include "profile/profile.h"

struct recorded_labels { /* as in prof_process and prof_stack */
    u32 process, thread, holder, tag;
    u32 pid, tid, nstid;
    u8 cause, found, code;
};

/* Adds a label, with its text or number, to those of a sample. Unknown ones are ignored. */
void recorded_label(const struct profile *p, u32 key, u32 text, u64 number, struct recorded_labels *out);
