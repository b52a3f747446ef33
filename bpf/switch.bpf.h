/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * A thread leaves its CPU, or comes back to one.
 */
#pragma once

/* ---- Time ----------------------------------------------------------------------------------------------------------
 */

/* Returns for how long a thread has been on run queues since it was seen last: what its sum has grown by
 * (sched_info_dequeue, kernel/sched/stats.h), and, if it is about to run, what that is about to grow by
 * (sched_info_arrive, by the same clock). */
XP_INLINE u64 xp_queued(struct task_struct *next, const struct xp_thread *t, u32 arrives)
{
    u64 queued = next->sched_info.run_delay - t->queued, since = next->sched_info.last_queued;
    if (bpf_core_field_exists(struct cfs_rq, rq) && arrives && since) {
        u64 now = next->se.cfs_rq->rq->clock;
        if ((s64)(now - since) > 0)
            queued += now - since;
    }
    return queued;
}

/* Returns how many ns ago the scheduler began, or ceased, to count the time of the thread that is switched to or from
 * as time on this CPU; 0: not known. A thread that an interrupt woke up runs from that interrupt on, and one that
 * leaves its CPU idle has left before that CPU looked for work elsewhere: both microseconds before the switch. The
 * moment is in se.exec_start, for all classes, by a clock without the time of interrupts and other virtual machines
 * (rq.clock_task).
 */
XP_INLINE u64 xp_clock_lag(struct task_struct *task, struct task_struct *next, u64 now)
{
    if (!bpf_core_field_exists(struct cfs_rq, rq))
        return 0;
    struct rq *rq = next->se.cfs_rq->rq;
    return now - (task->se.exec_start + (rq->clock - rq->clock_task));
}

/* Returns the time since then, when the thread was seen last, by the scheduler's clock. */
XP_INLINE u64 xp_time_since(const struct xp_thread *t, u64 then, u64 now, u64 lag)
{
    return now - then - (t->lag && lag ? lag - t->lag : 0);
}

/* Some kernels switch threads without a word now and then. What is missing shows in the scheduler's sums of a thread:
 * it has left more often, and of the time since it was seen last, it did not run all. `leaves`: it leaves its CPU now,
 * which is in the sums already; otherwise it is about to run. */
XP_INLINE void xp_recover(struct task_struct *task, struct xp_thread *t, u64 now, u64 lag, u32 leaves)
{
    u64 from = t->out ? t->out : t->in, ran = task->se.sum_exec_runtime - t->ran;
    u64 missed = task->nvcsw + task->nivcsw - t->switches - leaves + (t->out != 0);
    u64 ns = xp_time_since(t, from, now, lag) - ran;
    if (!from || !missed || (s64)ns <= 0)
        return;
    u64 told = t->out && t->told > t->out ? t->told - t->out : 0;
    if (!t->out) { /* nothing is known of it */
        t->kernel = 0;
        t->flags = 0;
    }
    if (!t->out || !t->waker)
        t->waker = XP_WAKER_UNSEEN;
    xp_count_wait(t, task->pid, t->out ? t->user : t->nobody, missed - (told != 0), ns > told ? ns - told : 0,
                  xp_queued(task, t, !leaves));
    t->out = 0;
}

/* A thread that leaves its CPU for the first time has waited for it before it ran at all, for as long as its sum of run
 * queues says. Nothing was known of the thread then. `who`: the key that says whose it is. Out of line, for its part of
 * the stack. */
XP_NOINLINE int xp_add_birth(u64 who, u64 queued, u32 tid)
{
    return xp_add_wait(who, 0, XP_COUNTED(XP_WAIT_RUNQUEUE, 1), queued, tid);
}

XP_INLINE u64 xp_queued_before(struct task_struct *prev, u64 wanted)
{
    u32 first = prev->nvcsw + prev->nivcsw == 1; /* this switch is in the sums already */
    return first && wanted & xp_config.runqueue && prev->start_time >= xp_config.since ? prev->sched_info.run_delay : 0;
}

/* The thread ends, and may never have left before. */
XP_INLINE void xp_switch_last(struct task_struct *prev, u64 wanted, u64 cgroup)
{
    struct xp_state *s = xp_state_get();
    u64 queued = xp_queued_before(prev, wanted);
    if (s && queued && !xp_take_wait_stack(cgroup, 0))
        xp_add_birth(s->hash, queued, prev->pid);
}

