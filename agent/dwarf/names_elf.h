/* Finds names as names.h does, in an ELF file that is already open. */
#pragma once
#include "dwarf/demangle.h"
#include "dwarf/dwarf.h"
#include "dwarf/name_index.h"
#include "elf/elf.h"
#include "dwarf/names.h"

#define NAMES_MAX_OFFSETS (1u << 24)

/* `lines` may be NULL, and so may `symbols`, the file's debug file. */
/* `style`: enum demangle_style. */
int names_resolve_elf(const struct elf_file *e, const struct dwarf_index *lines, const struct elf_file *symbols,
                      enum demangle_style style, const u64 *offsets, size_t n, struct buf *out);
/* The same from the file's name index, without the file. */
int names_resolve_index(const struct name_index *index, const struct dwarf_index *lines, enum demangle_style style,
                        const u64 *offsets, size_t n, struct buf *out);
