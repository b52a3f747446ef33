/* Code without FDEs whose shape is known all the same: _start, _init and _fini of C start-up files, PLTs of files whose
 * linker (or post-link optimiser) wrote no CFI for them, and the one assembly function of the vdso. Their rows are
 * right because the bytes were looked at.
 */
#pragma once
#include "object/elf_file.h"

#define GAP_CODES 8
#define GAP_ROWS  3

struct gap_code {   /* one piece; rows hold inside gaps only: an FDE that covers some of it wins */
    u64 start, end; /* file offsets */
    size_t n;
    struct gap_row {
        u64 offset;
        u64 word; /* rule_word of its rule */
    } row[GAP_ROWS];
};
struct gap_codes {
    size_t n;
    struct gap_code v[GAP_CODES]; /* ascending, not overlapping */
};

void gap_codes_find(const struct elf_file *e, struct gap_codes *out);
