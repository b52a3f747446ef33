/* Finds names of code that a runtime generated, in the maps that it writes for profilers: perf's text map
 * (/tmp/perf-PID.map; linux tools/perf/Documentation/jit-interface.txt) and jitdump (jit-PID.dump;
 * tools/perf/Documentation/jitdump-specification.txt). Both are append-only files of another program, so they are read
 * repeatedly, up to their current end. If an address is in two entries, the later one is used. Runs in the parser
 * process.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stddef.h>

/* Finds the names of n ascending addresses in the map behind fd, and where it has none, in the text map `symbols` (both
 * borrowed; -1: there is none). Appends a reply in the format of
 * dwarf/names.h to `out`: an address without entry is one frame with an empty name. Returns 0; -E2BIG: n is too large;
 * -ENOMEM; or the -errno of reading. */
int jit_names(int fd, int symbols, const u64 *addresses, size_t n, struct buf *out);
