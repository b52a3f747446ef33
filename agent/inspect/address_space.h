/* The address space of a living process, for unwinding in user space: its executable mappings, the tables of the files
 * behind them, and its memory. The process is not stopped.
 */
#pragma once
#include "inspect/binaries.h"
#include "bpf/host/unwind_host.h"

struct address_space;

/* `binaries` is borrowed; files are added to it. Returns 0; -ESRCH: the process exited; -EACCES; -ENOMEM. */
int address_space_new(struct address_space **out, struct binaries *binaries, u32 tgid);
void address_space_free(struct address_space **s);

/* Returns its executable mappings, sorted by address (borrowed). Anonymous mappings have ID 0. */
const struct xp_vma *address_space_mappings(const struct address_space *s, size_t *n);
/* Returns the number of mappings whose file could not be opened, and which have ID 0 for that reason. *error is set to
 * the last error (-errno; 0: none). */
size_t address_space_unopened(const struct address_space *s, int *error);
/* Reads memory of the process. Returns 0, or 1 if part of it cannot be read. */
int address_space_read(void *space, void *to, u32 len, u64 from);
/* Unwinds a stack; the table of a file is loaded when the stack reaches it. `read` as in struct host_space; `fs_base`
 * is that of the thread. `state` receives the words and the cause. */
void address_space_unwind(struct address_space *s, const struct xp_regs *regs, u64 fs_base,
                          int (*read)(void *ctx, void *to, u32 len, u64 from), void *ctx, struct xp_state *state);
