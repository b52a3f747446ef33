/* GDB's JIT interface: a list of ELF objects in the memory of a process, which a JIT compiler keeps for debuggers. */
#pragma once
#include "base/buf.h"
#include "generated/sections.h"

/* Adds the sections with CFI of all objects to `s`, and their symbols to `text` (generated.h). `program`: the file of
 * the process's program, borrowed; -1: none. */
void descriptor_read(struct memory *m, int program, struct sections *s, struct buf *text);

/* One object of the list; `bytes` are in memory of this process. */
void object_read(struct memory *m, const u8 *bytes, size_t len, struct sections *s, struct buf *text);
