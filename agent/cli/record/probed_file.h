/* Opens the FILE of a probe: a path, `pid:N:PATH` in the root directory of a process,
 * `pod:NAMESPACE/NAME/CONTAINER:PATH` in that of a container (pod_file.h), or the bare name of a library or program: of
 * one that a process of -p has mapped, or that is found where those are looked for.
 */
#pragma once
#include "cli/options/options.h"

struct probed_where {
    struct option_numbers pids; /* of -p; borrowed */
    const char *cri_socket;     /* NULL: the first known one */
};
/* Returns an owned descriptor of a regular file, or -errno and a line. */
int record_open_probed(const struct probed_where *where, const char *file, char *why, size_t len);
