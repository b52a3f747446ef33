/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Who wakes up a thread that is followed (event wakeup): loaded when somebody wants this event. The stack of the waker
 * is taken as it wakes up the thread, and the sum of the wait refers to it as to the other two (bpf/waits.bpf.h).
 *
 * A wake-up runs with interrupts off, and wakes up nobody itself: nothing but an NMI can come in between, and no NMI
 * wakes up a thread. But a wake-up can be the work of an interrupt that came while another program of ours was running
 * on this CPU: one on page faults, or an iterator. So whatever programs of one CPU share is not shared with this
 * object: the scratch state, the cache of rules (pc_cache) and the lane of file IDs. Maps have locks of their own.
 */
#define XP_LANE XP_LANE_WAKERS
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/object.bpf.h"
#include "bpf/waits.bpf.h"

/* Entries of interrupts; 0 if the kernel does not have one of them, or hides addresses. */
extern const void asm_common_interrupt __ksym __weak;
extern const void asm_sysvec_apic_timer_interrupt __ksym __weak;
extern const void asm_sysvec_reschedule_ipi __ksym __weak;
extern const void asm_sysvec_call_function_single __ksym __weak;
extern const void asm_sysvec_irq_work __ksym __weak;

#define XP_ENTRY_BYTES 128 /* of code, at most */
#define XP_IS_IN(address, symbol) \
    (&(symbol) && (address) > (u64) & (symbol) && (address) <= (u64) & (symbol) + XP_ENTRY_BYTES)

/* Whether the kernel was entered through an interrupt: the running task has nothing to do with what woke up then.
 * Interrupts within a system call, and those of the rarer kinds, are told apart by names later (agent/profile), which
 * costs a stack for each of the tasks that they interrupt. */
XP_INLINE int xp_is_interrupt(struct xp_state *s)
{
    u32 last = s->sample.nkernel - 1;
    if (last >= XP_MAX_KERNEL)
        return 0;
    u64 at = s->words[last];
    return XP_IS_IN(at, asm_common_interrupt) || XP_IS_IN(at, asm_sysvec_apic_timer_interrupt) ||
           XP_IS_IN(at, asm_sysvec_reschedule_ipi) || XP_IS_IN(at, asm_sysvec_call_function_single) ||
           XP_IS_IN(at, asm_sysvec_irq_work);
}

/* In an agent, nobody sees the user frames of others who are not profiled themselves. */
XP_INLINE int xp_may_see(const struct xp_state *s, u64 cgroup)
{
    return !xp_config.wait_shares || s->sample.cgroup == cgroup ||
           XP_WANT_EVENTS(xp_want_of(s->sample.cgroup, (struct task_struct *)bpf_get_current_task()));
}

/* Behind the kernel's, if it is to be taken. Interrupts, and the idle task that they interrupt, are nobody. */
XP_NOINLINE int xp_user_stack_of_waker(u64 cgroup, u32 take)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    if (!s->sample.tgid || xp_is_interrupt(s)) {
        s->sample.tgid = s->sample.tid = 0;
        s->sample.start = s->sample.cgroup = 0;
        __builtin_memset(s->sample.comm, 0, sizeof(s->sample.comm));
        __builtin_memset(s->sample.thread, 0, sizeof(s->sample.thread));
        s->cause = XP_CAUSE_KTHREAD;
    } else if (take && xp_may_see(s, cgroup)) {
        xp_user_stack(s, 0, &s->who);
    } else {
        s->cause = take ? XP_CAUSE_NOT_WANTED : XP_CAUSE_NOT_TAKEN;
    }
    return 0;
}

/* The user frames of a short wait's waker are not taken. The kernel's are: they tell an interrupt from a thread. */
SEC("tp_btf/sched_waking")
int xp_on_waking(u64 *ctx)
{
    struct task_struct *task = (void *)ctx[0];
    u32 tid = task->pid;
    struct xp_thread *t = xp_thread_of(tid);
    if (!t || !t->out || t->flags & XP_WAIT_RUNQUEUE || !(t->wanted & xp_config.wakeup))
        return 0;
    u64 cgroup = t->cgroup;
    struct xp_state *s = xp_state_get();
    if (!s || xp_begin_here(xp_cgroup_id()))
        return 0;
    long n = bpf_get_stack(ctx, s->words, 8 * XP_MAX_KERNEL, 0);
    s->sample.nkernel = n > 0 ? (u32)n / 8 : 0;
    xp_user_stack_of_waker(cgroup, bpf_ktime_get_ns() - t->out >= xp_wait_min_of(t));
    t->waker = xp_tell_here(cgroup, XP_WAIT_WOKEN) ? XP_WAKER_UNSEEN : s->hash;
    return 0;
}
