/* The commands. Each returns the exit status: 0, 1 failure, 2 usage; `record -- COMMAND` returns the command's. */
#pragma once

int cli_record(int argc, char **argv);
int cli_agent(int argc, char **argv);
int cli_stack(int argc, char **argv);
int cli_inspect(int argc, char **argv);
int cli_symbolize(int argc, char **argv);
int cli_check(int argc, char **argv);
