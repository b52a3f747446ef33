/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The programs that follow threads off their CPUs (events offcpu, runqueue, lock): loaded when somebody wants these
 * events.
 */
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/object.bpf.h"
#include "bpf/waits.bpf.h"
#include "bpf/late.bpf.h"
#include "bpf/lock.bpf.h"
#include "bpf/switch.bpf.h"

/* What makes threads take their stacks late (bpf/resume.bpf.c): a program of another object, because old kernels would
 * refuse this one with it. Each switch would pay for a second program on switches. */
struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u32);
} resume_later SEC(".maps");

/* A child of a wanted process is wanted (xp_on_fork). */
SEC("tp_btf/sched_process_fork")
int xp_hint_child(u64 *ctx)
{
    struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
    struct xp_hints *h = xp_hints_get();
    u32 tgid = parent->tgid;
    if (h && h->wanted[tgid % XP_HINTS])
        h->wanted[(u32)child->tgid % XP_HINTS] = 1;
    return 0;
}

/* Arguments: task, its number before, program. A thread that is not the leader of its process becomes it: it goes on
 * under the leader's number, and its own does not exist any more (fs/exec.c: de_thread). */
SEC("tp_btf/sched_process_exec")
int xp_on_exec(u64 *ctx)
{
    struct task_struct *task = (void *)ctx[0];
    u32 before = (u32)ctx[1];
    if (before != (u32)task->pid)
        xp_forget_late(before);
    return 0;
}

/* Arguments: preempt, prev, next; prev_state since Linux 5.18 (include/trace/events/sched.h). `current` is still prev.
 */
SEC("tp_btf/sched_switch")
int xp_on_switch(u64 *ctx)
{
    struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
    u32 prev_tid = prev->pid, next_tid = next->pid, state = xp_config.prev_state ? (u32)ctx[3] : xp_state_of(prev);
    u64 cgroup = 0;
    u64 wanted = prev_tid && XP_MAY_WAIT(prev) ? xp_waits_wanted(prev, prev->tgid, &cgroup) : 0;
    if (prev_tid && state & XP_TASK_DEAD) {
        xp_forget_late(prev_tid);
        if (wanted)
            xp_switch_last(prev, wanted, cgroup);
        wanted = 0;
    }
    struct xp_thread *t = xp_thread_of(next_tid);
    if (!wanted && !t) /* most switches of the machine: nothing else may cost them anything */
        return 0;
    u64 now = bpf_ktime_get_ns();
    if (wanted)
        xp_switch_out(prev, wanted, cgroup, state, ctx[0], now, xp_clock_lag(prev, next, now));
    if (!t || !xp_switch_in(next, t, now, xp_clock_lag(next, next, now)) || !xp_config.late_work)
        return 0;
    bpf_tail_call(ctx, &resume_later, 0);
    t->late = 0; /* it is not there yet, or not any more */
    xp_settle(next_tid, 0);
    return 0;
}
