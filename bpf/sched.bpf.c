/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The programs that follow threads off their CPUs (events offcpu, runqueue): loaded when somebody wants these events.
 */
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/object.bpf.h"
#include "bpf/waits.bpf.h"
#include "bpf/switch.bpf.h"

/* Arguments: preempt, prev, next; prev_state since Linux 5.18 (include/trace/events/sched.h). `current` is still prev.
 */
SEC("tp_btf/sched_switch")
int xp_on_switch(u64 *ctx)
{
    struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
    u64 now = bpf_ktime_get_ns(), lag = xp_clock_lag(next, now);
    u32 state = xp_config.prev_state ? (u32)ctx[3] : xp_state_of(prev);
    xp_switch_out(prev, state, ctx[0], now, lag);
    xp_switch_in(next, now, lag);
    return 0;
}
