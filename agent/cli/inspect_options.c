#include "cli/inspect.h"

#define AT(field) offsetof(struct inspect_options, field)

static const struct option_row rows[] = {
    {"all", 0, OPTION_BOOL, NULL, AT(all), .help = "everything about each file of a process, not of its program only"},
    {"json", 0, OPTION_BOOL, NULL, AT(json), .help = "one JSON object"},
    {"debug-dir", 0, OPTION_LIST, "DIR,...", AT(debug_dirs), .most = 16, .hint = HINT_DIRECTORY,
     .help = "look for debug files there, too (also: XPROF_DEBUG_DIR)"},
    {"cache-dir", 0, OPTION_TEXT, "DIR", AT(cache_dir), .hint = HINT_DIRECTORY,
     .help = "where unwind tables and line indexes are kept between runs"},
    {"no-cache", 0, OPTION_BOOL, NULL, AT(no_cache), .help = "make them anew and keep none"},
};

const struct command inspect_command = {
    .name = "inspect",
    .operands = "FILE|PID [ADDRESS...]",
    .help = "say how a program is unwound and named, and where its debug files were looked for",
    .details =
        "An ADDRESS (hex) is one of the process PID; of a FILE, one as nm and objdump show it.\n"
        "A file in a container: /proc/PID/root/PATH.\n",
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
