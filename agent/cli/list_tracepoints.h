/* xprof list PATTERN: the tracepoints and system calls of this kernel, and their fields. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>

/* Appends a line for each one whose name, as -e takes it, has the pattern in it (or all of it, where the pattern has *
 * or ?); or a JSON array. Returns 0; -ENODATA: there is none; or another -errno of tracefs. */
int list_tracepoints(const char *pattern, bool json, struct buf *out);
