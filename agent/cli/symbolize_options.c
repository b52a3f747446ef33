#include "cli/symbolize.h"
#include "profile/encode.h"

#define AT(field) offsetof(struct symbolize_options, field)

static const char *format_name(size_t i)
{
    size_t n;
    const struct encoder *all = encoders(&n);
    return i < n ? all[i].name : NULL;
}

static const struct option_row rows[] = {
    {"output", 'o', OPTION_REPEAT, "FILE", AT(outputs), .hint = HINT_FILE,
     .help = "output file; its suffix selects the format (repeatable)"},
    {"format", 0, OPTION_TEXT, "NAME", AT(format), .value = format_name,
     .help = "format of all output files; overrides their suffixes"},
    TOOLBOX_ROWS(struct symbolize_options),
};

const struct command symbolize_command = {
    .name = "symbolize",
    .operands = "FILE.pb.gz",
    .help = "add symbols to a profile recorded with --raw, on any machine",
    .details =
        "Programs are looked for under the paths of the recording, debug files by build ID where\n"
        "they usually are and in --debug-dir; a file of another build is never used.\n",
    .mixed = true,
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
