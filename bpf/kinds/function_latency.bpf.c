/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `function_latency`: how long functions of programs and libraries take, from call to return. User space attaches
 * xp_on_call to places in files and xp_after_call to the returns from there (agent/probe/places.c). Stacks are taken
 * at the return, of calls that count; the leaf is the function nevertheless.
 *
 * A call is known by its place and by where its return address is on the stack. Of a thread's calls, the last one is
 * the deepest. A function that is left in another way than by a return (longjmp, an exception) is noticed when the next
 * call is where it was, or above it, and does not count. A function that ends with a jump to its own beginning is one
 * call, which begins there. What is known of a thread goes with it.
 */
#ifndef XP_PLAIN /* bpf/kind.bpf.h */
#define XP_SLOTTED
#endif
#define XP_IN_BODIES
#define XP_AFTER_CALLS
#define XP_NESTS 4096 /* threads that were in a call, of 2.5 KiB each: without storage of threads */
#include "bpf/kind.bpf.h"
#include "bpf/tracepoint.h"
#ifdef XP_MAPPED
#include "bpf/newcode.bpf.h"
#endif

const volatile struct xp_tp xp_tp = {};
#include "bpf/conditions.bpf.h"
#include "bpf/timed.bpf.h"
#include "bpf/cost.bpf.h"

struct xp_nested {
    u64 sp, function, place;
    struct xp_timed call;
};
struct xp_nest { /* of a thread */
    u64 n;
    struct xp_nested of[XP_PROBED_CALLS];
};
#ifdef XP_PLAIN
XP_TIMED_BY_THREAD(XP_NESTS, struct xp_nest)

XP_INLINE struct xp_nest *xp_nest_get(void)
{
    u64 task = bpf_get_current_task();
    return bpf_map_lookup_elem(&timed_calls, &task);
}

XP_INLINE struct xp_nest *xp_nest_make(void)
{
    static const struct xp_nest none = {};
    u64 task = bpf_get_current_task();
    bpf_map_update_elem(&timed_calls, &task, &none, BPF_NOEXIST);
    return bpf_map_lookup_elem(&timed_calls, &task);
}

/* Of a place whose function has returned, nothing is known: the last call at a place on the stack returns first. */
#define XP_NEST_CALLED(ctx)   ((const volatile u64 *)(ctx))[XP_PT_RIP]
#define XP_NEST_RETURNED(ctx) 0
#else
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct xp_nest);
} timed_calls SEC(".maps");

XP_INLINE struct xp_nest *xp_nest_get(void)
{
    return bpf_task_storage_get(&timed_calls, bpf_get_current_task_btf(), 0, 0);
}

XP_INLINE struct xp_nest *xp_nest_make(void)
{
    return bpf_task_storage_get(&timed_calls, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Not the address, which the kernel says of functions that have returned from Linux 6.6 on only. */
#define XP_NEST_CALLED(ctx)   (bpf_get_attach_cookie(ctx) + 1)
#define XP_NEST_RETURNED(ctx) (bpf_get_attach_cookie(ctx) + 1)
#endif
_Static_assert(!(XP_PROBED_CALLS & (XP_PROBED_CALLS - 1)), "a mask");

/* NULL: there is none. */
XP_INLINE struct xp_nested *xp_nested_at(struct xp_nest *nest, u64 at)
{
    u64 place = at & (XP_PROBED_CALLS - 1);
    asm volatile("" : "+r"(place)); /* clang would calculate with what has not been checked yet */
    return at < XP_PROBED_CALLS ? &nest->of[place] : 0;
}

/* Forgets the calls below a place on the stack, and there that of a function (0: any) with all that it called. Returns
 * it; NULL: there is none. Functions that end with a jump to another one have their calls at one place; they return in
 * the reverse order. */
XP_INLINE struct xp_nested *xp_find_call(struct xp_nest *nest, u64 sp, u64 place)
{
    struct xp_nested *c;
    u64 at = nest->n - 1;
    for (u32 i = 0; i < XP_PROBED_CALLS; i++, at--) {
        c = xp_nested_at(nest, at);
        if (!c || c->sp > sp)
            return 0;
        if (c->sp < sp || !place || c->place == place)
            nest->n = at;
        if (c->sp == sp && (!place || c->place == place))
            return c;
    }
    return 0;
}

/* Whether the kernel will see it return (kernel/events/uprobes.c: prepare_uretprobe). */
XP_INLINE int xp_is_too_deep(void)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    return BPF_CORE_READ(task, utask, depth) >= XP_PROBED_CALLS;
}

XP_INLINE void xp_call_ends(u64 *ctx)
{
    u64 now = bpf_ktime_get_ns();
    const volatile u64 *pt = ctx;
    struct xp_nest *nest = xp_nest_get();
    struct xp_nested *found = nest ? xp_find_call(nest, pt[XP_PT_RSP] - 8, XP_NEST_RETURNED(ctx)) : 0;
    if (!found)
        return;
    struct xp_timed c = found->call;
    u64 function = found->function;
    u64 elapsed = now - c.began;
    struct xp_state *s = xp_timed_counts(ctx, &c, elapsed) ? xp_begin_level() : 0;
    if (!s)
        return;
    s->returned = function;
    if (!xp_stack_here(0, s)) {
        xp_timed_amounts(s, elapsed);
        xp_count_for(s->hash, 0, s->sample.cgroup);
    }
    xp_end_level();
}

XP_COSTED_PROGRAM("kprobe", xp_after_call, xp_call_ends)

XP_INLINE void xp_call_begins(u64 *ctx)
{
    const volatile u64 *pt = ctx;
    u64 sp = pt[XP_PT_RSP], called = XP_NEST_CALLED(ctx);
    struct xp_timed c = {};
    struct xp_nest *nest = xp_nest_get();
    if (nest) /* also if this one is not to count: what was there is gone */
        xp_find_call(nest, sp, called);
    if (!xp_is_wanted() || !xp_timed_begins(ctx, &c))
        return;
    if (!nest)
        nest = xp_nest_make();
    struct xp_nested *place = nest && !xp_is_too_deep() ? xp_nested_at(nest, nest->n) : 0;
    if (!place) {
        xp_lose(XP_LOSS_CALL);
        return;
    }
    *place = (struct xp_nested){sp, pt[XP_PT_RIP], called, c};
    nest->n++;
}

XP_COSTED_PROGRAM("kprobe", xp_on_call, xp_call_begins)
