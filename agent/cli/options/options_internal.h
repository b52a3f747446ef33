/* The parser from inside: options.c finds options, options_values.c reads and prints their values. */
#pragma once
#include "cli/options/options.h"

struct options_parse {
    const struct command *command;
    char *out; /* the command's struct */
    struct buf *message;
    u64 given;       /* a bit for each row */
    char where[256]; /* where the value at hand stands; "": on the command line */
};

/* ---- options_values.c ---- */

/* "xprof COMMAND: " and the sentence. Always -EINVAL. */
__attribute__((format(printf, 2, 3))) int options_complain(const struct options_parse *p, const char *fmt, ...);
/* One value of an option into the struct. 0; -EINVAL, with a message; -ENOMEM. */
int options_store(struct options_parse *p, const struct option_row *row, const char *text);
