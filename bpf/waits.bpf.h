/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Waits: from when a thread leaves its CPU until it is back on one, possibly another. All of it is counted, in sums per
 * distinct wait that user space reads at the end of each interval. A wait refers to its stacks by keys (hashes); a
 * stack itself is sent once per interval.
 *
 * The user stack is taken when the thread leaves: its memory is at hand then, and no other moment is on every kernel.
 * That is too dear for very short waits, so a thread that has had none longer than xp_config.wait_min for a while is
 * believed to go on like that. The kernel stack is taken when it comes back: it is still that of the wait, and by then
 * it is known how long the wait was.
 */
#pragma once
#include "bpf/waits.h"

#define XP_TASK_UNINTERRUPTIBLE 2u /* include/linux/sched.h */
#define XP_TASK_DEAD            0x80u
#define XP_WAIT_UNSEEN          0x80u /* in xp_thread.flags: preempted, and nobody records run queues */

#define XP_CREDIT_FIRST 16u    /* stacks that are taken of a thread without knowing how long its waits are */
#define XP_CREDIT_LONG  64u    /* further ones after a long wait */
#define XP_CREDIT_MAX   65536u /* after many long waits that came unexpectedly */

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
    u32 flags; /* XP_WAIT_* */
    u32 taken; /* its user stack was */
    u32 wants; /* xp_live.wants when it left */
    u32 pad;
    u64 credit;  /* number of waits of which the stack will be taken */
    u64 changes; /* number of times that it came back: the iterator sees by it that it raced with one */
    u64 looks;   /* number of times that the iterator looked */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_THREADS);
    __type(key, u32);
    __type(value, struct xp_thread);
} threads SEC(".maps");

/* One map is added to while user space empties the other. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_WAITS);
    __type(key, struct xp_wait_key);
    __type(value, struct xp_wait);
} waits0 SEC(".maps"), waits1 SEC(".maps");

/* Keys of stacks -> the interval in which they were sent last. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_STACKS);
    __type(key, u64);
    __type(value, u32);
} told_stacks SEC(".maps");

/* ---- Keys of stacks ------------------------------------------------------------------------------------------------
 */
XP_INLINE u64 xp_mix(u64 h, u64 v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

#define XP_HASH_BATCH 64

/* Mixes the next words into s->hash. Returns 1 at their end. Out of line, so that it is verified once. */
XP_NOINLINE int xp_hash_batch(u32 from)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    u32 n = s->sample.nkernel + s->sample.nuser;
    u64 h = s->hash;
    for (u32 i = 0; i < XP_HASH_BATCH; i++) {
        u64 at = (u64)from + i;
        asm volatile("" : "+r"(at)); /* the index must be the very register whose range is checked */
        if (at >= n || at >= XP_MAX_KERNEL + XP_MAX_USER) {
            s->hash = h;
            return 1;
        }
        h = xp_mix(h, s->words[at]);
    }
    s->hash = h;
    return 0;
}

/* Returns the key of the words in the scratch state, never 0; it stays in s->hash. */
XP_INLINE u64 xp_key_of_words(struct xp_state *s, u64 with)
{
    s->hash = xp_mix(xp_config.seed, with);
    for (u32 i = 0; i < (XP_MAX_USER + XP_MAX_KERNEL) / XP_HASH_BATCH + 1; i++)
        if (xp_hash_batch(i * XP_HASH_BATCH))
            break;
    return s->hash |= 1;
}

/* Whose stack it is, and how it ended. */
XP_INLINE u64 xp_process_key(const struct xp_state *s)
{
    return s->sample.start ^ (u64)s->sample.tgid << 40 ^ (u64)s->cause << 32;
}

/* Sends the words of the scratch state under a key, unless that was done in this interval. */
XP_INLINE void xp_tell_stack(struct xp_state *s, u64 key, struct xp_stats *st)
{
    u32 now = xp_live.interval, *told = bpf_map_lookup_elem(&told_stacks, &key);
    if (told && *told == now)
        return;
    s->sample.type = XP_RECORD_STACK;
    s->sample.weight = key;
    if (!xp_send(s, st))
        bpf_map_update_elem(&told_stacks, &key, &now, BPF_ANY);
}

