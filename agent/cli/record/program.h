/* The file that a COMMAND will execute. It is mapped as code before the COMMAND's process is forked, which inherits the
 * mapping: so the file is known, like those of all processes, before its first instruction is sampled.
 */
#pragma once
#include <stddef.h>

/* Finds the file that execvp(3) would execute for `name`, or, if that is a script, the interpreter that its first line
 * names ("env" stands for the program behind it). Returns 0, -ENOENT, or -ENAMETOOLONG. */
int program_find(const char *name, char *path, size_t size);
/* Maps the beginning of that file as code. Returns NULL where that is not possible: it goes on without. */
void *program_map(const char *name);
void program_unmap(void *mapping); /* NULL is nothing */
