/* The address space of a living process, for unwinding in user space: its executable mappings, the tables of the files
 * behind them, and its memory. The process is not stopped.
 */
#pragma once
#include "inspect/binaries.h"
#include "bpf/host/unwind_host.h"

struct address_space;

/* `binaries` is borrowed, files are added to it. 0, -ESRCH (gone), -EACCES, -ENOMEM. */
int address_space_new(struct address_space **out, struct binaries *binaries, u32 tgid);
void address_space_free(struct address_space **s);

/* Its executable mappings, by address; those of no file have id 0. Borrowed. */
const struct xp_vma *address_space_mappings(const struct address_space *s, size_t *n);
/* How many mappings have a file that could not be opened, and so id 0; *error: why the last one (-errno; 0: none). */
size_t address_space_unopened(const struct address_space *s, int *error);
/* Reads memory of the process: 0, or 1 when not all of it is there. */
int address_space_read(void *space, void *to, u32 len, u64 from);
/* Unwinds; tables are fetched when a stack runs through their file. `read` as in struct host_space; `fs_base` of the
 * thread. The words and the cause are in `state`. */
void address_space_unwind(struct address_space *s, const struct xp_regs *regs, u64 fs_base,
                          int (*read)(void *ctx, void *to, u32 len, u64 from), void *ctx, struct xp_state *state);
