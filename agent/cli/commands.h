/* The table of commands, and the commands help, version and completion. */
#pragma once
#include "cli/options/options.h"

/* Returns all commands, in --help order. */
const struct command *const *commands(size_t *n);

/* The function that runs a command; argv[0] is the command's name. Returns the exit status. */
struct command_run {
    const char *name;
    int (*run)(int argc, char **argv);
};

/* Runs the command named by argv[1]: one of `runs` or a built-in one (help, version, and the hidden completion and
 * options-table). Returns the exit status; 2: there is no such command. */
int commands_dispatch(int argc, char **argv, const struct command_run *runs, size_t n);
