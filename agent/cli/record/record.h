/* xprof record: samples for a while, names what was counted, and writes the profile in the format of each output. */
#pragma once

/* The exit status: 0, 1 failure, 2 usage; with `-- COMMAND`, the command's own. */
int cli_record(int argc, char **argv);