/* ---- A thread leaves -----------------------------------------------------------------------------------------------
 */
/* The new entry is made in scratch memory: six nested calls have 512 bytes of stack together. */
XP_INLINE struct xp_thread *xp_thread_get(struct xp_state *s, u32 tid, u64 cgroup)
{
    struct xp_thread *t = bpf_map_lookup_elem(&threads, &tid), *fresh = (struct xp_thread *)s->object;
    _Static_assert(sizeof(*fresh) <= sizeof(s->object), "it serves as room");
    if (t)
        return t;
    if (xp_take_wait_stack(cgroup, 0)) { /* nothing could be said about it */
        xp_lose_wait(1);
        return 0;
    }
    __builtin_memset(fresh, 0, sizeof(*fresh));
    fresh->nobody = s->hash;
    fresh->credit = XP_CREDIT_FIRST;
    fresh->wants = xp_live.wants;
    fresh->cgroup = cgroup;
    return xp_add_thread(tid, fresh) ? 0 : bpf_map_lookup_elem(&threads, &tid);
}

/* Makes sure that in this interval it was said whose stack was not taken; execve changes it. Returns the key. */
XP_INLINE u64 xp_say_who(struct xp_state *s, struct xp_thread *t, u64 cgroup)
{
    u64 key = t->nobody;
    u32 *told = bpf_map_lookup_elem(&told_stacks, &key);
    if ((!told || *told != xp_live.interval) && !xp_take_wait_stack(cgroup, 0))
        t->nobody = s->hash;
    return t->nobody;
}

/* Notes which lock the current thread waits for. The walk to its mapping is done once while it stays the same one. */
XP_NOINLINE int xp_note_lock(u32 tid, u64 at, u64 cgroup)
{
    struct xp_state *s = xp_state_get();
    struct xp_thread *t = bpf_map_lookup_elem(&threads, &tid);
    if (!s || !t)
        return 1;
    xp_who_is(&s->who);
    s->sample.tgid = bpf_get_current_pid_tgid() >> 32;
    s->sample.cgroup = cgroup;
    u64 key = xp_mix(xp_mix(at, s->who.mm), xp_live.files);
    s->area.unsure = 0;
    if (key != t->lock_key)
        t->lock = xp_lock_word(at);
    t->lock_key = s->area.unsure ? 0 : key;
    t->holder = s->holder;
    return 0;
}

/* Counts the wait before this one, of which the stack is still to be taken. If the thread is where it was then, it has
 * not been in user mode since: the stack of both waits is taken now. Returns 1 if it is, with its key in t->user. */
XP_INLINE u32 xp_leave_late(struct task_struct *prev, struct xp_thread *t, u32 tid)
{
    struct xp_state *s = xp_state_get();
    u64 user = s && xp_site(prev) == t->site && !xp_take_wait_stack(t->cgroup, 1) ? s->hash : 0;
    t->late = 0;
    xp_settle(tid, user);
    if (user)
        t->user = user;
    return !!user;
}

/* Whether to take the stack of the current thread as it leaves. Threads without user mode never come back to it. */
XP_INLINE u32 xp_stack_now(struct task_struct *prev, const struct xp_thread *t)
{
    if (t->flags & XP_WAIT_UNSEEN)
        return 0;
    if (xp_config.late == XP_LATE_ALL)
        return !!(prev->flags & XP_PF_NO_USER);
    return xp_wait_min_of(t) <= XP_WANT_MIN_NS(1) || t->credit;
}

XP_INLINE void xp_take_or_say_who(struct task_struct *prev, struct xp_state *s, struct xp_thread *t, u64 cgroup)
{
    t->taken = xp_stack_now(prev, t);
    if (t->taken && !xp_take_wait_stack(cgroup, 1))
        t->user = s->hash;
    else
        t->user = xp_say_who(s, t, cgroup);
}

