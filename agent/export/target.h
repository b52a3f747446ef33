/* Runs a target: threads take profiles out of the spool, oldest first, and a window holds those that are being sent.
 *
 * Health belongs to the target: after a failure that may be the server's it is sick, nothing is sent until its back-off
 * is over, then one profile at a time until one passes. Guilt belongs to the profile: failing, while others pass
 * between its failures, is evidence; enough of it and the profile is dropped (an outage gives none: nothing passes).
 * So that there is something to pass, a sick target tries profiles that were not tried yet before suspects.
 */
#pragma once
#include "export/exporter.h"
#include "export/spool.h"

struct target;

struct target_limits {
    u64 bytes_per_s; /* expanded */
};

/* A copy of `config`, its exporters made, nothing started. 0, or -errno and why[]. */
int target_new(struct target **out, const struct export_target *config, const struct target_limits *limits, char *why,
               size_t size);
void target_free(struct target **t); /* stops it */

/* Begins to send what `spool` holds for it, going on with the counters of `before` (NULL: its own); also once more,
 * after it was stopped. */
int target_start(struct target *t, struct spool *spool, const struct target *before);
void target_stop(struct target *t);
/* Gives its place in the spool up, when it has been stopped. */
void target_forget(struct target *t);

void target_wake(struct target *t); /* there is something new */
/* Tries at once and without pacing from now on; true: everything was answered for. */
void target_flush(struct target *t, bool on);
bool target_idle(struct target *t);

const char *target_name(const struct target *t);
void target_stats(struct target *t, struct export_stats *out);
bool target_news(struct target *t, char *line, size_t size);
