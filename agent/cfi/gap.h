/* Writes rows for code that has no FDEs but a known shape: _start, _init and _fini of C start-up files, PLTs of files
 * whose linker (or post-link optimiser) wrote no CFI for them, and the one assembly function of the vdso. Each shape is
 * recognised by the bytes of the code.
 */
#pragma once
#include "elf/elf.h"

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