/* ---- Who is wanted -------------------------------------------------------------------------------------------------
 */
/* Returns the bits of the waits that are wanted of a thread. */
XP_INLINE u32 xp_waits_wanted(struct task_struct *t, u32 tgid, u64 *cgroup)
{
    u32 both = xp_config.offcpu | xp_config.runqueue;
    if (xp_config.target == XP_TARGET_PIDS && !bpf_map_lookup_elem(&wanted_pids, &tgid))
        return 0;
    *cgroup = xp_cgroup_id_of(t);
    return xp_config.target == XP_TARGET_CGROUP ? xp_want_of(*cgroup, t) & both : both;
}

/* ---- Sums ----------------------------------------------------------------------------------------------------------
 */
XP_INLINE struct xp_wait *xp_wait_get(const struct xp_wait_key *key, u32 odd)
{
    return odd ? bpf_map_lookup_elem(&waits1, key) : bpf_map_lookup_elem(&waits0, key);
}

/* Adds to a sum of this interval. */
XP_INLINE void xp_add_wait(const struct xp_wait_key *key, u64 count, u64 ns, struct xp_stats *st)
{
    u32 odd = xp_live.interval & 1;
    struct xp_wait *w = xp_wait_get(key, odd), fresh = {};
    if (!w) {
        odd ? bpf_map_update_elem(&waits1, key, &fresh, BPF_NOEXIST)
            : bpf_map_update_elem(&waits0, key, &fresh, BPF_NOEXIST); /* or somebody else has done so meanwhile */
        w = xp_wait_get(key, odd);
    }
    if (!w) {
        st->lost[XP_LOSS_WAIT] += count;
        return;
    }
    __sync_fetch_and_add(&w->count, count);
    __sync_fetch_and_add(&w->ns, ns);
}

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

/* Counts a wait of `ns`, of which it was runnable for `queued`. */
XP_INLINE void xp_count_wait(const struct xp_thread *t, u64 user, u64 kernel, u64 count, u64 ns, u64 queued,
                             struct xp_stats *st)
{
    struct xp_wait_key key = {.user = user, .kernel = kernel, .flags = t->flags & ~XP_WAIT_UNSEEN};
    if (queued > ns)
        queued = ns;
    if (!(key.flags & XP_WAIT_RUNQUEUE) && xp_config.offcpu)
        xp_add_wait(&key, count, ns - queued, st);
    key.flags = XP_WAIT_RUNQUEUE;
    if (queued && xp_config.runqueue && !(t->flags & XP_WAIT_UNSEEN))
        xp_add_wait(&key, 1, queued, st);
}

/* Returns by how many ns the scheduler's clock is behind on this CPU; 0: not known. By it, a thread that an interrupt
 * woke up runs from that interrupt on: microseconds before it is switched to. */
XP_INLINE u64 xp_clock_lag(struct task_struct *next, u64 now)
{
    return bpf_core_field_exists(struct cfs_rq, rq) ? now - next->se.cfs_rq->rq->clock : 0;
}

/* Returns the time since then, when the thread was seen last, by the scheduler's clock. */
XP_INLINE u64 xp_time_since(const struct xp_thread *t, u64 then, u64 now, u64 lag)
{
    return now - then - (t->lag && lag ? lag - t->lag : 0);
}

XP_INLINE void xp_note_sums(struct task_struct *task, struct xp_thread *t, u64 lag)
{
    t->lag = lag;
    t->ran = task->se.sum_exec_runtime;
    t->queued = task->sched_info.run_delay;
    t->switches = task->nvcsw + task->nivcsw;
}

/* Some kernels switch threads without a word now and then. What is missing shows in the scheduler's sums of a thread:
 * it has left more often, and of the time since it was seen last, it did not run all. `leaves`: it leaves its CPU now,
 * which is in the sums already; otherwise it is about to run. */
