/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `faults`: page faults of programs, and of the kernel at their memory, by the stack and the sort of memory, with
 * the time that they take. A fault begins at a tracepoint. Its end is where the kernel counts it as minor or major,
 * which it tells perf; agent/probe/kind_perf.c attaches these programs by their names. Values of the kind: time of all
 * faults, of minor and of major ones.
 */
#include "bpf/kind.bpf.h"
#include "bpf/area.bpf.h"

#define XP_VM_GROWSDOWN 0x100u /* include/linux/mm.h */

/* When a thread's fault began, in kernel mode and in user mode; 0: it is not wanted. What programs in interrupts look
 * for in vain in user memory begins as one of the kernel, within another one perhaps. */
struct xp_fault {
    u64 began[2];
};
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct xp_fault);
} fault_begins SEC(".maps");

enum { XP_FAULT_ALL, XP_FAULT_MINOR, XP_FAULT_MAJOR };

XP_INLINE struct xp_fault *xp_fault_of_task(u64 flags)
{
    return bpf_task_storage_get(&fault_begins, bpf_get_current_task_btf(), 0, flags);
}

XP_INLINE int xp_fault_begins(u32 user)
{
    int wanted = xp_is_wanted();
    struct xp_fault *f = xp_fault_of_task(wanted ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
    if (f)
        f->began[user & 1] = wanted ? bpf_ktime_get_ns() : 0;
    return 0;
}

SEC("tp_btf/page_fault_user")
int xp_on_user_fault(u64 *ctx)
{
    return xp_fault_begins(1);
}

SEC("tp_btf/page_fault_kernel")
int xp_on_kernel_fault(u64 *ctx)
{
    return xp_fault_begins(0);
}

/* The sort of memory at an address of the process of s->who. */
XP_INLINE u64 xp_fault_label(struct xp_state *s, u64 at)
{
    if (xp_area_at(at))
        return XP_LABEL(XP_LABEL_NAME, XP_TEXT('u', 'n', 'k', 'n', 'o', 'w', 'n'));
    if (s->area.flags & XP_VM_SHARED)
        return XP_LABEL(XP_LABEL_NAME, XP_TEXT('s', 'h', 'a', 'r', 'e', 'd', 0));
    if (s->area.file)
        return XP_LABEL(XP_LABEL_NAME, XP_TEXT('f', 'i', 'l', 'e', 0, 0, 0));
    s->first.r[XP_RSP] = 0; /* stacks of other threads are anonymous memory */
    if (s->area.flags & XP_VM_GROWSDOWN || xp_is_on_stack(s))
        return XP_LABEL(XP_LABEL_NAME, XP_TEXT('s', 't', 'a', 'c', 'k', 0, 0));
    return xp_is_in_brk(s, at) ? XP_LABEL(XP_LABEL_NAME, XP_TEXT('h', 'e', 'a', 'p', 0, 0, 0))
                               : XP_LABEL(XP_LABEL_NAME, XP_TEXT('a', 'n', 'o', 'n', 0, 0, 0));
}

/* Counts a fault. Out of line, so that it is verified once. */
XP_NOINLINE int xp_fault_count(u64 at, u64 ns, u32 value)
{
    struct xp_state *s = xp_begin_level();
    if (!s)
        return 0;
    if (!xp_stack_here(0, s)) {
        u64 label = xp_fault_label(s, at);
        xp_no_amounts(s);
        s->amounts[XP_FAULT_ALL].value = ns;
        s->amounts[value & 3].count = 1;
        s->amounts[value & 3].value = ns;
        xp_count_for(s->hash, label, s->sample.cgroup);
    }
    xp_end_level();
    return 0;
}

XP_INLINE int xp_fault_ends(struct bpf_perf_event_data *ctx, u32 value)
{
    struct xp_fault *f = xp_fault_of_task(0);
    u32 user = ctx->regs[XP_PT_CS] & 3 ? 1 : 0;
    u64 began = f ? f->began[user] : 0;
    if (!began)
        return 0;
    f->began[user] = 0;
    return xp_fault_count(ctx->addr, bpf_ktime_get_ns() - began, value) & 0;
}

SEC("perf_event")
int xp_on_minor(struct bpf_perf_event_data *ctx)
{
    return xp_fault_ends(ctx, XP_FAULT_MINOR);
}

SEC("perf_event")
int xp_on_major(struct bpf_perf_event_data *ctx)
{
    return xp_fault_ends(ctx, XP_FAULT_MAJOR);
}
