/* Reads line number programs (DWARF 2 to 5, 6.2): the rows of one unit, in ascending order of addresses.
 *
 * A row applies up to the next one. A sequence that is not closed, not ascending, or that starts outside of code is
 * dropped: linkers leave such sequences.
 */
#pragma once
#include "dwarf/file.h"

#define DWARF_MAX_ROWS  (1u << 23) /* of one unit */
#define DWARF_MAX_FILES (1u << 16) /* files or directories of one program */

struct dwarf_row {
    u64 address;
    u32 file;      /* 1 + the number in the header; 0: none */
    u32 line : 31; /* 0: no line */
    u32 sequence_end : 1;
};
struct dwarf_source {
    const char *name; /* NULL: none */
    u64 dir;
};
struct dwarf_lines {
    VEC(struct dwarf_row) rows;
    VEC(const char *) dirs; /* by the numbers of the header */
    VEC(struct dwarf_source) files;
    u64 steps; /* number of opcodes executed */
};

/* Reads the unit's program, at most `max_steps` opcodes. Returns 0, also for a truncated program; -ENODATA: no program;
 * -ENOTSUP; -EBADMSG; -ENOSPC; -ENOMEM. */
int dwarf_lines_read(struct dwarf_file *d, const struct dwarf_unit *u, u64 max_steps, struct dwarf_lines *out);
void dwarf_lines_free(struct dwarf_lines *l);
/* Returns the path of file number `no` as written by the compiler; relative paths are resolved against the unit's
 * directory. NULL: none. */
const char *dwarf_lines_path(const struct dwarf_lines *l, const struct dwarf_unit *u, u64 no, char *buf, size_t size);
