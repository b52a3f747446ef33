/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Contended locks of the kernel that threads sleep for (event lock; tracepoints contention_begin and contention_end,
 * Linux 5.19; include/trace/events/lock.h): loaded when somebody wants this event. A wait for a lock is counted when it
 * ends, in the same sums as waits for futexes (bpf/waits.bpf.h), and with the stacks of that moment.
 *
 * Spin locks call these tracepoints, too: in interrupts, with the lock of a run queue held, and with that of a map or
 * of the ring, in programs of ours. Nothing may be done there that takes a lock, so they are left before anything is.
 * (Time spent spinning is time on a CPU.) Locks that threads sleep for are taken by threads only, and never in an eBPF
 * program. But such a program may interrupt these, so the scratch state, the cache of rules and the lane of file IDs
 * are this object's own, as those of bpf/wakers.bpf.c are.
 *
 * The tracepoints are called with the lock of the mutex's list of waiters held: whatever is done here, others that take
 * the mutex wait for. Short waits therefore cost no unwinding.
 */
#define XP_LANE XP_LANE_CONTENTION
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/object.bpf.h"
#include "bpf/preempt.bpf.h"
#include "bpf/waits.bpf.h"

/* include/trace/events/lock.h: LCB_F_*. 0: a semaphore. */
#define XP_LCB_SPIN   1u
#define XP_LCB_READ   2u
#define XP_LCB_WRITE  4u
#define XP_LCB_RT     8u
#define XP_LCB_PERCPU 16u
#define XP_LCB_MUTEX  32u

#define XP_WITHIN_NS \
    1000000000ull /* how soon a thread that begins to wait may wait for another lock on its way to sleep */

/* By thread, from the beginning of its wait to the end. */
struct xp_contention {
    u64 lock, since, cgroup;
    u64 want; /* of its cgroup */
    u32 flags, pad;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_THREADS);
    __type(key, u32);
    __type(value, struct xp_contention);
} contentions SEC(".maps");

/* ---- It begins -----------------------------------------------------------------------------------------------------
 */
/* A mutex begins twice: to spin, and then to sleep. Before a thread sleeps, it submits its I/O, which may wait for
 * another lock: that time is part of the wait for the first one. */
XP_INLINE int xp_is_within(const struct xp_contention *c, u64 lock, u64 now)
{
    return c->lock == lock || now - c->since < XP_WITHIN_NS;
}

SEC("tp_btf/contention_begin")
int xp_on_contention(u64 *ctx)
{
    u32 flags = (u32)ctx[1];
    if (flags & XP_LCB_SPIN && !(flags & XP_LCB_MUTEX))
        return 0;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    struct xp_contention fresh = {.lock = ctx[0], .flags = flags};
    u32 tid = task->pid;
    if (!tid || !XP_MAY_WAIT(task))
        return 0;
    fresh.want = xp_waits_wanted(task, task->tgid, &fresh.cgroup);
    if (!(fresh.want & xp_config.lock))
        return 0;
    struct xp_contention *c = bpf_map_lookup_elem(&contentions, &tid);
    fresh.since = bpf_ktime_get_ns();
    if (c && xp_is_within(c, fresh.lock, fresh.since))
        return 0;
    if (bpf_map_update_elem(&contentions, &tid, &fresh, BPF_ANY))
        xp_lose_wait(1);
    return 0;
}

/* ---- It ends -------------------------------------------------------------------------------------------------------
 */
/* Returns the word of a lock that the current thread has waited for. */
XP_INLINE u64 xp_contended_word(const struct xp_contention *c, u64 mm)
{
    u32 place = c->flags & XP_LCB_MUTEX                      ? XP_LOCK_MUTEX
                : c->flags & XP_LCB_PERCPU                   ? XP_LOCK_PERCPU
                : c->flags & XP_LCB_RT                       ? XP_LOCK_KERNEL
                : !(c->flags & (XP_LCB_READ | XP_LCB_WRITE)) ? XP_LOCK_KERNEL
                                                             : XP_LOCK_RWSEM;
    if (mm && c->lock == mm + XP_OFFSET_OF(mm_struct, mmap_lock))
        place = XP_LOCK_MMAP;
    return (u64)XP_WORD_LOCK << 60 | (u64)place << 56 | XP_WORD_ADDR(c->lock);
}

/* The user stack, or (take 0) only whose it is; s->hash is its key then. Returns 0; 1: it could not be sent. */
XP_INLINE int xp_take_contender(struct xp_state *s, u64 cgroup, u32 take)
{
    if (xp_begin_here(cgroup))
        return 1;
    s->cause = XP_CAUSE_NOT_TAKEN;
    if (take)
        xp_user_stack_here();
    return xp_tell_here(cgroup, 0);
}

/* Adds a wait for a lock. A cgroup that has used up its share of sums gets one for each process. */
XP_NOINLINE int xp_add_contention(u64 user, u64 kernel, u64 lock, u64 ns, u64 cgroup)
{
    struct xp_wait_key key = {.user = user, .kernel = kernel, .with = lock, .flags = XP_WAIT_LOCKED | XP_WAIT_DEEP};
    u32 odd = xp_live.interval & 1;
    struct xp_wait *w = xp_wait_get(&key, odd);
    struct xp_wait_group *g = !w && xp_config.wait_shares ? xp_wait_group(cgroup) : 0;
    if (!w && xp_config.wait_shares && (!g || g->waits >= XP_MAX_WAITS / XP_WAIT_SHARE)) {
        struct xp_state *s = xp_state_get();
        if (!s || xp_take_contender(s, cgroup, 0))
            return 1;
        key.user = s->hash;
        key.kernel = key.with = 0;
        w = xp_wait_get(&key, odd);
    }
    if (!w) {
        w = xp_wait_make(&key, odd);
        if (g)
            __sync_fetch_and_add(&g->waits, 1);
    }
    if (!w)
        return 1;
    __sync_fetch_and_add(&w->count, 1);
    __sync_fetch_and_add(&w->ns, ns);
    return 0;
}

/* A wait of the current thread has ended. */
XP_INLINE void xp_count_contention(u64 *ctx, u32 tid, const struct xp_contention *found)
{
    u64 ns = bpf_ktime_get_ns() - found->since, cgroup = found->cgroup, kernel = 0;
    u32 take = ns >= xp_wait_min(found->want, 1);
    u64 lock = xp_contended_word(found, (u64)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), mm));
    bpf_map_delete_elem(&contentions, &tid);
    struct xp_state *s = xp_state_get();
    if (!s)
        return;
    if (take && xp_config.kernel)
        kernel = xp_tell_kernel_stack(s, bpf_get_stack(ctx, s->words, 8 * XP_MAX_KERNEL, 0), cgroup);
    if (xp_take_contender(s, cgroup, take) && (!take || xp_take_contender(s, cgroup, 0))) {
        xp_lose_wait(1);
        return;
    }
    if (xp_add_contention(s->hash, kernel, lock, ns, cgroup))
        xp_lose_wait(1);
}

SEC("tp_btf/contention_end")
int xp_on_contended(u64 *ctx)
{
    u32 tid = (u32)bpf_get_current_pid_tgid();
    struct xp_contention *found = bpf_map_lookup_elem(&contentions, &tid);
    if (!found || found->lock != ctx[0]) /* of most locks of the machine */
        return 0;
    xp_stay_on_cpu();
    xp_count_contention(ctx, tid, found);
    xp_leave_cpu();
    return 0;
}
