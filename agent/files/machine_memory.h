/* The memory of a process whose stack was copied: of its virtual machine, more is needed than the stack
 * (bpf/hotspot.h). What is read stays for the stacks of the same round. Owned by one thread.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

/* Where virtual machines, and memory of processes, come from. */
struct machine_source {
    void *ctx;
    /* What is known of a process's. False: nothing. */
    bool (*find)(void *ctx, u32 tgid, u64 start, struct xp_machine *out);
    /* Tells whether the thread of a stack has slept since it was copied. NULL: nobody knows. */
    bool (*sleeps)(const struct xp_sample *s, const struct xp_dump *d);
    /* Reads up to `len` bytes of the process of a sample. Returns how many there were, or -errno. */
    int (*read)(void *ctx, const struct xp_sample *s, u64 at, void *to, size_t len);
};

struct machine_memory;

/* The source is copied. Returns 0 or -ENOMEM. */
int machine_memory_new(struct machine_memory **out, const struct machine_source *from);
void machine_memory_free(struct machine_memory **m);
/* Begins with another stack. Returns its machine, valid until the next call; NULL: there is none. m may be NULL. */
const struct xp_machine *machine_memory_begin(struct machine_memory *m, const struct xp_sample *s,
                                              const struct xp_dump *d);
/* Tells whether the thread of that stack has slept since, so that its memory is as it was. m may be NULL. */
bool machine_memory_sleeps(const struct machine_memory *m);
/* For struct host_space: reads the copied stack, `dump` being a struct xp_dump. Returns 0 or 1. */
int dump_read(void *dump, void *to, u32 len, u64 from);
/* The same, and memory that is not the stack as it is now: a machine may have its own beside a stack. */
int machine_memory_read(void *m, void *to, u32 len, u64 from);
/* The copied stack, and nothing else. */
int machine_memory_copy(void *m, void *to, u32 len, u64 from);
/* The copied stack; and, while the thread has slept since, other memory: what is deeper, and other stacks. */
int machine_memory_stack(void *m, void *to, u32 len, u64 from);
/* A round ended: what was read may not be there any more. m may be NULL. */
void machine_memory_forget(struct machine_memory *m);
