/* Finds names in the best source for each address: a runtime's own table (Go) for the code that it covers, which is
 * exact and contains inlined calls even in stripped programs; symbols and debug information for the rest, such as the C
 * part of a cgo program.
 */
#pragma once
#include "dwarf/dwarf.h"
#include "dwarf/names.h"

/* As names_resolve (dwarf/names.h). */
int merged_names(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out);
/* As names_index_fds (dwarf/names.h), but returns -ENODATA for a file whose Go table covers everything. */
int merged_name_index(const struct names_fds *f, void **out, size_t *len);
/* Like dwarf_index_build_fds (dwarf/dwarf.h), but returns -ENODATA for a file whose Go table covers everything.
 */
int merged_lines(const struct dwarf_fds *f, void **out, size_t *len);
