/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The programs that follow threads off their CPUs (events offcpu, runqueue): loaded when somebody wants these events.
 */
#include "bpf/object.bpf.h"
#include "bpf/waits.bpf.h"

/* Arguments: preempt, prev, next; prev_state since Linux 5.18 (include/trace/events/sched.h). `current` is still prev.
 */
SEC("tp_btf/sched_switch")
int xp_on_switch(u64 *ctx)
{
    struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
    u64 now = bpf_ktime_get_ns();
    struct xp_stats *st = xp_stats_get();
    if (!st)
        return 0;
    u32 state = xp_config.prev_state ? (u32)ctx[3] : xp_state_of(prev);
    xp_switch_out(prev, state, ctx[0], now, st);
    xp_switch_in(next, now, st);
    return 0;
}

/* Reading this iterator counts the waits that go on, and finds threads that have been asleep all along. */
SEC("iter/task")
int xp_tell_waits(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    struct xp_state *s = xp_iter_state();
    struct xp_stats *st = xp_stats_get();
    if (!task || !s || !st)
        return 0;
    u32 tid = task->pid;
    struct xp_thread *t = bpf_map_lookup_elem(&threads, &tid);
    u64 now = bpf_ktime_get_ns();
    if (t)
        xp_tell_sleeper(s, task, t, now, st);
    else if (!(task->flags & XP_PF_NO_USER))
        xp_meet_sleeper(s, task, tid, now, st);
    return 0;
}
