/* -e timeline: the timeline of a recording, from its options to its files.
 */
#pragma once
#include "cli/record/output.h"
#include "cli/record/record_options.h"
#include "cli/record/summary.h"
#include "probe/probe.h"
#include "timeline/timeline.h"

bool axis_is_wanted(const struct record_options *o);
/* Copies the names of the other events. Returns their number. */
size_t axis_others(const struct record_options *o, const char *names[XP_MAX_EVENTS + 1]);
/* Says what makes no sense about the outputs. Returns 0, or -EINVAL and a line in why[]. */
int axis_check(const struct record_options *o, const struct outputs *outputs, char *why, size_t len);
/* Loads it; follows those whom the probe is for. Returns 0, or -errno and a line. */
int axis_new(struct timeline **out, const struct record_options *o, const struct probe_config *probe, char *why,
             size_t len);
/* Writes the outputs that are for it, independently of each other. Returns 0 or the first -errno. */
int axis_write(struct timeline *t, struct outputs *outputs, struct profile *p);
/* What is known while it is recorded. */
void axis_progress(const struct timeline *t, struct progress *out);
/* Formats lines for stderr; and the member of the summary, with a comma behind it. */
void axis_text(const struct timeline *t, struct buf *out);
void axis_json(const struct timeline *t, struct buf *out);
