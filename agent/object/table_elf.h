/* table.h's work on an open ELF file: for those who have it in memory, or rows to add. */
#pragma once
#include "object/cfi.h"
#include "object/table.h"

/* With the rows of `code` (NULL: none). */
int table_build_elf(const struct elf_file *e, const struct table_code *code, const struct table_limits *limits,
                    struct xp_table **out, size_t *len);
int table_identify_elf(const struct elf_file *e, const struct table_code *code, const u8 secret[16],
                       struct table_key *out);
/* `c` needs cfi_find only. */
void table_identify_cfi(const struct cfi *c, const struct table_code *code, const u8 secret[16], struct table_key *out);

/* Code without FDEs in this file keeps frame pointers all the same. */
bool table_keeps_frame_pointers(const struct elf_file *e);