/* The current thread leaves its CPU, and some of its waits are wanted. */
XP_INLINE void xp_switch_out(struct task_struct *prev, u64 wanted, u64 cgroup, u32 state, u64 preempted, u64 now,
                             u64 lag)
{
    u32 tid = (u32)bpf_get_current_pid_tgid();
    struct xp_state *s = xp_state_get();
    u32 flags = xp_wait_flags(prev, state, preempted);
    if (!s)
        return;
    s->saved = xp_user_regs(prev);
    u64 lock = wanted & xp_config.lock ? xp_lock_at(flags, state) : 0;
    flags = xp_seen_flags(flags, wanted, lock);
    u32 cheap = flags & XP_WAIT_UNSEEN && wanted == xp_config.lock;
    struct xp_thread *t = cheap ? bpf_map_lookup_elem(&threads, &tid) : xp_thread_get(s, tid, cgroup);
    if (!t)
        return;
    t->taken = t->late && xp_leave_late(prev, t, tid);
    if (t->wants != xp_live.wants) /* it may not have been wanted for some time */
        t->out = t->in = 0;
    t->wants = xp_live.wants;
    t->wanted = wanted;
    xp_recover(prev, t, now, lag, 1);
    t->waker = XP_WAKER_NONE;
    u64 site = xp_site(prev);
    if (site != t->site || flags != t->flags)
        t->kernel = 0;
    t->site = site;
    t->flags = flags;
    xp_note_sums(prev, t, lag);
    if (!t->taken)
        xp_take_or_say_who(prev, s, t, cgroup);
    if (lock)
        xp_note_lock(tid, lock, cgroup);
    t->out = now;
    u64 queued = xp_queued_before(prev, wanted);
    if (queued)
        xp_add_birth(t->nobody, queued, tid);
}

/* ---- It comes back -------------------------------------------------------------------------------------------------
 */
#define XP_CREDIT_LONG 64u    /* further stacks after a long wait */
#define XP_CREDIT_LATE 8u     /* the same if stacks may be late: that costs as much as so many of these */
#define XP_CREDIT_MAX  65536u /* after many long waits that came unexpectedly */

/* Learns from a wait whether the next ones of this thread are worth their stack. */
XP_INLINE void xp_learn(struct xp_thread *t, u64 ns)
{
    u64 credit = t->credit;
    if (ns >= xp_wait_min_of(t))
        credit = xp_config.late ? credit + XP_CREDIT_LATE
                 : t->taken     ? credit + XP_CREDIT_LONG
                                : 2 * credit + 2 * XP_CREDIT_LONG;
    else if (t->taken && credit)
        credit--;
    t->credit = credit < XP_CREDIT_MAX ? credit : XP_CREDIT_MAX;
}

/* Whether the stack of a wait is taken when the thread is back. */
XP_INLINE u32 xp_stack_later(struct task_struct *next, const struct xp_thread *t, u64 ns)
{
    return xp_config.late && !t->taken && !(t->flags & XP_WAIT_UNSEEN) && ns >= xp_wait_min_of(t) &&
           !(next->flags & XP_PF_NO_USER);
}

/* A thread that is followed is about to run. Returns 1 if the stack of its wait is to be taken later. */
XP_INLINE u32 xp_switch_in(struct task_struct *next, struct xp_thread *t, u64 now, u64 lag)
{
    u32 tid = next->pid, later = 0;
    if (t->late) /* it has left unseen */
        xp_settle(tid, 0);
    t->late = 0;
    __sync_fetch_and_add(&t->changes, 1);
    u64 grown = xp_queued(next, t, 1), before = t->queued;
    u64 ns = xp_time_since(t, t->out, now, lag) - (next->se.sum_exec_runtime - t->ran); /* it may have run */
    ns = (s64)ns < 0 ? 0 : ns;
    if (!t->out) {
        xp_recover(next, t, now, lag, 0);
    } else {
        u64 told = t->told > t->out ? t->told - t->out : 0;
        struct xp_state *s = xp_state_get();
        if (s && xp_config.kernel && !(t->flags & XP_WAIT_UNSEEN) && (ns >= xp_wait_min_of(t) || !t->kernel))
            t->kernel = xp_take_kernel_stack(s, next, t->cgroup);
        if (!(t->flags & XP_WAIT_UNSEEN))
            xp_learn(t, ns);
        later = xp_stack_later(next, t, ns);
        ns -= told < ns ? told : ns;
        if (!t->waker)
            t->waker = XP_WAKER_UNSEEN;
        u64 queued = t->flags & XP_WAIT_RUNQUEUE ? ns : grown;
        later = later && !xp_keep_late(tid, !told, ns, queued);
        if (!later)
            xp_count_wait(t, tid, t->user, !told, ns, queued);
    }
    t->out = 0;
    t->in = now;
    xp_note_sums(next, t, lag);
    t->queued = before + grown; /* with what it is about to grow by */
    return later;
}
