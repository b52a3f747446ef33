/* The file that a COMMAND will execute. It is mapped as code before the COMMAND's process is forked, which inherits the
 * mapping: so the file is known, like those of all processes, before its first instruction is sampled.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stddef.h>

struct probe_config;

/* Finds the file that execvp(3) would execute for `name`, or, if that is a script, the interpreter that its first line
 * names ("env" stands for the program behind it). Returns 0, -ENOENT, or -ENAMETOOLONG. */
int program_find(const char *name, char *path, size_t size);
/* Maps the beginning of that file as code. Returns NULL where that is not possible: it goes on without. */
void *program_map(const char *name);
void program_unmap(void *mapping); /* NULL is nothing */

/* The same of the files of probes: a process that has mapped one of them may have ended before that could be read. */
struct program_probed {
    void *at[XP_MAX_EVENTS];
    size_t n;
};
void program_map_probed(const struct probe_config *config, struct program_probed *out);
void program_unmap_probed(struct program_probed *p);
