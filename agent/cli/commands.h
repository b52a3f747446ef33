/* The table of commands, and the commands help, version and completion. */
#pragma once
#include "cli/options/options.h"

/* All of them, in --help order. */
const struct command *const *commands(size_t *n);

/* What runs a command; argv[0] is its name. The exit status. */
struct command_run {
    const char *name;
    int (*run)(int argc, char **argv);
};

/* Runs the command that argv[1] names: one of `runs` or a built-in (help, version, and the hidden completion and
 * options-table). The exit status: 2 when there is no such command. */
int commands_dispatch(int argc, char **argv, const struct command_run *runs, size_t n);
