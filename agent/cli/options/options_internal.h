/* Declarations shared by the parser's files: options.c finds options, options_values.c reads and prints their
 * values. */
#pragma once
#include "cli/options/options.h"

struct options_parse {
    const struct command *command;
    char *out; /* the command's struct */
    struct buf *message;
    bool given[OPTIONS_MAX]; /* by row */
    char where[256];         /* location of the current value; "": on the command line */
};

/* ---- options_values.c ---- */

/* Writes "xprof COMMAND: " and the formatted text to the message. Always returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int options_complain(const struct options_parse *p, const char *fmt, ...);
/* Stores one value of an option in the struct. Returns 0; -EINVAL, with a message; -ENOMEM. */
int options_store(struct options_parse *p, const struct option_row *row, const char *text);
