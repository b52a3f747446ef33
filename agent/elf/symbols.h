/* Looks up names in .symtab and .dynsym for a few offsets, without sorting or copying the tables: one pass over all
 * symbols, in which each finds its place among the n sorted offsets. 10 M symbols cost time, not memory.
 *
 * The innermost sized symbol that covers an offset wins. Of several at one start: functions before untyped labels,
 * global and weak before local ones, fewer leading underscores, the shorter name, the smaller name; so the answer does
 * not depend on the order of the table. A symbol without size reaches to the next symbol or the end of its section.
 */
#pragma once
#include "elf/elf.h"

#define SYMBOLS_MAX_NAME (16u << 10) /* a longer name is cut; C++ templates reach a few KiB */

struct symbol {
    u64 start, end;   /* file offsets */
    const char *name; /* inside the file, `len` bytes, not terminated, any bytes; NULL: no symbol */
    u32 len;
    u8 rank;
    bool sized; /* by the table; else `end` is its section's */
};

/* offsets: ascending file offsets; out: n of them. `more`: a file whose .symtab is about the same addresses, or NULL.
 * 0, or -ENOMEM. Names live as long as both files. */
int symbols_find(const struct elf_file *e, const struct elf_file *more, const u64 *offsets, size_t n,
                 struct symbol *out);
