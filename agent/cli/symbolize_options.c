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
     .help = "write the profile there, in the format of its suffix (repeatable)"},
    {"format", 0, OPTION_TEXT, "NAME", AT(format), .value = format_name,
     .help = "the format of all outputs, whatever their suffix"},
    TOOLBOX_ROWS(struct symbolize_options),
};

const struct command symbolize_command = {
    .name = "symbolize",
    .operands = "FILE.pb.gz",
    .help = "name what `xprof record --raw` recorded, later or on another machine",
    .details =
        "Programs are looked for under the paths of the recording, debug files by build ID where\n"
        "they usually are and in --debug-dir; a file of another build is never used.\n",
    .mixed = true,
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};