XP_INLINE void xp_recover(struct task_struct *task, struct xp_thread *t, u64 now, u64 lag, u32 leaves,
                          struct xp_stats *st)
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
    xp_count_wait(t, t->out ? t->user : t->nobody, t->kernel, missed - (told != 0), ns > told ? ns - told : 0,
                  xp_queued(task, t, !leaves), st);
    t->out = 0;
    st->recovered += missed;
}

/* ---- A thread leaves -----------------------------------------------------------------------------------------------
 */
XP_INLINE u32 xp_state_of(struct task_struct *t)
{
    struct task_struct___old_state *old = (void *)t;
    return bpf_core_field_exists(t->__state) ? t->__state : (u32)old->state;
}

/* What the state of a thread that leaves says. `preempted`: it did not ask to leave, whatever its state. */
XP_INLINE u32 xp_wait_flags(struct task_struct *t, u32 state, u64 preempted)
{
    if (preempted || !state)
        return XP_WAIT_RUNQUEUE;
    return (state & XP_TASK_UNINTERRUPTIBLE ? XP_WAIT_DEEP : 0) |
           (BPF_CORE_READ_BITFIELD(t, in_iowait) ? XP_WAIT_IO : 0);
}

/* Takes the user stack of the current thread, or only says whose it is. Its key is in s->hash. Out of line, so that it
 * is verified once. */
XP_NOINLINE int xp_take_wait_stack(u64 cgroup, u32 take)
{
    struct xp_stats *st = xp_stats_get();
    struct xp_state *s = xp_state_get();
    u64 id = bpf_get_current_pid_tgid();
    if (!s || !st)
        return 1;
    struct xp_sample *smp = &s->sample;
    smp->tgid = id >> 32;
    smp->tid = (u32)id;
    smp->cgroup = cgroup;
    xp_who_is(&s->who);
    xp_identify(smp, (struct task_struct *)s->who.task, s->who.start);
    xp_unwind_reset(s);
    s->kernel_mode = 1;
    if (take)
        xp_user_stack(s, 0, &s->who);
    else
        s->cause = XP_CAUSE_NOT_TAKEN;
    /* What is unwound later must not be shared with stacks that look the same so far. */
    xp_tell_stack(s, xp_key_of_words(s, xp_process_key(s) ^ (s->pending ? s->first.r[XP_RSP] : 0)), st);
    return 0;
}

/* Where a thread waits, as far as its user registers tell. */
XP_INLINE u64 xp_site(struct task_struct *t)
{
    u64 pt[2] = {}; /* rip, and after cs and eflags rsp */
    u64 at = xp_user_regs(t) + 16 * 8;
    bpf_probe_read_kernel(&pt[0], 8, (void *)at);
    bpf_probe_read_kernel(&pt[1], 8, (void *)at + 3 * 8);
    return xp_mix(pt[0], pt[1]);
}

/* The new entry is made in scratch memory: six nested calls have 512 bytes of stack together. */
XP_INLINE struct xp_thread *xp_thread_get(struct xp_state *s, u32 tid, u64 cgroup, struct xp_stats *st)
{
    struct xp_thread *t = bpf_map_lookup_elem(&threads, &tid), *fresh = (struct xp_thread *)s->object;
    _Static_assert(sizeof(*fresh) <= sizeof(s->object), "it serves as room");
    if (t)
        return t;
    xp_take_wait_stack(cgroup, 0);
    __builtin_memset(fresh, 0, sizeof(*fresh));
    fresh->nobody = s->hash;
    fresh->credit = XP_CREDIT_FIRST;
    fresh->wants = xp_live.wants;
    bpf_map_update_elem(&threads, &tid, fresh, BPF_NOEXIST);
    t = bpf_map_lookup_elem(&threads, &tid);
    if (!t)
        st->lost[XP_LOSS_WAIT]++;
    return t;
}

