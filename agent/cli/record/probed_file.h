/* Opens the FILE of a probe: a path, `pid:N:PATH` in the root directory of a process, or the bare name of a library or
 * program: of one that a process of -p has mapped, or that is found where those are looked for.
 */
#pragma once
#include "cli/options/options.h"

/* Returns an owned descriptor of a regular file, or -errno and a line. `pids`: of -p. */
int record_open_probed(const struct option_numbers *pids, const char *file, char *why, size_t len);
