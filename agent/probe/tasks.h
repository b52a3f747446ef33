/* Reads where the threads of a process are, without stopping them: a task iterator (Linux 5.8) for those that wait, one
 * sample of a perf event for those that run.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/tasks.h"
#include "bpf/xprof.h"
#include <stdbool.h>

typedef VEC(struct xp_task) task_list;

struct tasks;

/* Loads the iterator for one process. 0, or -errno and a line in why[]. */
int tasks_new(struct tasks **out, u32 tgid, char *why, size_t why_len);
void tasks_free(struct tasks **t);
/* Replaces the list with all threads of the process; empty when it is gone. 0 or -errno. */
int tasks_list(struct tasks *t, task_list *out);
/* The user's registers out of the kernel's; the address space they belong to is 64-bit code only. False: it has none,
 * or is a 32-bit process. */
bool tasks_regs(const struct xp_task *task, struct xp_regs *out);

/* A running thread, caught in the act: its registers with a copy of the stack below them, and the kernel's frames. */
struct caught {
    struct xp_regs regs;
    u64 kernel[XP_TASK_KERNEL];
    u32 nkernel;
    bool user;     /* regs and stack are there */
    u8 *stack;     /* owned; what lies at regs' stack pointer */
    size_t nstack; /* bytes */
};
/* Waits for the thread to run for a moment, timeout_ms at most. 0, -ETIMEDOUT (it does not run), -ESRCH, -errno. */
int task_catch(u32 tid, unsigned timeout_ms, struct caught *out);
void caught_free(struct caught *c);
