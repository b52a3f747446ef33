/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The oracle for Go: all of xprof's eBPF programs, but samples are taken where the kernel delivers SIGPROF to a thread
 * whose own timer has run out. The registers that it interrupts are those that Go's runtime/pprof unwinds a moment
 * later, so that both see the same stacks, one for one.
 */
#define XP_PERF_EVENT(n)                              \
    SEC("perf_event")                                 \
    int xp_event_##n(struct bpf_perf_event_data *ctx) \
    {                                                 \
        return 0;                                     \
    }
#define xp_on_fork xp_on_fork_unused /* agent/probe attaches the program of this name: it is ours below */
#include "bpf/xprof.bpf.c"
#undef xp_on_fork

#define SIGPROF  27
#define SI_TIMER (-2) /* include/uapi/asm-generic/siginfo.h */

struct kernel_siginfo {
    int si_code;
} CORE;

/* Arguments: signal, info, action (include/trace/events/signal.h). */
SEC("tp_btf/signal_deliver")
int xp_on_fork(u64 *ctx)
{
    struct kernel_siginfo *info = (void *)ctx[1];
    struct xp_stats *st = xp_stats_get();
    if ((int)ctx[0] != SIGPROF || BPF_CORE_READ(info, si_code) != SI_TIMER || !st)
        return 0;
    struct xp_state *s = xp_begin(0, 1, st);
    if (!s)
        return 0;
    s->kernel_mode = 0;
    if (bpf_probe_read_kernel(s->node, XP_PT_WORDS * 8, (void *)xp_user_regs((struct task_struct *)s->who.task)))
        return 0;
    xp_regs_from_pt(&s->regs, s->node);
    s->first = s->regs;
    xp_choose_set(s, &s->who);
    xp_unwind(s);
    xp_count(s, st);
    xp_send(s, st);
    return 0;
}
