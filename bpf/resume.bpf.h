/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Late user stacks by task work: the thread takes its stack itself on its way back to user mode. The program on
 * switches calls this one for a thread that is about to run. To have work done by a thread costs the CPU an interrupt
 * to itself, so it is for waits that came unexpectedly.
 *
 * The work runs with interrupts on, and may be interrupted by other programs of ours: so what programs of one CPU share
 * is not shared with this object, like with the one of wakers. It is not preempted: another thread's work would find
 * the same scratch state.
 */
#pragma once
#define XP_LANE XP_LANE_LATE
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/object.bpf.h"
#include "bpf/waits.bpf.h"
#include "bpf/late.bpf.h"

/* Types of kernel functions must equal the kernel's, names of types and hidden arguments included. */
typedef int (*bpf_task_work_callback_t)(struct bpf_map *map, void *key, void *value);
#ifdef XP_TASK_WORK_IMPL
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *tw, void *map__map,
                                              bpf_task_work_callback_t callback, void *aux__prog) __ksym;
#define XP_SCHEDULE(task, work, map, callback) bpf_task_work_schedule_resume_impl(task, work, map, callback, 0)
#else
extern int bpf_task_work_schedule_resume(struct task_struct *task, struct bpf_task_work *tw, void *map__map,
                                         bpf_task_work_callback_t callback) __ksym;
#define XP_SCHEDULE(task, work, map, callback) bpf_task_work_schedule_resume(task, work, map, callback)
#endif
extern void bpf_preempt_disable(void) __ksym;
extern void bpf_preempt_enable(void) __ksym;

static int xp_on_resume(struct bpf_map *map, void *key, void *value)
{
    bpf_preempt_disable();
    xp_take_late();
    bpf_preempt_enable();
    return 0;
}

SEC("tp_btf/sched_switch")
int xp_resume_later(u64 *ctx)
{
    struct task_struct *next = (void *)ctx[2];
    u32 tid = next->pid;
    struct xp_thread *t = xp_thread_of(tid);
    struct xp_late *l = t ? xp_late_of(tid, t) : 0;
    if (!l)
        return 0;
    if (!XP_SCHEDULE(next, &l->work, &lates, xp_on_resume))
        return 0;
    t->late = 0;
    xp_settle(tid, 0);
    return 0;
}
