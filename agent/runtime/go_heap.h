/* Finds where a Go program keeps its heap profile: the runtime samples allocations itself (Go's src/runtime/mprof.go),
 * and all of it can be read from the memory of the process, without a request to the program. The variables are found
 * by the functions that use them, so in stripped programs, too. The result is sent from the parser process to its
 * parent.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct elf_file;

#define GO_HEAP_MAGIC 0x31484758u /* "XGH1" */

/* Variables of the runtime, as distances from the place where the file would begin in memory if all of it was mapped
 * next to its code: the start of the mapping of code, less its offset in the file. */
struct go_heap {
    u32 magic;
    u32 found;   /* 0: no Go program, or one that is not understood */
    u64 buckets; /* runtime.mbuckets: a pointer */
    u64 rate;    /* runtime.MemProfileRate, 8 bytes; 0: not found */
    u64 cycle;   /* runtime.mProfCycle, 4 bytes; 0: not found */
};

/* Reads the file behind fd (borrowed). Returns 0, -ENOEXEC, -EBADMSG, -ENOMEM or another -errno. Runs in the parser
 * process. */
int go_heap_read(int fd, struct go_heap *out);
/* The same of an open file. */
void go_heap_find(const struct elf_file *e, struct go_heap *out);
/* Checks what came from another process. */
bool go_heap_sound(const void *data, size_t len);
