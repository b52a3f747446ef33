#include "cli/stack.h"

#define AT(field) offsetof(struct stack_options, field)
#define SECOND    1000000000ull

static const struct option_row rows[] = {
    {"all-threads", 0, OPTION_BOOL, NULL, AT(all_threads),
     .help = "show all threads of the process, also when PID is a thread ID"},
    {"times", 'n', OPTION_NUMBER, "TIMES", AT(times), 1, 100000, .fallback = "1", .help = "number of snapshots"},
    {"interval", 0, OPTION_DURATION, "TIME", AT(interval_ns), 1000000, 3600 * SECOND, .fallback = "1s",
     .help = "time between snapshots"},
    {"json", 0, OPTION_BOOL, NULL, AT(json), .help = "print one JSON object per snapshot"},
    TOOLBOX_ROWS(struct stack_options),
};

const struct command stack_command = {
    .name = "stack",
    .operands = "PID",
    .help = "show the current stack of each thread of a process, without stopping it",
    .details = "The PID of a process shows all of its threads, a thread ID only that thread.\n",
    .mixed = true,
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
