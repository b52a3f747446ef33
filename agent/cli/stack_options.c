#include "cli/stack.h"

#define AT(field) offsetof(struct stack_options, field)
#define SECOND    1000000000ull

static const struct option_row rows[] = {
    {"all-threads", 0, OPTION_BOOL, NULL, AT(all_threads),
     .help = "of the whole process, though PID is one of its other threads"},
    {"times", 'n', OPTION_NUMBER, "TIMES", AT(times), 1, 100000, .fallback = "1", .help = "look so often"},
    {"interval", 0, OPTION_DURATION, "TIME", AT(interval_ns), 1000000, 3600 * SECOND, .fallback = "1s",
     .help = "time from one look to the next"},
    {"json", 0, OPTION_BOOL, NULL, AT(json), .help = "one JSON object a look"},
    TOOLBOX_ROWS(struct stack_options),
};

const struct command stack_command = {
    .name = "stack",
    .operands = "PID",
    .help = "show where each thread of a process is, running or waiting, without stopping it",
    .details = "PID of a process means all of its threads, that of another thread this one only.\n",
    .mixed = true,
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
