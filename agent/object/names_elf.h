/* names.h's work on an open ELF file. */
#pragma once
#include "object/demangle.h"
#include "object/dwarf_index.h"
#include "object/elf_file.h"
#include "object/names.h"

#define NAMES_MAX_OFFSETS (1u << 24)

/* `lines` may be NULL, and so may `symbols`, the file's debug file. */
/* `style`: enum demangle_style. */
int names_resolve_elf(const struct elf_file *e, const struct dwarf_index *lines, const struct elf_file *symbols,
                      enum demangle_style style, const u64 *offsets, size_t n, struct buf *out);
