/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The record that tasks.bpf.c writes per thread: where the thread is, in the kernel and in user space. Types as for
 * xprof.h.
 */
#pragma once

#define XP_TASK_KERNEL 127 /* frames: what bpf_get_task_stack gives at most (kernel.perf_event_max_stack) */
#define XP_TASK_PT     21  /* struct pt_regs as u64[] (arch/x86/include/asm/ptrace.h) */

struct xp_task {
    u32 tid, tgid;
    u64 start;          /* of the process, ns since boot */
    u64 switches;       /* how often it was switched out: unchanged, it has not run */
    u64 fs_base;        /* of its thread-local storage */
    u64 pt[XP_TASK_PT]; /* where it left user space; all 0: it never was there */
    u32 state;          /* __state of the task_struct */
    u32 on_cpu;         /* it runs: neither pt nor kernel say where */
    u32 flags;          /* PF_* */
    u32 nkernel;
    char comm[16];
    u64 kernel[XP_TASK_KERNEL]; /* leaf first */
};
_Static_assert(sizeof(struct xp_task) == 64 + 8 * (XP_TASK_PT + XP_TASK_KERNEL), "no hidden padding");
