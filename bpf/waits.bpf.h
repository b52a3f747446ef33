/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Waits: from when a thread leaves its CPU until it is back on one, possibly another. All of it is counted, in sums per
 * distinct wait that user space reads at the end of each interval. A wait refers to its stacks by keys (hashes); a
 * stack itself is sent once per interval.
 *
 * The user stack is taken when the thread leaves: its memory is at hand then, and no other moment is on every kernel.
 * That is too dear for very short waits, so a thread that has had none longer than xp_wait_min for a while is
 * believed to go on like that; late.bpf.h is about its long ones. The kernel stack is taken when it comes back: it is
 * still that of the wait, and by then it is known how long the wait was.
 */
#pragma once
#include "bpf/waits.h"
#include "bpf/told.bpf.h"

#define XP_TASK_UNINTERRUPTIBLE 2u /* include/linux/sched.h */
#define XP_TASK_DEAD            0x80u
#define XP_WAIT_UNSEEN          0x80u /* in xp_thread.flags: nobody records waits of this kind */

#define XP_CREDIT_FIRST 16u /* stacks that are taken of a thread without knowing how long its waits are */

struct xp_thread {
    u64 out;      /* when it left its CPU (CLOCK_MONOTONIC, ns); 0: it is on one */
    u64 told;     /* the wait has been counted up to here already */
    u64 in;       /* when it came back last; 0: never seen */
    u64 ran;      /* ns that it had spent on CPUs when it was seen last (se.sum_exec_runtime) */
    u64 queued;   /* ns that it had spent on run queues by then (sched_info.run_delay) */
    u64 switches; /* number of times that it had left by then */
    u64 lag;      /* ns that the scheduler's clock was behind then; 0: not known */
    u64 user;     /* key of its user stack */
    u64 nobody;   /* the same of a stack that was not taken: says only whose it is */
    u64 kernel;   /* key of the kernel stack of its last wait, which began at `site` with `flags` */
    u64 site;
    u64 cgroup;
    u32 flags;  /* XP_WAIT_* */
    u32 taken;  /* its user stack was */
    u64 wanted; /* the events that were wanted of it when it left, and its times */
    u32 wants;  /* xp_live.wants then */
    u32 pad;
    u64 waker;   /* key of the stack of who woke it up, or XP_WAKER_* */
    u64 credit;  /* number of waits of which the stack will be taken */
    u64 changes; /* number of times that it came back: the iterator sees by it that it raced with one */
    u64 looks;   /* number of times that the iterator looked */
    u64 lock;    /* XP_WAIT_LOCKED: its word, the same as for the last one with this `lock_key` */
    u64 lock_key;
    u32 holder;
    u32 late; /* its last wait is over and not counted yet (late.bpf.h) */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_THREADS);
    __type(key, u32);
    __type(value, struct xp_thread);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE); /* user space adds processes */
    __type(key, u32);
    __type(value, struct xp_hints);
} hints SEC(".maps");

XP_INLINE struct xp_hints *xp_hints_get(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&hints, &zero);
}

XP_INLINE void xp_hint_thread(u32 tid, u32 by)
{
    struct xp_hints *h = xp_hints_get();
    if (h)
        __sync_fetch_and_add(&h->followed[tid % XP_HINTS], by);
}

/* Returns what is known of a thread; NULL: it is not followed. */
XP_INLINE struct xp_thread *xp_thread_of(u32 tid)
{
    struct xp_hints *h = xp_hints_get();
    return h && h->followed[tid % XP_HINTS] ? bpf_map_lookup_elem(&threads, &tid) : 0;
}

/* One map is added to while user space empties the other. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_WAITS);
    __type(key, struct xp_wait_key);
    __type(value, struct xp_wait);
} waits0 SEC(".maps"), waits1 SEC(".maps");

XP_INLINE void xp_lose_wait(u64 count)
{
    struct xp_stats *st = xp_stats_get();
    if (st)
        st->lost[XP_LOSS_WAIT] += count;
}

/* Stops following a thread. */
XP_INLINE void xp_forget_thread(u32 tid)
{
    struct xp_thread *t = xp_thread_of(tid);
    if (!t)
        return;
    u64 cgroup = t->cgroup;
    if (bpf_map_delete_elem(&threads, &tid))
        return;
    xp_hint_thread(tid, -1);
    if (!xp_config.wait_shares)
        return;
    struct xp_wait_group *g = bpf_map_lookup_elem(&wait_groups, &cgroup);
    if (!g)
        return;
    __sync_fetch_and_add(&g->threads, -1);
    if (!g->threads) /* its sums of the interval are forgotten early */
        bpf_map_delete_elem(&wait_groups, &cgroup);
}

