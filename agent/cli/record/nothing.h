/* Why there may be no samples of processes that were there all the time.
 */
#pragma once
#include "probe/probe.h"

/* What processes without samples did not do: a clock only ticks for threads that run, so that one which waited all the
 * time has none, and one which ran all the time was never blocked. NULL: nothing can be said. */
const char *nothing_because(const struct probe_config *c);
