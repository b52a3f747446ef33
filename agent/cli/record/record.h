/* xprof record: takes samples for a limited time, symbolizes them, and writes the profile in the format of each
 * output. */
#pragma once

/* Returns the exit status: 0; 1: failure; 2: usage error; with `-- COMMAND`, that of the command. */
int cli_record(int argc, char **argv);
