/* What a file says of some of its offsets without an index (dwarf/name_index.h): reads its symbol tables as a whole,
 * its unwind information when an offset has no sized symbol, and its PLT when it has no name at all.
 */
#pragma once
#include "cfi/cfi.h"
#include "dwarf/name_index.h"
#include "elf/symbols.h"

struct plt;

struct code_names { /* initialise to {0} */
    const struct elf_file *e;
    struct symbol *symbols; /* of the offsets */
    struct cfi cfi;
    struct plt *plt;
    bool have_cfi, have_plt;
};

/* Looks up the symbols of n ascending offsets. `more`: a file whose .symtab has the same addresses, or NULL; both must
 * outlive *out. Returns 0 or -ENOMEM. */
int code_names_open(struct code_names *c, const struct elf_file *e, const struct elf_file *more, const u64 *offsets,
                    size_t n);
void code_names_close(struct code_names *c);
/* Finds what covers `offset`, which is number i. `named`: debug information has a name for it, so that only a symbol
 * matters. Returns 0 or -ENOMEM. */
int code_names_at(struct code_names *c, size_t i, u64 offset, bool named, struct name_hit *out);
