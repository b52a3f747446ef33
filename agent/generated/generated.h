/* Reads the code that a process has generated out of its memory: unwind information and symbols of what a JIT compiler
 * made, without any help of it beyond what it does for exceptions and debuggers.
 *
 * Generated code lies in executable mappings of no file. Its unwind information is CFI in the same format as that of
 * files, somewhere in the memory of the process:
 *
 *   descriptor.c  objects that a JIT compiler shows to debuggers: GDB's JIT interface ("JIT Compilation Interface" in
 *                 its manual), a list of ELF objects in memory, which also have symbols
 *   search.c      what was passed to __register_frame: the unwinder's list of it is not accessible, so that sections
 *                 are found by their structure in memory of no file, read-only memory and the nearest first
 *
 * A process changes while it is read, and may have crafted anything: reads are limited in number and bytes, lists in
 * length, and CFI counts only if it is about generated code. Runs in the parser process.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stddef.h>

#define GENERATED_REGIONS 256 /* of a process */

/* Reads a process. The descriptors are borrowed: /proc/PID/mem, /proc/PID/maps, and its program (-1: none). Appends a
 * reply for generated_open to `out`. Returns 0; -ENODATA: there is no code with CFI or symbols; -ENOMEM; or the -errno
 * of reading the mappings. */
int generated_read(int mem, int maps, int program, struct buf *out);

struct generated_region {
    u64 start, end;               /* a mapping */
    const struct xp_table *image; /* offsets count from `start` */
};
struct generated { /* a view of a reply */
    struct generated_region regions[GENERATED_REGIONS];
    size_t nregions;
    const char *text; /* symbols as lines "START SIZE NAME", as in the text maps for perf (runtime/jit_map.h) */
    size_t text_len;
};
/* Checks everything: regions ascending and disjoint, their tables valid. Returns 0 or -EBADMSG. */
int generated_open(const void *data, size_t len, struct generated *out);
