/* The file that holds a stripped file's debug information, in the root of a process that has it mapped. */
#pragma once
#include "bpf/types.h"

/* Looks where distributions and debuggers put it: by build ID (hex) below /usr/lib/debug/.build-id, then beside `path`,
 * in .debug/ there, and below /usr/lib/debug. Nothing is opened outside of the process's root, and what is found is
 * only a candidate: whoever reads it compares its build ID. An owned fd, opened O_RDONLY, or -ENOENT, -errno. */
int debug_file_open(u32 tgid, const char *path, const char *build_id);
