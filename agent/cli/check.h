/* The options and entry point of xprof check. */
#pragma once
#include "cli/options/options.h"

struct check_options {
    const char *host_root;
};
extern const struct command check_command;
