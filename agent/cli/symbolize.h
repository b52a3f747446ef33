/* The options of xprof symbolize. */
#pragma once
#include "cli/toolbox.h"

struct symbolize_options {
    struct option_list outputs;
    const char *format;
    struct toolbox_options tools;
};
extern const struct command symbolize_command;