/* Begins to follow a thread. Returns 0; 1: there is no room. */
XP_INLINE int xp_add_thread(u32 tid, const struct xp_thread *fresh)
{
    struct xp_wait_group *g = xp_config.wait_shares ? xp_wait_group(fresh->cgroup) : 0;
    xp_hint_thread(tid, 1); /* before it can be found */
    if ((xp_config.wait_shares && (!g || g->threads >= XP_MAX_THREADS / XP_WAIT_SHARE)) ||
        bpf_map_update_elem(&threads, &tid, fresh, BPF_NOEXIST)) {
        xp_hint_thread(tid, -1);
        xp_lose_wait(1);
        return 1;
    }
    if (g)
        __sync_fetch_and_add(&g->threads, 1);
    return 0;
}

/* ---- Who is wanted -------------------------------------------------------------------------------------------------
 */
/* Returns the bits of the waits that are wanted of a thread, and their times; 0: none are. */
XP_INLINE u64 xp_waits_wanted(struct task_struct *t, u32 tgid, u64 *cgroup)
{
    u32 all = xp_config.offcpu | xp_config.runqueue | xp_config.wakeup | xp_config.lock;
    struct xp_hints *h = xp_config.target == XP_TARGET_PIDS ? xp_hints_get() : 0;
    if (xp_config.target == XP_TARGET_PIDS &&
        (!h || !h->wanted[tgid % XP_HINTS] || !bpf_map_lookup_elem(&wanted_pids, &tgid)))
        return 0;
    *cgroup = xp_cgroup_id_of(t);
    if (xp_config.target != XP_TARGET_CGROUP)
        return all;
    u64 want = xp_want_of(*cgroup, t);
    u64 times = XP_WANT_MIN(XP_WANT_MIN_CODES - 1) | XP_WANT_LOCK(XP_WANT_MIN_CODES - 1);
    return want & all ? want & (all | times) : 0;
}

XP_INLINE u64 xp_wait_min_of(const struct xp_thread *t)
{
    return xp_wait_min(t->wanted, t->flags & XP_WAIT_LOCKED);
}

/* What the state of a thread that leaves says. `preempted`: it did not ask to leave, whatever its state. */
XP_INLINE u32 xp_wait_flags(struct task_struct *t, u32 state, u64 preempted)
{
    if (preempted || !state)
        return XP_WAIT_RUNQUEUE;
    return (state & XP_TASK_UNINTERRUPTIBLE ? XP_WAIT_DEEP : 0) |
           (BPF_CORE_READ_BITFIELD(t, in_iowait) ? XP_WAIT_IO : 0);
}

/* ---- Sums ----------------------------------------------------------------------------------------------------------
 */
XP_INLINE struct xp_wait *xp_wait_get(const struct xp_wait_key *key, u32 odd)
{
    return odd ? bpf_map_lookup_elem(&waits1, key) : bpf_map_lookup_elem(&waits0, key);
}

XP_INLINE struct xp_wait *xp_wait_make(const struct xp_wait_key *key, u32 odd)
{
    struct xp_wait fresh = {};
    odd ? bpf_map_update_elem(&waits1, key, &fresh, BPF_NOEXIST)
        : bpf_map_update_elem(&waits0, key, &fresh, BPF_NOEXIST); /* or somebody else has done so meanwhile */
    return xp_wait_get(key, odd);
}

#define XP_COUNTED(flags, count) ((u64)(count) << 32 | (flags))

/* Adds to a sum of this interval `count` waits of thread `tid`, XP_COUNTED with their flags. A cgroup that has used up
 * its share of sums gets one for each process, without stacks and locks. Out of line, for its part of the stack: those
 * who call it unwind, too. */
