/* Parses options from one table of rows per command. The parser, the range checks and their messages, --help, the bash
 * completion and the table in the documentation all use that table, so that they are consistent.
 *
 * The parser accepts --flag VALUE, --flag=VALUE, -f VALUE, -fVALUE, bundles of letters (-av), "--", and -h/--help
 * everywhere. If a command takes operands, the first operand ends its options, unless `mixed` is set. Values are stored
 * in a typed struct of the command; numbers are in the base unit (bytes, nanoseconds). Messages are written to a
 * buffer; the caller prints them.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct option_list {
    char **v; /* owned */
    size_t n;
};
struct option_numbers {
    u64 *v; /* owned */
    size_t n;
};

enum option_type {
    OPTION_BOOL,     /* bool: given or not */
    OPTION_SWITCH,   /* bool: on or off; --flag alone means on */
    OPTION_TEXT,     /* const char *: borrowed from argv or the table; NULL if not given */
    OPTION_NUMBER,   /* u64 in min..max */
    OPTION_PERCENT,  /* u64 in min..max; a % behind it is fine; off is 0 */
    OPTION_SIZE,     /* u64 bytes in min..max; suffix K, M, G, T (powers of 1024) */
    OPTION_DURATION, /* u64 nanoseconds in min..max; suffix ns, us, ms, s, m, h; seconds without one */
    OPTION_REPEAT,   /* struct option_list: one item each time it is given */
    OPTION_LIST,     /* struct option_list: items between commas, and repeatable */
    OPTION_NUMBERS,  /* struct option_numbers: numbers in min..max between commas, and repeatable */
};

/* What the shell completes as a value. */
enum option_hint { HINT_NONE, HINT_FILE, HINT_DIRECTORY };

struct option_row {
    const char *flag; /* without "--" */
    char letter;      /* 0: none */
    enum option_type type;
    const char *argument; /* its name in --help; NULL for OPTION_BOOL */
    size_t offset;        /* in the command's struct */
    u64 min, max;
    size_t most;          /* items of a list; 0: any number */
    const char *fallback; /* default value, as typed; NULL: none (0) */
    enum option_hint hint;
    const char *(*value)(size_t i); /* returns the i-th valid value, NULL past the last; NULL: any */
    /* Returns the valid value that a text stands for, which is stored; NULL: none. Unset: there are no aliases. */
    const char *(*resolve)(const char *text);
    /* Returns the length of the first item of a list. Unset: it ends at the next comma. */
    size_t (*item)(const char *text);
    const char *listing; /* the command that lists the valid values, for messages; NULL: messages list them */
    const char *help;    /* one line */
};

#define OPTIONS_MAX 128 /* of a command */

struct command {
    const char *name;
    const char *operands; /* "[-- COMMAND [ARGUMENT...]]"; NULL: takes none */
    const char *help;     /* one line */
    const char *details;  /* below the options in --help; NULL: nothing */
    const struct option_row *rows;
    size_t nrows; /* <= OPTIONS_MAX */
    bool mixed;   /* options may also follow operands */
    bool hidden;  /* neither listed nor completed */
};

/* A source of values that are not on the command line: environment or configuration file. `value` returns the i-th
 * value of an option (borrowed) and its location ("XPROF_RATE", "xprof.yaml:3: rate"); NULL: there are no more (for i =
 * 0: none at all). A list is one value with commas or one value per item. */
struct option_source {
    const char *(*value)(void *ctx, const struct option_row *row, size_t i, char *where, size_t len);
    void *ctx;
};

/* The environment: XPROF_ and the flag in upper case, with '_' for '-'. */
extern const struct option_source options_environment;

/* Fills the struct at `out` (zeroed by the caller). argv[0] is the command's name; operands are moved to its end.
 * *operands is set to the index of the first operand, argc if there is none. Returns 0; -EINVAL with one line for
 * stderr in `message`; -ECANCELED with the help for stdout in `message`. Call options_free in every case. */
int options_parse(const struct command *c, int argc, char **argv, void *out, int *operands, struct buf *message);
/* The same; an option that is not on the command line is taken from the first source that has it, else from the
 * fallback. */
int options_parse_from(const struct command *c, int argc, char **argv, const struct option_source *sources, size_t n,
                       void *out, int *operands, struct buf *message);
/* Returns what a switch says: 1 on, 0 off; -1: neither. */
int option_switch(const char *text);
/* Formats the value of an option as one would type it, for messages and --print-config. False: not given, or an empty
 * list. */
bool options_format(const struct option_row *row, const void *out, struct buf *text);
void options_free(const struct command *c, void *out);

/* Prints the message to stdout (help) or stderr (error). Returns the exit status: 0 after help, 2 after an error. */
int options_report(int rc, const struct buf *message);

/* --help of one command, and of the program. */
void options_help(const struct command *c, struct buf *out);
void options_overview(const struct command *const *commands, size_t n, struct buf *out);
/* The bash completion, and the tables of docs/options.md. */
void options_completion(const struct command *const *commands, size_t n, struct buf *out);
void options_markdown(const struct command *const *commands, size_t n, struct buf *out);
