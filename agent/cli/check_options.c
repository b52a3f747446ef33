#include "cli/check.h"

static const struct option_row rows[] = {
    {"host-root", 0, OPTION_TEXT, "DIR", offsetof(struct check_options, host_root), .hint = HINT_DIRECTORY,
     .fallback = "/", .help = "directory where the node's root file system is mounted"},
};

const struct command check_command = {
    .name = "check",
    .help = "check that this machine meets the requirements",
    .details = "The exit status is 1 when a line is marked NO; lines marked -- are optional.\n",
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
