/* Asks libdw for the unwind rule of a place in a file. For tests and the benchmark only. */
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

/* The rule for a libdw frame. */
struct xp_rule oracle_rule(Dwarf_Frame *f);
/* Compares a sound image with libdw's view of the same file (.eh_frame), at the start of every row of either. 0 or
 * -EBADMSG: libdw cannot read it. */
int oracle_compare(int fd, const struct elf_file *e, const struct xp_table *t, struct oracle_count *out);
