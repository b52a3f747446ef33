/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Programs on tracepoints that use memory of their CPU. From Linux 7.0 on, they may be preempted unless they say so
 * (include/linux/tracepoint.h: SRCU in place of disabled preemption).
 */
#pragma once

extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/* Until xp_leave_cpu, no other task runs on this CPU. */
XP_INLINE void xp_stay_on_cpu(void)
{
    if (xp_config.preempted)
        bpf_preempt_disable();
}

XP_INLINE void xp_leave_cpu(void)
{
    if (xp_config.preempted)
        bpf_preempt_enable();
}
