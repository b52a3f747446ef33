#include "cli/commands.h"
#include "base/cleanup.h"
#include "cli/agent/agent_options.h"
#include "cli/check.h"
#include "cli/inspect.h"
#include "cli/list.h"
#include "cli/record/record_options.h"
#include "cli/stack.h"
#include "cli/symbolize.h"
#include <errno.h>
#include <string.h>

static const struct command help_command = {
    .name = "help",
    .operands = "[COMMAND]",
    .help = "list the commands, or the options of a command",
};
static const struct command version_command = {
    .name = "version",
    .help = "print the version",
};
static const struct command completion_command = {
    .name = "completion",
    .operands = "bash",
    .help = "print the shell's completion",
    .hidden = true,
};
static const struct command table_command = {
    .name = "options-table",
    .help = "print the tables of docs/options.md",
    .hidden = true,
};

static const struct command *const all[] = {
    &record_command, &agent_command, &stack_command,   &inspect_command,    &symbolize_command, &list_command,
    &check_command,  &help_command,  &version_command, &completion_command, &table_command,
};
#define COUNT (sizeof(all) / sizeof(*all))

const struct command *const *commands(size_t *n)
{
    *n = COUNT;
    return all;
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

static int print(struct buf *text)
{
    if (text->failed)
        return 1;
    return fwrite(text->data, 1, text->len, stdout) == text->len && !fflush(stdout) ? 0 : 1;
}

static int no_such(const char *name)
{
    fprintf(stderr, "xprof: there is no command \"%s\"; see \"xprof help\"\n", name);
    return 2;
}

/* The built-in ones have no options but --help, and at most one operand. */
static int run_builtin(const struct command *c, int argc, char **argv)
{
    AUTO_BUF struct buf text = {0};
    int at = argc;
    int rc = options_parse(c, argc, argv, NULL, &at, &text);
    if (rc)
        return options_report(rc, &text);
    const char *operand = at < argc ? argv[at] : NULL;
    if (c == &version_command) {
        buf_str(&text, "xprof " XPROF_VERSION "\n");
    } else if (c == &table_command) {
        options_markdown(all, COUNT, &text);
    } else if (c == &completion_command) {
        if (!operand || strcmp(operand, "bash") != 0)
            return no_such(operand ? operand : "completion without \"bash\"");
        options_completion(all, COUNT, &text);
    } else if (!operand) {
        options_overview(all, COUNT, &text);
    } else if (!find(operand)) {
        return no_such(operand);
    } else {
        options_help(find(operand), &text);
    }
    return print(&text);
}

static const char *name_of(const char *arg)
{
    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
        return help_command.name;
    if (strcmp(arg, "--version") == 0 || strcmp(arg, "-V") == 0)
        return version_command.name;
    return arg;
}

int commands_dispatch(int argc, char **argv, const struct command_run *runs, size_t n)
{
    AUTO_BUF struct buf text = {0};
    if (argc < 2) {
        options_overview(all, COUNT, &text);
        fwrite(text.data, 1, text.len, stderr);
        return 2;
    }
    const char *name = name_of(argv[1]);
    for (size_t i = 0; i < n; i++)
        if (strcmp(runs[i].name, name) == 0)
            return runs[i].run(argc - 1, argv + 1);
    const struct command *c = find(name);
    return c ? run_builtin(c, argc - 1, argv + 1) : no_such(name);
}
