/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The record that tasks.bpf.c writes per thread: its position in the kernel and in user space. Types as for xprof.h.
 */
#pragma once

#define XP_TASK_KERNEL 127 /* frames: maximum of bpf_get_task_stack (kernel.perf_event_max_stack) */
#define XP_TASK_PT     21  /* struct pt_regs as u64[] (arch/x86/include/asm/ptrace.h) */

struct xp_task {
    u32 tid, tgid;
    u64 start;          /* of the process, ns since boot */
    u64 switches;       /* number of context switches: if unchanged, it has not run */
    u64 fs_base;        /* of its thread-local storage */
    u64 pt[XP_TASK_PT]; /* registers at the entry to the kernel; all 0: it never was in user space */
    u32 state;          /* __state of the task_struct */
    u32 on_cpu;         /* it is running: pt and kernel are not valid */
    u32 flags;          /* PF_* */
    u32 nkernel;
    char comm[16];
    u64 kernel[XP_TASK_KERNEL]; /* leaf first */
};
_Static_assert(sizeof(struct xp_task) == 64 + 8 * (XP_TASK_PT + XP_TASK_KERNEL), "no hidden padding");
