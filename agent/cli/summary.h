/* What a recording says about itself: for people, for scripts, and while it runs. */
#pragma once
#include "agent.h"
#include "base/buf.h"

/* Lines for stderr: samples, losses by cause, complete stacks by cause with the file most to blame, own cost. */
void summary_text(const struct agent_report *r, double seconds, struct buf *out);
/* The same as one JSON object (--summary). */
void summary_json(const struct agent_report *r, double seconds, struct buf *out);
/* One line without its end: time left (< 0: time gone), samples, lost, complete. */
void summary_progress(struct agent *a, double elapsed, double left, struct buf *out);
