/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * What a kind of event consists of that is counted exactly, in sums per distinct stack: a file bpf/kinds/NAME.bpf.c
 * with its programs, each of which is loaded where the kernel has what it attaches to, and a row in
 * agent/events/events.c. The object is loaded while somebody wants the kind (agent/probe/kinds.c).
 *
 * A program is XP_KIND_PROGRAM: a test, of which xp_is_wanted is mostly a part, and a body. The body notes what
 * happened in the amounts of the scratch state, and counts it with xp_count_here, or takes the stack now
 * (xp_stack_here), keeps its key, and counts later (xp_count_for).
 *
 * Programs of kinds may interrupt each other: one in an interrupt those of tasks. So there are XP_LEVELS scratch states
 * per CPU, which all kinds share. Levels end in the reverse order of their beginnings, because what runs between is
 * never preempted (preempt.bpf.h). An object whose programs are preempted defines
 * XP_SLOTTED and has scratch states of its own (slots.bpf.h). It has a second one for Linux before 5.15, which defines
 * XP_PLAIN: there, programs on uprobes are not preempted, and have neither cookies nor storage of threads.
 */
#pragma once
#ifdef XP_SLOTTED
#define XP_LANE XP_LANE_SLOTS
#else
#define XP_NESTED
#define XP_LANE xp_lane()
#endif
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/sums.h"
#include "bpf/object.bpf.h"
#include "bpf/told.bpf.h"
#include "bpf/preempt.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_SUMS);
    __type(key, struct xp_sum_key);
    __type(value, struct xp_sum);
} sums0 SEC(".maps"), sums1 SEC(".maps");

/* ---- Levels --------------------------------------------------------------------------------------------------------
 */

XP_INLINE void xp_lose(u32 why)
{
    struct xp_stats *st = xp_stats_get();
    if (st)
        st->lost[why]++;
}

/* Begins a level. Returns its scratch state, which xp_state_get returns until xp_end_level; NULL: there is none left.
 */
XP_INLINE struct xp_state *xp_begin_level(void)
{
#ifdef XP_SLOTTED
    struct xp_state *s = xp_claim_slot() ? 0 : xp_state_get();
    if (!s)
        xp_lose(XP_LOSS_SCRATCH);
    return s;
#else
    xp_stay_on_cpu();
    u32 *depth = xp_depth();
    if (depth)
        ++*depth;
    struct xp_state *s = depth ? xp_state_get() : 0;
    if (s)
        return s;
    if (depth)
        --*depth;
    xp_lose(XP_LOSS_SCRATCH);
    xp_leave_cpu();
    return 0;
#endif
}

XP_INLINE void xp_end_level(void)
{
#ifdef XP_SLOTTED
    xp_give_slot();
#else
    u32 *depth = xp_depth();
    if (depth)
        --*depth;
    xp_leave_cpu();
#endif
}

/* ---- Who is wanted -------------------------------------------------------------------------------------------------
 */

/* Whether what the running task does counts. Idle tasks never do. */
XP_INLINE int xp_is_wanted(void)
{
    u64 id = bpf_get_current_pid_tgid();
    u32 tgid = id >> 32;
    if (!id || (xp_config.target == XP_TARGET_PIDS && !bpf_map_lookup_elem(&wanted_pids, &tgid)))
        return 0;
    return xp_config.target != XP_TARGET_CGROUP ||
           xp_want_of(xp_cgroup_id(), (struct task_struct *)bpf_get_current_task()) >> xp_config.event & 1;
}

/* The same of the process whose main thread an iterator is at; of other threads, never. */
XP_INLINE int xp_is_wanted_process(struct task_struct *t)
{
    u32 tgid = t ? BPF_CORE_READ(t, tgid) : 0;
    if (!tgid || tgid != (u32)BPF_CORE_READ(t, pid))
        return 0;
    if (xp_config.target == XP_TARGET_PIDS)
        return bpf_map_lookup_elem(&wanted_pids, &tgid) != NULL;
    return xp_config.target != XP_TARGET_CGROUP ||
           xp_cgroup_decide((u64)xp_cgroup_of(t)) >> (xp_config.event & (XP_MAX_EVENTS - 1)) & 1;
}

/* A program NAME at SECTION. If TEST, which may look at ctx, does not rule it out, it calls BODY(u64 *ctx, struct
 * xp_state *s). */
#define XP_KIND_PROGRAM(section, name, test, body)          \
    SEC(section)                                            \
    int name(u64 *ctx)                                      \
    {                                                       \
        struct xp_state *s = (test) ? xp_begin_level() : 0; \
        if (s) {                                            \
            body(ctx, s);                                   \
            xp_end_level();                                 \
        }                                                   \
        return 0;                                           \
    }

/* An argument of a tracepoint, at a constant offset: Linux 5.10 takes no other. The compiler would choose the offset.
 */
#define XP_ARG(ctx, number)                                                              \
    ({                                                                                   \
        u64 arg_;                                                                        \
        asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(arg_) : "r"(ctx), "i"((number)*8)); \
        arg_;                                                                            \
    })

/* The same as a number, which may be passed on and calculated with. */
XP_INLINE u64 xp_argument(u64 *ctx, u32 number)
{
    u64 value = 0;
    bpf_probe_read_kernel(&value, sizeof(value), ctx + number);
    return value;
}

