/* Formats the summary of a recording as text and JSON, and its progress line. */
#pragma once
#include "pipeline/pipeline.h"
#include "base/buf.h"

/* Formats lines for stderr: samples, losses by cause, ends of stacks by cause with the most frequent file, own
 * costs. */
void summary_text(const struct pipeline_report *r, double seconds, struct buf *out);
/* Formats what was found of leaks of blocks that are older than that; 0: nobody wanted to know. */
void summary_leaks(const struct heaps_figures *h, u64 old_ns, struct buf *out);
/* Formats the line about waits that were not for locks, if there were any. */
void summary_left_out(u64 waits, u64 ns, struct buf *out);
/* Returns the percentage of the time during which allocations were seen (event memory). */
double summary_heaps_share(const struct heaps_figures *h);
/* Formats a line for each event that was not recorded all the time. */
void summary_shares(const struct pipeline_report *r, struct buf *out);
/* Formats the summary as one JSON object (--summary). `start_ns`: when the recording began, in ns since 1970.
 * `more`: further members, each with a comma behind it. */
void summary_json(const struct pipeline_report *r, u64 start_ns, double seconds, const char *more, struct buf *out);
/* The state of a running recording, as pipeline_progress reports it. */
struct progress {
    u64 samples, lost, user, complete;
    bool only_timeline; /* which takes no samples: `lost` are of its events */
    u64 switches;
};
/* Formats one line without line feed: remaining time (elapsed time if `end` is 0), samples, lost samples, complete
 * stacks; or the switches of a timeline. */
void summary_progress(const struct progress *p, u64 began, u64 now, u64 end, struct buf *out);
