/* What is written about the options: help, completion, docs/options.md. */
#include "cli/options/options.h"
#include <string.h>

#define HELP_COLUMN 30

/* ---- Help ---------------------------------------------------------------------------------------------------------
 */
static void add_help_row(const struct option_row *row, struct buf *out)
{
    size_t start = out->len;
    if (row->letter)
        buf_printf(out, "  -%c, --%s", row->letter, row->flag);
    else
        buf_printf(out, "      --%s", row->flag);
    if (row->argument)
        buf_printf(out, " %s", row->argument);
    size_t width = out->len - start;
    buf_printf(out, "%*s%s", width < HELP_COLUMN ? (int)(HELP_COLUMN - width) : 1, "", row->help);
    if (row->fallback)
        buf_printf(out, " [%s]", row->fallback);
    buf_char(out, '\n');
}

static void add_values(const struct option_row *row, struct buf *out)
{
    buf_printf(out, "\n%s for --%s:", row->argument, row->flag);
    for (size_t i = 0; row->value(i); i++)
        buf_printf(out, "%s %s", i ? "," : "", row->value(i));
    buf_char(out, '\n');
}

void options_help(const struct command *c, struct buf *out)
{
    buf_printf(out, "Usage: xprof %s%s%s%s\n\n%s\n", c->name, c->nrows ? " [OPTION...]" : "", c->operands ? " " : "",
               c->operands ? c->operands : "", c->help);
    if (c->nrows)
        buf_str(out, "\nOptions:\n");
    for (size_t i = 0; i < c->nrows; i++)
        add_help_row(&c->rows[i], out);
    for (size_t i = 0; i < c->nrows; i++)
        if (c->rows[i].value)
            add_values(&c->rows[i], out);
    if (c->details)
        buf_printf(out, "\n%s", c->details);
}

void options_overview(const struct command *const *commands, size_t n, struct buf *out)
{
    buf_str(out, "Usage: xprof COMMAND [OPTION...]\n\nCommands:\n");
    for (size_t i = 0; i < n; i++)
        if (!commands[i]->hidden)
            buf_printf(out, "  %-12s%s\n", commands[i]->name, commands[i]->help);
    buf_str(out, "\n\"xprof COMMAND --help\" lists a command's options.\n");
}

/* ---- Completion ---------------------------------------------------------------------------------------------------
 */
static void add_value_case(const struct option_row *row, struct buf *out)
{
    if (row->type == OPTION_BOOL)
        return;
    buf_printf(out, "    --%s", row->flag);
    if (row->letter)
        buf_printf(out, " | -%c", row->letter);
    buf_str(out, ") ");
    if (row->value) {
        buf_str(out, "COMPREPLY=($(compgen -W \"");
        for (size_t i = 0; row->value(i); i++)
            buf_printf(out, "%s%s", i ? " " : "", row->value(i));
        buf_str(out, "\" -- \"$cur\"))");
    } else if (row->hint) {
        buf_printf(out, "COMPREPLY=($(compgen -%c -- \"$cur\"))", row->hint == HINT_FILE ? 'f' : 'd');
    } else {
        buf_str(out, "COMPREPLY=()");
    }
    buf_str(out, "; return ;;\n");
}

static void add_command_case(const struct command *c, struct buf *out)
{
    buf_printf(out, "%s)\n    case $prev in\n", c->name);
    for (size_t i = 0; i < c->nrows; i++)
        add_value_case(&c->rows[i], out);
    buf_str(out, "    esac\n    words=\"--help");
    for (size_t i = 0; i < c->nrows; i++)
        buf_printf(out, " --%s", c->rows[i].flag);
    buf_str(out, "\"\n    ;;\n");
}

/* Names of probes come from `xprof list`, which reads files that may be crafted: no name with other characters than
 * these is offered. A colon ends a word for bash. */
static void add_probes(struct buf *out)
{
    buf_str(
        out,
        "_xprof_probes() {\n"
        "local typed=${COMP_LINE:0:${COMP_POINT:-0}} last names form='^(uprobe|uretprobe|uprobe-latency|usdt):[^:]*$'\n"
        "[[ $typed =~ [[:space:]](-e|--event|list)[[:space:]]+([^[:space:]]*:[^[:space:]]*)$ ]] || return 1\n"
        "last=${BASH_REMATCH[2]##*,}\n"
        "if [[ $last =~ $form ]]; then COMPREPLY=($(compgen -f -- \"${last#*:}\")); return 0; fi\n"
        "compopt +o filenames 2>/dev/null\n"
        "names=$(\"${COMP_WORDS[0]}\" list \"$last*\" 2>/dev/null | cut -d' ' -f1 | cut -d'(' -f1 |\n"
        "    sort -u | head -n 1000 | grep -E '^[[:alnum:]_.:/?~=@-]+$')\n"
        "[ -z \"$names\" ] || mapfile -t COMPREPLY <<<\"$names\"\n"
        "COMPREPLY=(\"${COMPREPLY[@]#\"${last%\"${last##*:}\"}\"}\")\n"
        "}\n");
}

void options_completion(const struct command *const *commands, size_t n, struct buf *out)
{
    buf_str(out,
            "# bash completion for xprof, made by \"xprof completion bash\"\n"
            "# shellcheck shell=bash disable=SC2207\n");
    add_probes(out);
    buf_str(out,
            "_xprof() {\nlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
            "COMPREPLY=()\n_xprof_probes && return\n"
            "if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < n; i++)
        if (!commands[i]->hidden)
            buf_printf(out, "%s%s", i ? " " : "", commands[i]->name);
    buf_str(out, "\" -- \"$cur\"))\n    return\nfi\ncase ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < n; i++)
        if (!commands[i]->hidden)
            add_command_case(commands[i], out);
    buf_str(out,
            "esac\n"
            "if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); else "
            "COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
            "}\ncomplete -o filenames -F _xprof xprof\n");
}

/* ---- Markdown -----------------------------------------------------------------------------------------------------
 */
static void add_markdown_row(const struct option_row *row, struct buf *out)
{
    buf_str(out, "| `");
    if (row->letter)
        buf_printf(out, "-%c`, `", row->letter);
    buf_printf(out, "--%s%s%s` | ", row->flag, row->argument ? " " : "", row->argument ? row->argument : "");
    if (row->fallback)
        buf_printf(out, "`%s`", row->fallback);
    buf_printf(out, " | %s", row->help);
    for (size_t i = 0; row->value && row->value(i); i++)
        buf_printf(out, "%s `%s`", i ? "," : ":", row->value(i));
    buf_str(out, " |\n");
}

void options_markdown(const struct command *const *commands, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct command *c = commands[i];
        if (c->hidden || !c->nrows)
            continue;
        buf_printf(out, "`xprof %s [OPTION...]%s%s`: %s\n\n| option | default | what it does |\n|---|---|---|\n",
                   c->name, c->operands ? " " : "", c->operands ? c->operands : "", c->help);
        for (size_t k = 0; k < c->nrows; k++)
            add_markdown_row(&c->rows[k], out);
        buf_char(out, '\n');
    }
}
