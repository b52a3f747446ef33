/* Writes rows for known code without FDEs: _start, _init and _fini of C start-up files, PLTs without CFI from the
 * linker (or post-link optimiser), where the stacks of Boost's fibers begin, and the only assembly function of the
 * vdso. Each is recognised by its bytes.
 */
#pragma once
#include "elf/elf.h"

#define GAP_CODES 9
#define GAP_ROWS  3

struct gap_code {   /* one piece of code; its rows apply in gaps only: FDEs take precedence */
    u64 start, end; /* file offsets */
    size_t n;
    struct gap_row {
        u64 offset;
        u64 word; /* rule_word of the rule */
    } row[GAP_ROWS];
};
struct gap_codes {
    size_t n;
    struct gap_code v[GAP_CODES]; /* ascending, not overlapping */
};

void gap_codes_find(const struct elf_file *e, struct gap_codes *out);
