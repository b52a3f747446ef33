#include "cli/inspect.h"

#define AT(field) offsetof(struct inspect_options, field)

static const struct option_row rows[] = {
    {"all", 0, OPTION_BOOL, NULL, AT(all), .help = "everything about each file of a process, not of its program only"},
    {"json", 0, OPTION_BOOL, NULL, AT(json), .help = "one JSON object"},
    TOOLBOX_ROWS(struct inspect_options),
};

const struct command inspect_command = {
    .name = "inspect",
    .operands = "FILE|PID [ADDRESS...]",
    .help = "say how a program is unwound and named, and where its debug files were looked for",
    .details =
        "An ADDRESS (hex) is one of the process PID; of a FILE, one as nm and objdump show it.\n"
        "A file in a container: /proc/PID/root/PATH.\n",
    .mixed = true,
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
