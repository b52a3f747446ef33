/* Reads the current position of each thread of a process without stopping it: waiting threads by a task iterator (Linux
 * 5.8), running threads by one sample of a perf event.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/tasks.h"
#include "bpf/xprof.h"
#include <stdbool.h>

typedef VEC(struct xp_task) task_list;

struct tasks;

/* Loads the iterator for one process. Returns 0, or -errno and a line in why[]. */
int tasks_new(struct tasks **out, u32 tgid, char *why, size_t why_len);
void tasks_free(struct tasks **t);
/* Replaces the list with all threads of the process; empty if the process exited. Returns 0 or -errno. */
int tasks_list(struct tasks *t, task_list *out);
/* Converts the saved kernel registers to user registers. Returns false if the thread has none, or runs 32-bit code. */
bool tasks_regs(const struct xp_task *task, struct xp_regs *out);

/* A sample of a running thread: its registers, a copy of its user stack, and its kernel frames. */
struct caught {
    struct xp_regs regs;
    u64 kernel[XP_TASK_KERNEL];
    u32 nkernel;
    bool user;     /* regs and stack are valid */
    u8 *stack;     /* owned; bytes starting at the stack pointer in regs */
    size_t nstack; /* bytes */
};
/* Waits for the thread to run, for at most timeout_ms. Returns 0; -ETIMEDOUT: it did not run; -ESRCH; or another
 * -errno. */
int task_catch(u32 tid, unsigned timeout_ms, struct caught *out);
void caught_free(struct caught *c);
