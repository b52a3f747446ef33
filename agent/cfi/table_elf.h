/* Builds unwind tables as table.h does, from an ELF file that is already open, optionally with additional rows. */
#pragma once
#include "cfi/cfi.h"
#include "cfi/gap.h"
#include "cfi/table.h"

/* All that a table is made of, read from the file once and then never looked up there again. So the key and the image
 * are of the same bytes, whoever writes to the file meanwhile: whoever makes both of one table_input need not compare
 * anything. */
struct table_input {
    struct cfi cfi; /* found, not listed */
    u8 *copy[2];    /* its sections */
    struct gap_codes known;
    bool keeps_frame_pointers;     /* code without FDEs does all the same */
    const struct table_code *code; /* rows from elsewhere, or NULL */
};
#define TABLE_MAX_CFI ((size_t)256 << 20) /* bytes of a section that can be copied; what is open-ended is cut there */

/* `fd` is what `e` was opened from; -1: `e` is in memory that nobody else writes to, and need not be copied. `e` and
 * `code` are borrowed until table_input_free; with an fd, elf_unmap may go before. 0, -ENOSPC (TABLE_MAX_CFI), -ESTALE
 * (the file was cut short meanwhile), -ENOMEM, -errno. */
int table_read(struct table_input *in, const struct elf_file *e, int fd, const struct table_code *code);
void table_input_free(struct table_input *in);
#define AUTO_INPUT __attribute__((cleanup(table_input_free))) /* initialise to {0} */
void table_key_of(const struct table_input *in, const u8 secret[16], struct table_key *out);
/* Once for each `in`: the list of FDEs goes into it. `gaps`: see table_build_filled. */
int table_make(struct table_input *in, const struct table_code *gaps, size_t n, const struct table_limits *limits,
               struct xp_table **out, size_t *len);

/* With the rows of `code` (NULL: none). */
int table_build_elf(const struct elf_file *e, const struct table_code *code, const struct table_limits *limits,
                    struct xp_table **out, size_t *len);
/* And with those of `gaps`, n of them, ascending and apart: they hold only where neither CFI nor known code nor `code`
 * has rows. An FDE-less stretch of 64 bytes or less that none of them covers stays the padding that it seems to be. */
int table_build_filled(const struct elf_file *e, const struct table_code *code, const struct table_code *gaps, size_t n,
                       const struct table_limits *limits, struct xp_table **out, size_t *len);

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
