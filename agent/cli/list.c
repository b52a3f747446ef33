#include "cli/list.h"
#include "cli/cli.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "cli/list_probes.h"
#include "cli/list_tracepoints.h"
#include "cli/record/record_options.h"
#include "events/events.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct option_row rows[] = {
    {"json", 0, OPTION_BOOL, NULL, offsetof(struct list_options, json), .help = "print a JSON array"},
    {"cri-socket", 0, OPTION_TEXT, "PATH", offsetof(struct list_options, cri_socket), .hint = HINT_FILE,
     .help = "socket of the container runtime, for files of pods (default: the first known one that exists)"},
};

const struct command list_command = {
    .name = "list",
    .operands = "[PATTERN]",
    .mixed = true,
    .help = "list the events that can be recorded, with their cost and what they need; or tracepoints, functions etc.",
    .details =
        "COST is that of the event itself, beside the stacks that are taken. RATE is the default\n"
        "sampling rate of `xprof record`, per second and CPU; without one, nothing is left out.\n\n"
        "With a PATTERN, which may have * and ?, it lists the tracepoints and system calls of this\n"
        "kernel that have it in their names, with their fields: numbers, and \"texts\".\n\n"
        "uprobe:FILE[:PATTERN] are functions of a file, each with how the kernel gets over a probe\n"
        "there: \"emulated\" takes 0.7 us, \"single-stepped\" 10 times that; what is \"indirect\" is\n"
        "chosen at start. usdt:FILE[:PROVIDER[:NAME]] are USDT probes, with their arguments. FILE is a\n"
        "path, a bare name, pid:N:/PATH, pid:N, the program of a process, or\n"
        "pod:NAMESPACE/NAME/CONTAINER:/PATH.\n\n"
        "Examples:\n"
        "  xprof list\n"
        "  xprof list openat\n"
        "  xprof list 'tracepoint:block:*'\n"
        "  xprof list uprobe:libc.so.6:alloc\n"
        "  xprof list usdt:libstdc++.so.6\n",
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};

/* Not counted as the others are, but given to -e as they are. */
static const struct event_kind TIMELINE = {
    .name = RECORD_TIMELINE,
    .values = {{"", "-", ""}},
    .cost = EVENT_COST_MEDIUM,
    .series = "",
    .needs = "",
    .help = "who ran, waited, and woke whom, on a time axis (-o FILE.json)",
};

/* The events of the table, and behind them the timeline; NULL: no more. */
static const struct event_kind *listed(size_t i)
{
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    return i < n ? &k[i] : i == n ? &TIMELINE : NULL;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

enum column { NAME, UNIT, COST, RATE, NEEDS, HELP, COLUMNS };

/* The text of a row in a column; the numbers go to `number`. */
static const char *cell(const struct event_kind *k, enum column c, char number[16])
{
    switch (c) {
    case NAME:
        return k->name;
    case UNIT:
        return k->values[k->main].unit;
    case COST:
        return event_cost_name(k->cost);
    case RATE:
        snprintf(number, 16, k->default_hz ? "%u" : "-", k->default_hz);
        return number;
    case NEEDS:
        return k->needs[0] ? k->needs : "-";
    default:
        return k->help;
    }
}

/* A column is as wide as its longest text and two blanks; the last one is not filled up. */
static void add_cell(const char *text, size_t width, enum column c, struct buf *out)
{
    if (c + 1 < COLUMNS)
        buf_printf(out, "%-*s  ", (int)width, text);
    else
        buf_printf(out, "%s\n", text);
}

void list_text(struct buf *out)
{
    static const char *const headings[COLUMNS] = {"NAME", "UNIT", "COST", "RATE", "NEEDS", "WHAT IT COUNTS"};
    size_t width[COLUMNS];
    char number[16];
    for (enum column c = 0; c < COLUMNS; c++) {
        width[c] = strlen(headings[c]);
        for (size_t i = 0; listed(i); i++)
            if (strlen(cell(listed(i), c, number)) > width[c])
                width[c] = strlen(cell(listed(i), c, number));
    }
    for (enum column c = 0; c < COLUMNS; c++)
        add_cell(headings[c], width[c], c, out);
    for (size_t i = 0; listed(i); i++)
        for (enum column c = 0; c < COLUMNS; c++)
            add_cell(cell(listed(i), c, number), width[c], c, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_string(const char *key, const char *value, struct buf *out)
{
    buf_printf(out, ",\"%s\":", key);
    buf_json(out, value);
}

static void add_aliases(const struct event_kind *k, struct buf *out)
{
    buf_str(out, ",\"aliases\":[");
    for (size_t i = 0; k->aliases[i]; i++) {
        buf_str(out, i ? "," : "");
        buf_json(out, k->aliases[i]);
    }
    buf_char(out, ']');
}

void list_json(struct buf *out)
{
    const struct event_kind *k;
    for (size_t i = 0; (k = listed(i)); i++) {
        buf_str(out, i ? ",\n{\"name\":" : "[{\"name\":");
        buf_json(out, k->name);
        add_aliases(k, out);
        add_string("unit", k->values[k->main].unit, out);
        add_string("type", k->values[k->main].type, out);
        add_string("series", k->series, out);
        add_string("cost", event_cost_name(k->cost), out);
        buf_printf(out, ",\"default_rate\":%u", k->default_hz);
        add_string("needs", k->needs, out);
        add_string("help", k->help, out);
        buf_char(out, '}');
    }
    buf_str(out, "]\n");
}

static int fail(const char *pattern, int rc)
{
    if (rc == -ENODATA)
        log_error("no tracepoint and no system call of this kernel has \"%s\" in its name", pattern);
    else
        log_error("tracefs can be neither found nor mounted (%s): run as root", strerror(-rc));
    return 1;
}

/* The status to exit with, when the output is written. */
static int list_of_file(const char *text, const struct list_options *o, struct buf *out)
{
    unsigned left_out = 0;
    char why[512];
    if (list_probes(text, o, out, &left_out, why, sizeof(why))) {
        log_error("%s", why);
        return 1;
    }
    if (left_out)
        log_warn("%u more are left out: give a narrower pattern", left_out);
    return 0;
}

static int list_all(bool json, struct buf *out)
{
    if (json)
        list_json(out);
    else
        list_text(out);
    return 0;
}

int cli_list(int argc, char **argv)
{
    AUTO_BUF struct buf text = {0};
    struct list_options o = {0};
    int at;
    int rc = options_parse(&list_command, argc, argv, &o, &at, &text);
    if (rc)
        return options_report(rc, &text);
    if (at + 1 < argc) {
        log_error("only one pattern at a time: unexpected argument %s", argv[at + 1]);
        return 2;
    }
    if (at < argc && list_is_of_probes(argv[at]))
        rc = list_of_file(argv[at], &o, &text);
    else if (at < argc)
        rc = (rc = list_tracepoints(argv[at], o.json, &text)) ? fail(argv[at], rc) : 0;
    else
        rc = list_all(o.json, &text);
    if (rc)
        return rc;
    return text.failed || fs_write_all(STDOUT_FILENO, text.data, text.len) ? 1 : 0;
}
