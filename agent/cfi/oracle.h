/* Queries libdw for the unwind rule of a position in a file. For tests and the benchmark only. */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "elf/elf.h"
#include <elfutils/libdw.h>

struct oracle_count {
    size_t rows, differ;
    u64 first; /* file offset of the first difference */
    struct xp_rule ours, theirs;
};

/* Converts a libdw frame to a rule. */
struct xp_rule oracle_rule(Dwarf_Frame *f);
/* Compares a valid image with libdw's result for the same file (.eh_frame), at the start of every row of either.
 * Returns 0; -EBADMSG: libdw cannot read it. */
int oracle_compare(int fd, const struct elf_file *e, const struct xp_table *t, struct oracle_count *out);
