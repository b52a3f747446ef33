/* The commands that work without sampling. Each returns the exit status: 0, 1 failure,
 * 2 usage. cli/record and cli/agent hold the two commands that sample; cli/options parses the options of all commands.
 */
#pragma once

int cli_stack(int argc, char **argv);
int cli_inspect(int argc, char **argv);
int cli_symbolize(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_list(int argc, char **argv);
