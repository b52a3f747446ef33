/* Finds the functions of a file that allocate and free memory, by their names in .dynsym and .symtab. The result is
 * sent from the parser process to its parent.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/heap.h"
#include <stdbool.h>
#include <stddef.h>

#define ALLOCATORS_MAGIC 0x31414C58u /* "XLA1" */
#define ALLOCATORS_MAX   254         /* functions; what is beyond is left out */

struct allocators {
    u32 magic;
    u32 n;
    u32 left_out;
    u32 pad;
    struct xp_heap_site site[ALLOCATORS_MAX]; /* by ascending offset, each one once */
};

/* Reads the file behind fd (borrowed). Programs in Go have none: their stacks move, return addresses and all. Returns
 * 0, -ENOEXEC, -EBADMSG, -ENOMEM or another -errno. Runs in the parser process. */
int allocators_read(int fd, struct allocators *out);
/* Checks a struct from another process. */
bool allocators_sound(const void *data, size_t len);
/* Returns XP_HEAP_CALL of a function; 0: it is none of these. *wraps: in a file that takes malloc from another one, it
 * is expected to call that. */
u64 allocator_call(const char *name, size_t len, bool *wraps);
