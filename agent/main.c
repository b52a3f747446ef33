/* xprof: one binary, several commands. */
#include "cli/agent/agent.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/record/record.h"
#include "opener/opener.h"
#include "parser/parser.h"
#include <fcntl.h>
#include <unistd.h>

/* Whoever starts us may have closed them; what is opened next would get their numbers, and our words with them. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) /* the lowest number that is free: this one */
            return;
}

int main(int argc, char **argv)
{
    static const struct command_run runs[] = {
        {"record", cli_record},       {"agent", cli_agent}, {"stack", cli_stack}, {"inspect", cli_inspect},
        {"symbolize", cli_symbolize}, {"check", cli_check}, {"list", cli_list}};
    if (opener_is_child(argc, argv))
        return opener_child_main(argc, argv);
    if (parser_is_child(argc, argv)) /* the unprivileged half of this program */
        return parser_child_main(argc, argv);
    hold_standard_streams();
    return commands_dispatch(argc, argv, runs, sizeof(runs) / sizeof(*runs));
}
