/* Builds unwind tables as table.h does, from an ELF file that is already open, optionally with additional rows. */
#pragma once
#include "cfi/cfi.h"
#include "cfi/gap.h"
#include "cfi/loops.h"
#include "cfi/table.h"

/* All data needed to build a table, read from the file once and never read again. So a key and an image built from one
 * table_input belong to the same bytes, even if the file is modified in the meantime. */
struct table_input {
    struct cfi cfi; /* sections found, FDEs not listed yet */
    u8 *copy[2];    /* its sections */
    struct gap_codes known;
    struct loops loops;
    bool keeps_frame_pointers;     /* code without FDEs keeps frame pointers as well */
    bool v8;                       /* because it is builtins of V8 */
    const struct table_code *code; /* rows from elsewhere, or NULL */
    const struct table_code *gaps; /* rows that hold in gaps only: ascending, disjoint; borrowed, set by the caller */
    size_t ngaps;
};
#define TABLE_MAX_CFI ((size_t)256 << 20) /* maximum size of a copied section; open-ended ones are truncated */

/* `e` was opened from `fd`; -1: `e` is in private memory and need not be copied. `e` and `code` are borrowed until
 * table_input_free; with an fd, elf_unmap may be called before. Returns 0; -ENOSPC: TABLE_MAX_CFI is exceeded; -ESTALE:
 * the file was truncated in the meantime; -ENOMEM; or another -errno. */
int table_read(struct table_input *in, const struct elf_file *e, int fd, const struct table_code *code);
void table_input_free(struct table_input *in);
#define AUTO_INPUT __attribute__((cleanup(table_input_free))) /* initialise to {0} */
void table_key_of(const struct table_input *in, const u8 secret[16], struct table_key *out);
/* Builds the image; call it once per `in`, because it stores the list of FDEs there. `gaps`: see table_build_filled. */
int table_make(struct table_input *in, const struct table_code *gaps, size_t n, const struct table_limits *limits,
               struct xp_table **out, size_t *len);

/* Builds the image with the rows of `code` (NULL: none). */
int table_build_elf(const struct elf_file *e, const struct table_code *code, const struct table_limits *limits,
                    struct xp_table **out, size_t *len);
/* Also with the rows of n `gaps`, ascending and disjoint. They apply only where neither CFI nor known code nor `code`
 * has rows. A range of up to 64 bytes without FDE that no gap covers is still treated as padding. */
int table_build_filled(const struct elf_file *e, const struct table_code *code, const struct table_code *gaps, size_t n,
                       const struct table_limits *limits, struct xp_table **out, size_t *len);

struct table_span { /* file offsets */
    u64 start, end;
};
typedef VEC(struct table_span) table_spans;
/* Appends the code for which table_build_elf finds rows to `out`, which must be empty: FDEs, known code, `code`. Spans
 * are ascending and disjoint; adjacent spans are not merged. Returns 0; -ENOSPC: a limit was exceeded; -ENOMEM. */
int table_covered(const struct elf_file *e, const struct table_code *code, const struct table_limits *limits,
                  table_spans *out);

/* Restricts an FDE to the part not covered by `code` (or NULL); it may start before it. False: nothing remains. */
bool table_trim_fde(const struct table_code *code, struct cfi_fde *f);

/* Tells whether code without FDEs in this file is builtins of V8, which keep frame pointers. */
bool table_has_v8(const struct elf_file *e);
