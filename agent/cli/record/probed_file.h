/* Opens the FILE of a probe: a path, `pid:N:PATH` in the root directory of a process,
 * `pod:NAMESPACE/NAME/CONTAINER:PATH` in that of a container (pod_file.h), or the bare name of a library or program,
 * which is looked for where those are (and by copies.h in what runs). And says what is in it.
 */
#pragma once
#include "cli/options/options.h"
#include "parser/parser.h"

struct probed_where {
    struct option_numbers pids;    /* of -p; borrowed */
    const char *cri_socket;        /* NULL: the first known one */
    struct option_list debug_dirs; /* more directories with debug files; borrowed */
    bool running;                  /* bare names are those of what runs: of all copies that processes have mapped */
};
struct probed_file {
    int fd;     /* owned: a regular file */
    int root;   /* owned: O_PATH of the root directory that it is in */
    char *path; /* owned: where it is there */
};
#define PROBED_FILE_NONE      \
    {                         \
        .fd = -1, .root = -1, \
    }
void probed_file_free(struct probed_file *f);
/* Opens it. Returns 0, or -errno and a line. */
int record_open_probed(const struct probed_where *where, const char *file, struct probed_file *out, char *why,
                       size_t len);

/* Opens a path in the root directory of a process. Returns 0 or -errno. */
int record_open_in(u64 pid, const char *path, struct probed_file *out);

/* Each of these has a parser process of its own say what is there, and returns 0 or -errno: a struct functions. Names
 * are in the file's debug file, too, if it has one (debug/debug.h). */
int record_ask_functions(const struct probed_where *where, const struct probed_file *f, const char *pattern,
                         struct parser_reply *out);
/* A struct usdt. */
int record_ask_usdt(const struct probed_file *f, const char *pattern, struct parser_reply *out);
/* As named_file_check_returns. */
int record_ask_returns(const struct probed_file *f);