XP_NOINLINE int xp_add_wait(u64 user, u64 kernel, u64 counted, u64 ns, u32 tid)
{
    struct xp_wait_key key = {.user = user, .kernel = kernel, .flags = (u32)counted};
    u32 odd = xp_live.interval & 1, more = key.flags & (XP_WAIT_LOCKED | XP_WAIT_WOKEN);
    struct xp_thread *t = more ? bpf_map_lookup_elem(&threads, &tid) : 0;
    if (t && more & XP_WAIT_LOCKED) {
        key.with = t->lock;
        key.tid = t->holder;
    } else if (t) {
        key.with = t->waker;
    }
    struct xp_wait *w = xp_wait_get(&key, odd);
    t = !w && xp_config.wait_shares ? bpf_map_lookup_elem(&threads, &tid) : 0;
    struct xp_wait_group *g = t ? xp_wait_group(t->cgroup) : 0;
    if (t && (!g || g->waits >= XP_MAX_WAITS / XP_WAIT_SHARE)) {
        key.user = t->nobody;
        key.kernel = key.tid = 0;
        key.with = more & XP_WAIT_WOKEN ? XP_WAKER_UNSEEN : 0;
        w = xp_wait_get(&key, odd);
    }
    if (!w) {
        w = xp_wait_make(&key, odd);
        if (g)
            __sync_fetch_and_add(&g->waits, 1);
    }
    if (!w) {
        xp_lose_wait(counted >> 32);
        return 1;
    }
    __sync_fetch_and_add(&w->count, counted >> 32);
    __sync_fetch_and_add(&w->ns, ns);
    return 0;
}

/* Counts waits of `ns` together, of which the thread was runnable for `queued`: all of it is time waiting for a lock.
 */
XP_INLINE void xp_count_wait(const struct xp_thread *t, u32 tid, u64 user, u64 count, u64 ns, u64 queued)
{
    u32 flags = t->flags, wanted = XP_WANT_EVENTS(t->wanted);
    u64 kernel = t->kernel;
    if (queued > ns)
        queued = ns;
    if (!(flags & XP_WAIT_RUNQUEUE) && wanted & xp_config.offcpu)
        xp_add_wait(user, kernel, XP_COUNTED(flags & ~XP_WAIT_LOCKED, count), ns - queued, tid);
    if (queued && wanted & xp_config.runqueue && !(flags & XP_WAIT_UNSEEN))
        xp_add_wait(user, kernel, XP_COUNTED(XP_WAIT_RUNQUEUE, 1), queued, tid);
    if (!(flags & XP_WAIT_RUNQUEUE) && wanted & xp_config.wakeup)
        xp_add_wait(user, kernel, XP_COUNTED((flags & ~XP_WAIT_LOCKED) | XP_WAIT_WOKEN, count), ns - queued, tid);
    if (flags & XP_WAIT_LOCKED && wanted & xp_config.lock)
        xp_add_wait(user, kernel, XP_COUNTED(flags, count), ns, tid);
}

/* The flags of a wait of which `wanted` events are recorded. */
XP_INLINE u32 xp_seen_flags(u32 flags, u64 wanted, u64 lock)
{
    u32 by = xp_config.runqueue | (flags & XP_WAIT_RUNQUEUE ? 0 : xp_config.offcpu | xp_config.wakeup);
    return lock ? flags | XP_WAIT_LOCKED : wanted & by ? flags : flags | XP_WAIT_UNSEEN;
}

XP_INLINE void xp_note_sums(struct task_struct *task, struct xp_thread *t, u64 lag)
{
    t->lag = lag;
    t->ran = task->se.sum_exec_runtime;
    t->queued = task->sched_info.run_delay;
    t->switches = task->nvcsw + task->nivcsw;
}

/* Sends a kernel stack of n bytes in s->words; returns its key, 0 without one. */
XP_INLINE u64 xp_tell_kernel_stack(struct xp_state *s, long n, u64 cgroup)
{
    struct xp_sample *smp = &s->sample;
    smp->nkernel = n > 0 ? (u32)n / 8 : 0;
    smp->tgid = smp->tid = smp->nuser = smp->flags = 0;
    s->fp_frames = s->pending = 0;
    s->cause = XP_CAUSE_NOT_WANTED;
    u64 key = smp->nkernel ? xp_key_of_words(s, 0) : 0;
    return key && xp_tell_stack(s, key, cgroup) ? 0 : key;
}

/* The same for a thread that is not running. */
XP_INLINE u64 xp_take_kernel_stack(struct xp_state *s, struct task_struct *task, u64 cgroup)
{
    return xp_tell_kernel_stack(s, bpf_get_task_stack(task, s->words, 8 * XP_MAX_KERNEL, 0), cgroup);
}
