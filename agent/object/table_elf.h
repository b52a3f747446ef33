/* table.h's work on an open ELF file: for those who have it in memory, or rows to add. */
#pragma once
#include "object/cfi.h"
#include "object/table.h"

/* With the rows of `code` (NULL: none). */
int table_build_elf(const struct elf_file *e, const struct table_code *code, const struct table_limits *limits,
                    struct xp_table **out, size_t *len);
/* And with those of `gaps`, n of them, ascending and apart: they hold only where neither CFI nor known code nor `code`
 * has rows. An FDE-less stretch of 64 bytes or less that none of them covers stays the padding that it seems to be. */
int table_build_filled(const struct elf_file *e, const struct table_code *code, const struct table_code *gaps, size_t n,
                       const struct table_limits *limits, struct xp_table **out, size_t *len);
int table_identify_elf(const struct elf_file *e, const struct table_code *code, const u8 secret[16],
                       struct table_key *out);
/* `c` needs cfi_find only. */
void table_identify_cfi(const struct cfi *c, const struct table_code *code, const u8 secret[16], struct table_key *out);

struct table_span { /* file offsets */
    u64 start, end;
};
typedef VEC(struct table_span) table_spans;
/* The code that table_build_elf finds rows for: FDEs, known code, `code`. Ascending, not overlapping, those that touch
 * not joined. Appends to `out`, which is empty. 0, -ENOSPC (limits), -ENOMEM. */
int table_covered(const struct elf_file *e, const struct table_code *code, const struct table_limits *limits,
                  table_spans *out);

/* What of an FDE is left beside `code` (or NULL): it may begin in front of it. False: nothing. */
bool table_trim_fde(const struct table_code *code, struct cfi_fde *f);

/* Code without FDEs in this file keeps frame pointers all the same. */
bool table_keeps_frame_pointers(const struct elf_file *e);