/* The current thread leaves its CPU. */
XP_INLINE void xp_switch_out(struct task_struct *prev, u32 state, u64 preempted, u64 now, u64 lag, struct xp_stats *st)
{
    u64 id = bpf_get_current_pid_tgid(), cgroup = 0;
    u32 tid = (u32)id, wanted;
    if (!id) /* the idle task */
        return;
    if (state & XP_TASK_DEAD) {
        bpf_map_delete_elem(&threads, &tid);
        return;
    }
    wanted = xp_waits_wanted(prev, id >> 32, &cgroup);
    if (!wanted || prev->flags & XP_PF_NO_USER)
        return;
    struct xp_state *s = xp_state_get();
    struct xp_thread *t = s ? xp_thread_get(s, tid, cgroup, st) : 0;
    if (!t)
        return;
    if (t->wants != xp_live.wants) /* it may not have been wanted for some time */
        t->out = t->in = 0;
    t->wants = xp_live.wants;
    xp_recover(prev, t, now, lag, 1, st);
    u32 flags = xp_wait_flags(prev, state, preempted);
    if ((flags & XP_WAIT_RUNQUEUE) && !(wanted & xp_config.runqueue))
        flags |= XP_WAIT_UNSEEN;
    u64 site = xp_site(prev);
    if (site != t->site || flags != t->flags)
        t->kernel = 0;
    t->site = site;
    t->flags = flags;
    xp_note_sums(prev, t, lag);
    t->taken = !(flags & XP_WAIT_UNSEEN) && (xp_config.wait_min <= 1000 || t->credit);
    t->user = t->nobody;
    if (t->taken && !xp_take_wait_stack(cgroup, 1))
        t->user = s->hash;
    t->out = now;
}

/* ---- It comes back -------------------------------------------------------------------------------------------------
 */
/* Takes the kernel stack of a thread that is not running; returns its key, 0 without one. */
XP_INLINE u64 xp_take_kernel_stack(struct xp_state *s, struct task_struct *task, struct xp_stats *st)
{
    long n = bpf_get_task_stack(task, s->words, 8 * XP_MAX_KERNEL, 0);
    struct xp_sample *smp = &s->sample;
    smp->nkernel = n > 0 ? (u32)n / 8 : 0;
    smp->nuser = 0;
    smp->tgid = smp->tid = 0;
    smp->flags = 0;
    s->fp_frames = s->pending = 0;
    s->cause = XP_CAUSE_NOT_WANTED;
    if (!smp->nkernel)
        return 0;
    u64 key = xp_key_of_words(s, 0);
    xp_tell_stack(s, key, st);
    return key;
}

/* Learns from a wait whether the next ones of this thread are worth their stack. */
XP_INLINE void xp_learn(struct xp_thread *t, u64 ns)
{
    u64 credit = t->credit;
    if (ns >= xp_config.wait_min)
        credit = t->taken ? credit + XP_CREDIT_LONG : 2 * credit + 2 * XP_CREDIT_LONG;
    else if (t->taken && credit)
        credit--;
    t->credit = credit < XP_CREDIT_MAX ? credit : XP_CREDIT_MAX;
}

XP_INLINE void xp_switch_in(struct task_struct *next, u64 now, u64 lag, struct xp_stats *st)
{
    u32 tid = next->pid;
    struct xp_thread *t = bpf_map_lookup_elem(&threads, &tid);
    if (!t)
        return;
    __sync_fetch_and_add(&t->changes, 1);
    u64 queued = xp_queued(next, t, 1), before = t->queued;
    u64 ns = xp_time_since(t, t->out, now, lag) - (next->se.sum_exec_runtime - t->ran); /* it may have run */
    ns = (s64)ns < 0 ? 0 : ns;
    if (!t->out) {
        xp_recover(next, t, now, lag, 0, st);
    } else {
        u64 told = t->told > t->out ? t->told - t->out : 0;
        struct xp_state *s = xp_state_get();
        if (s && xp_config.kernel && !(t->flags & XP_WAIT_UNSEEN) && (ns >= xp_config.wait_min || !t->kernel))
            t->kernel = xp_take_kernel_stack(s, next, st);
        xp_learn(t, ns);
        ns -= told < ns ? told : ns;
        xp_count_wait(t, t->user, t->kernel, !told, ns, t->flags & XP_WAIT_RUNQUEUE ? ns : queued, st);
    }
    t->out = 0;
    t->in = now;
    xp_note_sums(next, t, lag);
    t->queued = before + queued; /* with what it is about to grow by */
}
