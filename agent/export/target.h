/* Runs a target: its threads take profiles from the spool, oldest first. A window holds the profiles being sent.
 *
 * A target is sick after a failure that may be the server's fault: nothing is sent until its back-off has passed, then
 * one profile at a time until one succeeds. A profile is suspect if it fails while others succeed between its failures,
 * and is dropped if that happens often enough. (During an outage nothing succeeds, so no profile becomes suspect.) To
 * give other profiles a chance to succeed, a sick target tries new profiles before suspect ones.
 */
#pragma once
#include "export/exporter.h"
#include "export/spool.h"

struct target;

struct target_limits {
    u64 bytes_per_s; /* uncompressed */
};

/* Copies `config` and creates the exporters, but starts nothing. Returns 0, or -errno and a line in why[]. */
int target_new(struct target **out, const struct export_target *config, const struct target_limits *limits, char *why,
               size_t size);
void target_free(struct target **t); /* stops it */

/* Starts sending the profiles in `spool`, continuing the counters of `before` (NULL: its own). It can be restarted
 * after a stop. */
int target_start(struct target *t, struct spool *spool, const struct target *before);
void target_stop(struct target *t);
/* Removes the cursor of a stopped target from the spool. */
void target_forget(struct target *t);

void target_wake(struct target *t); /* call it after a put */
/* While on, sends without delays or pacing. target_idle tells whether all profiles are acknowledged.
 */
void target_flush(struct target *t, bool on);
bool target_idle(struct target *t);

const char *target_name(const struct target *t);
/* These two never wait for a disk or a server. */
void target_stats(struct target *t, struct export_stats *out);
bool target_news(struct target *t, char *line, size_t size);
