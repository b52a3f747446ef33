/* xprof: one binary, several commands. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "parser/parser.h"

int main(int argc, char **argv)
{
    static const struct command_run runs[] = {{"record", cli_record},       {"agent", cli_agent},
                                              {"stack", cli_stack},         {"inspect", cli_inspect},
                                              {"symbolize", cli_symbolize}, {"check", cli_check}};
    if (parser_is_child(argc, argv)) /* the unprivileged half of this program */
        return parser_child_main(argc, argv);
    return commands_dispatch(argc, argv, runs, sizeof(runs) / sizeof(*runs));
}