/* ---- Stacks --------------------------------------------------------------------------------------------------------
 */

#ifndef XP_OWN_FRAMES
#define XP_OWN_FRAMES 2 /* on top of what the kernel did: the program, and what calls those of tracepoints */
#endif

/* In place of a stack for which there is no room: whose it was. */
XP_NOINLINE int xp_tell_nobody(u64 cgroup, u64 with)
{
    struct xp_state *s = xp_state_get();
    if (!s || xp_begin_here(cgroup))
        return 1;
    s->cause = XP_CAUSE_NOT_TAKEN;
    return xp_tell_here(cgroup, with);
}

/* Takes the stack of the running task as one of this cgroup, apart from others that differ in `with`; its key is in
 * s->hash then. `ctx`: that of the program; NULL: without kernel frames. Returns 0; 1: there is no room, which is
 * counted. */
XP_INLINE int xp_stack_as(void *ctx, struct xp_state *s, u64 cgroup, u64 with)
{
    if (xp_begin_here(cgroup))
        return 1;
    if (ctx && xp_config.kernel) {
        long n = bpf_get_stack(ctx, s->words, 8 * XP_MAX_KERNEL, XP_OWN_FRAMES);
        s->sample.nkernel = n > 0 ? (u32)n / 8 : 0;
    }
    xp_user_stack_here();
    if (!xp_tell_here(cgroup, with) || !xp_tell_nobody(cgroup, with))
        return 0;
    xp_lose(XP_LOSS_SUM);
    return 1;
}

XP_INLINE int xp_stack_here(void *ctx, struct xp_state *s)
{
    return xp_stack_as(ctx, s, xp_cgroup_id(), 0);
}

/* ---- Sums ----------------------------------------------------------------------------------------------------------
 */

XP_INLINE struct xp_sum *xp_sum_get(const struct xp_sum_key *key, u32 odd)
{
    return odd ? bpf_map_lookup_elem(&sums1, key) : bpf_map_lookup_elem(&sums0, key);
}

XP_INLINE struct xp_sum *xp_sum_make(const struct xp_sum_key *key, u32 odd)
{
    static const struct xp_sum none = {};
    odd ? bpf_map_update_elem(&sums1, key, &none, BPF_NOEXIST)
        : bpf_map_update_elem(&sums0, key, &none, BPF_NOEXIST); /* or somebody else has done so meanwhile */
    return xp_sum_get(key, odd);
}

/* Makes a sum if there is room in the share of its cgroup. Those that files or peers tell apart leave a part of it to
 * those that all others have together. */
XP_INLINE struct xp_sum *xp_sum_add(const struct xp_sum_key *key, u32 odd, u64 cgroup)
{
    int shared = xp_config.wait_shares != 0, tagged = key->tag > XP_TAG_OTHER;
    struct xp_wait_group *g = shared || tagged ? xp_wait_group(shared ? cgroup : 0) : 0;
    u32 most = shared ? XP_MAX_SUMS / XP_WAIT_SHARE : XP_MAX_SUMS;
    if ((shared || tagged) && (!g || g->waits >= (tagged ? most / 4 * 3 : most)))
        return 0;
    if (g)
        __sync_fetch_and_add(&g->waits, 1);
    return xp_sum_make(key, odd);
}

/* Adds the amounts of the scratch state to a sum. `cgroup`: whose share of sums it counts against. Out of line, for its
 * part of the stack. */
XP_NOINLINE int xp_count_tagged(u64 stack, u64 label, u64 cgroup, u64 tag)
{
    struct xp_sum_key key = {.stack = stack, .label = label, .tag = tag};
    struct xp_state *s = xp_state_get();
    u32 odd = xp_live.interval & 1;
    struct xp_sum *sum = xp_sum_get(&key, odd);
    if (!s)
        return 1;
    if (!sum)
        sum = xp_sum_add(&key, odd, cgroup);
    if (!sum && key.tag > XP_TAG_OTHER) {
        key.tag = XP_TAG_OTHER;
        sum = xp_sum_get(&key, odd);
        if (!sum)
            sum = xp_sum_add(&key, odd, cgroup);
    }
    if (key.tag == XP_TAG_OTHER)
        xp_lose(XP_LOSS_LABEL);
    if (!sum) {
        xp_lose(XP_LOSS_SUM);
        return 1;
    }
    XP_UNROLL
    for (u32 i = 0; i < XP_MAX_VALUES; i++) {
        if (s->amounts[i].count)
            __sync_fetch_and_add(&sum->of[i].count, s->amounts[i].count);
        if (s->amounts[i].value)
            __sync_fetch_and_add(&sum->of[i].value, s->amounts[i].value);
    }
    return 0;
}

XP_INLINE int xp_count_for(u64 stack, u64 label, u64 cgroup)
{
    return xp_count_tagged(stack, label, cgroup, 0);
}

/* Clears the amounts of the scratch state. */
XP_INLINE void xp_no_amounts(struct xp_state *s)
{
    __builtin_memset(s->amounts, 0, sizeof(s->amounts));
}

/* Counts the amounts of the scratch state for the running task. */
XP_INLINE int xp_count_here(void *ctx, struct xp_state *s, u64 label)
{
    return xp_stack_here(ctx, s) ? 1 : xp_count_for(s->hash, label, s->sample.cgroup);
}
