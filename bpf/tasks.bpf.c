/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Lists the threads of a process with their registers and kernel stacks, as a file to be read. No thread is stopped.
 */
#include "bpf/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "bpf/tasks.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u32 xp_tgid = 0; /* set before loading */

struct thread_struct___tasks {
    unsigned long fsbase;
} CORE;
struct task_struct___tasks {
    long state; /* up to 5.13 */
    unsigned int __state;
    int on_cpu; /* one byte in newer kernels: read with its actual size */
    unsigned long nvcsw, nivcsw;
    struct thread_struct___tasks thread;
} CORE;

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_task);
} scratch SEC(".maps");

/* At the top of the kernel stack: THREAD_SIZE - sizeof(struct pt_regs). */
static __always_inline u64 user_regs(struct task_struct *task)
{
    if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
        return (u64)bpf_task_pt_regs(task);
    return (u64)BPF_CORE_READ(task, stack) + 16384 - XP_TASK_PT * 8;
}

static __always_inline void describe(struct xp_task *out, struct task_struct *task)
{
    struct task_struct___tasks *t = (void *)task;
    out->tid = BPF_CORE_READ(task, pid);
    out->tgid = BPF_CORE_READ(task, tgid);
    out->start = BPF_CORE_READ(task, group_leader, start_boottime);
    out->flags = BPF_CORE_READ(task, flags);
    out->state = bpf_core_field_exists(t->__state) ? BPF_CORE_READ(t, __state) : (u32)BPF_CORE_READ(t, state);
    out->on_cpu = bpf_core_field_exists(t->on_cpu) ? (u32)BPF_CORE_READ_BITFIELD_PROBED(t, on_cpu) : 0;
    out->switches = BPF_CORE_READ(t, nvcsw) + BPF_CORE_READ(t, nivcsw);
    out->fs_base = BPF_CORE_READ(t, thread.fsbase);
    BPF_CORE_READ_STR_INTO(&out->comm, task, comm);
}

SEC("iter/task")
int xp_list_tasks(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    u32 zero = 0;
    struct xp_task *out = bpf_map_lookup_elem(&scratch, &zero);
    if (!task || !out || (u32)task->tgid != xp_tgid)
        return 0;
    __builtin_memset(out, 0, offsetof(struct xp_task, kernel));
    describe(out, task);
    if (!out->on_cpu) {
        long n = bpf_get_task_stack(task, out->kernel, sizeof(out->kernel), 0);
        out->nkernel = n > 0 ? (u32)n / 8 : 0;
        if (bpf_probe_read_kernel(out->pt, sizeof(out->pt), (void *)user_regs(task)))
            __builtin_memset(out->pt, 0, sizeof(out->pt));
    }
    bpf_seq_write(ctx->meta->seq, out, sizeof(*out));
    return 0;
}
