#include "cli/inspect.h"

#define AT(field) offsetof(struct inspect_options, field)

static const struct option_row rows[] = {
    {"all", 0, OPTION_BOOL, NULL, AT(all), .help = "show all files of a process instead of its program only"},
    {"json", 0, OPTION_BOOL, NULL, AT(json), .help = "print the result as one JSON object"},
    TOOLBOX_ROWS(struct inspect_options),
};

const struct command inspect_command = {
    .name = "inspect",
    .operands = "FILE|PID [ADDRESS...]",
    .help = "show unwind coverage, symbol sources and debug-file lookups of a program",
    .details =
        "An ADDRESS (hexadecimal) is an address in the process PID, or of a FILE as nm and objdump print it.\n"
        "A file in a container: /proc/PID/root/PATH.\n",
    .mixed = true,
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
