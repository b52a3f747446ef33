/* Finds rows for the start-up code of a file that its compiler linked in without unwind information: what the arrays of
 * functions to be called at the end name, those at the start beside them, and what these call nearby. Every program and
 * library has some 150 bytes of it, and each thread that runs a destructor of a library has it in its stack. So it is
 * read at once, with the CFI: it takes some microseconds, however large the file is.
 */
#pragma once
#include "synth/synth.h"

/* `out` must be {0}; release it with synth_free. Its ranges contain code with FDEs as well. Returns 0, also if there
 * are no rows; or -ENOMEM. */
int synth_read_startup(const struct elf_file *e, struct synth *out);
