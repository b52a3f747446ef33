#include "cli/check.h"

static const struct option_row rows[] = {
    {"host-root", 0, OPTION_TEXT, "DIR", offsetof(struct check_options, host_root), .hint = HINT_DIRECTORY,
     .fallback = "/", .help = "where the node's file system is mounted"},
};

const struct command check_command = {
    .name = "check",
    .help = "try what is needed on this machine, and say what is missing",
    .details = "Exits with 1 when a line is marked NO; what is marked -- is only nice to have.\n",
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
