/* Names from whoever knows best: Go's own table for what it covers, which is exact and has the inlined calls of
 * stripped programs, too; symbols and debug information for the rest, such as the C part of a cgo program. */
#pragma once
#include "object/names.h"

/* As names_resolve (object/names.h). */
int merged_names(int fd, int index, const u64 *offsets, size_t n, struct buf *out);
/* As dwarf_index_build_fd (object/dwarf_index.h), but -ENODATA for a file in which Go's table answers every question.
 */
int merged_lines(int fd, void **out, size_t *len);
