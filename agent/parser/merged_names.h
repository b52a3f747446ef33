/* Names from whoever knows best: Go's own table for what it covers, which is exact and has the inlined calls of
 * stripped programs, too; symbols and debug information for the rest, such as the C part of a cgo program. */
#pragma once
#include "object/dwarf_index.h"
#include "object/names.h"

/* As names_resolve (object/names.h). */
int merged_names(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out);
/* As dwarf_index_build_fds (object/dwarf_index.h), but -ENODATA for a file in which Go's table answers every question.
 */
int merged_lines(const struct dwarf_fds *f, void **out, size_t *len);
