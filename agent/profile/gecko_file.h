/* What every file for the Firefox Profiler has: its processed profile format,
 * https://github.com/firefox-devtools/profiler: docs-developer/processed-profile-format.md and src/types/profile.ts.
 * Version 55 is the last one in which a thread has its tables for itself; the profiler converts older versions when it
 * loads them.
 */
#pragma once
#include "base/buf.h"
#include "profile/profile.h"
#include <stdbool.h>

struct gecko_thread {
    const char *name, *process;
    u32 pid, tid;
    bool main; /* the first one of its process */
};

/* Appends everything up to the first thread. `interval`: between samples, in ns. */
void gecko_begin(const struct profile *p, u64 interval, struct buf *out);
/* Appends the beginning of a thread: "markers", "samples" and the tables (gecko_tables.h) are still to follow. */
void gecko_begin_thread(const struct gecko_thread *t, struct buf *out);
/* Appends what follows the last thread. */
void gecko_end(struct buf *out);
/* Appends `ns` in ms. */
void gecko_put_ms(u64 ns, struct buf *out);
