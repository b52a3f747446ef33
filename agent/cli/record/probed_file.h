/* Opens the FILE of a probe: a path, `pid:N:PATH` in the root directory of a process,
 * `pod:NAMESPACE/NAME/CONTAINER:PATH` in that of a container (pod_file.h), or the bare name of a library or program: of
 * one that a process of -p has mapped, or that is found where those are looked for.
 */
#pragma once
#include "cli/options/options.h"
#include "parser/parser.h"

struct probed_where {
    struct option_numbers pids; /* of -p; borrowed */
    const char *cri_socket;     /* NULL: the first known one */
};
/* Returns an owned descriptor of a regular file, or -errno and a line. */
int record_open_probed(const struct probed_where *where, const char *file, char *why, size_t len);
/* Has a parser process of its own say what is of this name or pattern there: `request` is parser_functions or
 * parser_usdt. Returns 0 or -errno. */
typedef int probed_request(struct parser *p, int fd, const char *pattern, struct parser_reply *out);
int record_ask_probed(probed_request *request, int fd, const char *pattern, struct parser_reply *out);
