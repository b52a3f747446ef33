/* Finds names of code that a runtime generated, in the maps that it writes for profilers: perf's text map
 * (/tmp/perf-PID.map; linux tools/perf/Documentation/jit-interface.txt) and jitdump (jit-PID.dump;
 * tools/perf/Documentation/jitdump-specification.txt). Both are append-only files of another program: read as far as
 * they go, again and again; of two entries for one address the later one counts. Runs in the parser process.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stddef.h>

/* Names each of n ascending addresses of the process whose map is behind fd (borrowed). Appends a reply of
 * dwarf/names.h to `out`: an address that is in no entry is one frame with an empty name. 0, -E2BIG (n), -ENOMEM,
 * -errno of reading. */
int jit_names(int fd, const u64 *addresses, size_t n, struct buf *out);
