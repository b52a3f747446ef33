/* Parses options from one table of rows per command. The parser, the range checks and their messages, --help, the bash
 * completion and the table in the documentation all use that table, so that they agree.
 *
 * The parser accepts --flag VALUE, --flag=VALUE, -f VALUE, -fVALUE, bundles of letters (-av), "--", and -h/--help
 * everywhere. The first operand ends the options of a command that takes operands, unless it is said to mix them.
 * Values land in a typed struct of the command's own; numbers are in the base unit (bytes, nanoseconds). Messages go to
 * a buffer; the caller prints them.
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
    OPTION_SWITCH,   /* bool: on or off; --flag alone means on, --flag=off means off */
    OPTION_TEXT,     /* const char *: borrowed from argv or the table; NULL when not given */
    OPTION_NUMBER,   /* u64 in min..max */
    OPTION_SIZE,     /* u64 bytes in min..max; suffix K, M, G, T (powers of 1024) */
    OPTION_DURATION, /* u64 nanoseconds in min..max; suffix ns, us, ms, s, m, h; seconds without one */
    OPTION_REPEAT,   /* struct option_list: one item each time it is given */
    OPTION_LIST,     /* struct option_list: items between commas, and repeatable */
    OPTION_NUMBERS,  /* struct option_numbers: numbers in min..max between commas, and repeatable */
};

/* What the shell may offer as a value. */
enum option_hint { HINT_NONE, HINT_FILE, HINT_DIRECTORY };

struct option_row {
    const char *flag; /* without "--" */
    char letter;      /* 0: none */
    enum option_type type;
    const char *argument; /* its name in --help; NULL for OPTION_BOOL */
    size_t offset;        /* in the command's struct */
    u64 min, max;
    size_t most;          /* items of a list; 0: any number */
    const char *fallback; /* what stands in when it is not given, as it would be typed; NULL: nothing, 0 */
    enum option_hint hint;
    const char *(*value)(size_t i); /* the i-th value that exists, NULL behind the last; NULL: any */
    const char *help;               /* one line */
};

struct command {
    const char *name;
    const char *operands; /* "[-- COMMAND [ARGUMENT...]]"; NULL: takes none */
    const char *help;     /* one line */
    const char *details;  /* below the options in --help; NULL: nothing */
    const struct option_row *rows;
    size_t nrows; /* <= 64 */
    bool mixed;   /* options may follow operands, too */
    bool hidden;  /* neither listed nor completed */
};

/* Where values come from that the command line does not give: environment, configuration file. `value` hands out the
 * i-th value of an option, NULL when there is no more (none at all for i = 0), and says where it stands ("XPROF_RATE",
 * "xprof.yaml:3: rate"). A list is one value with commas or one for each item. Borrowed. */
struct option_source {
    const char *(*value)(void *ctx, const struct option_row *row, size_t i, char *where, size_t len);
    void *ctx;
};

/* XPROF_ and the flag in capitals, '-' as '_'. */
extern const struct option_source options_environment;

/* Fills the struct at `out` (zeroed by the caller). argv[0] is the command's name; operands are moved to its end.
 * *operands is the first operand's index, argc when there is none. 0; -EINVAL with one line for stderr in `message`;
 * -ECANCELED with the help for stdout. Lists are to be freed by options_free in every case. */
int options_parse(const struct command *c, int argc, char **argv, void *out, int *operands, struct buf *message);
/* The same; an option that the command line does not give is the first source's that has it, before the fallback. */
int options_parse_from(const struct command *c, int argc, char **argv, const struct option_source *sources, size_t n,
                       void *out, int *operands, struct buf *message);
/* The value of an option as one would type it: for messages and --print-config. False: not given, an empty list. */
bool options_format(const struct option_row *row, const void *out, struct buf *text);
void options_free(const struct command *c, void *out);

/* Prints the message where it belongs. The exit status: 0 after help, 2 after a mistake. */
int options_report(int rc, const struct buf *message);

/* --help of one command, and of the program. */
void options_help(const struct command *c, struct buf *out);
void options_overview(const struct command *const *commands, size_t n, struct buf *out);
/* The bash completion, and the tables of docs/options.md. */
void options_completion(const struct command *const *commands, size_t n, struct buf *out);
void options_markdown(const struct command *const *commands, size_t n, struct buf *out);
