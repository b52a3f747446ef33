/* Looks up names in .symtab and .dynsym for a few offsets, without sorting or copying the tables: one pass over all
 * symbols looks up each symbol among the n sorted offsets. 10 million symbols cost time, but no memory.
 *
 * The innermost sized symbol that covers an offset is used. Among symbols with the same start, functions are preferred
 * to untyped labels, then global and weak symbols to local ones, then fewer leading underscores, then the shorter name,
 * then the first in sort order; so the result does not depend on the order of the table. A symbol without size extends
 * to the next symbol or the end of its section.
 */
#pragma once
#include "elf/elf.h"

#define SYMBOLS_MAX_NAME (16u << 10) /* longer names are truncated; C++ templates reach a few KiB */

struct symbol {
    u64 start, end;   /* file offsets; of variables, link-time addresses */
    const char *name; /* inside the file, `len` bytes, not terminated, any bytes; NULL: no symbol */
    u32 len;
    u8 rank;
    bool sized; /* has a size in the table; else `end` is that of its section */
};

/* offsets: n ascending file offsets; out: n symbols. `more`: a file whose .symtab has the same addresses, or NULL.
 * Names are valid as long as both files. Returns 0 or -ENOMEM. */
int symbols_find(const struct elf_file *e, const struct elf_file *more, const u64 *offsets, size_t n,
                 struct symbol *out);
/* The same for variables, by n ascending link-time addresses; start and end are addresses, too. Thread-local variables
 * have none. */
int symbols_find_data(const struct elf_file *e, const struct elf_file *more, const u64 *addresses, size_t n,
                      struct symbol *out);
/* Lists all symbols of the same tables, by ascending start; of those with the same start, the preferred one is last.
 * *out is malloc'ed and owned by the caller. Returns 0; -ENOSPC: there are more than `max`; -ENOMEM. */
int symbols_list(const struct elf_file *e, const struct elf_file *more, size_t max, struct symbol **out, size_t *n);
