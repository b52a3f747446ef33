/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Reading this iterator counts the waits that go on, and finds threads that have been asleep all along. It writes those
 * whose stacks are still to be taken (struct xp_sleeper). Of another process, nothing but the list of mappings can be
 * read here.
 */
#define XP_ITERATES
#define XP_LANE XP_LANE_SLEEPERS
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/object.bpf.h"
#include "bpf/waits.bpf.h"
#include "bpf/late.bpf.h"
#include "bpf/lock.bpf.h"

/* Prepares the scratch state for a stack of this thread, which is not running. Returns 0; 1: it has none. */
XP_INLINE int xp_begin_sleeper(struct xp_state *s, struct task_struct *task, u64 cgroup)
{
    struct xp_sample *smp = &s->sample;
    u64 *pt = s->node;
    s->who.task = (u64)task;
    XP_FILL_WHO(&s->who, task, XP_LOAD);
    xp_unwind_reset(s);
    smp->nkernel = 0;
    smp->tgid = task->tgid;
    smp->tid = task->pid;
    smp->cgroup = cgroup;
    xp_identify(smp, task, s->who.start);
    s->kernel_mode = 1;
    s->cause = XP_CAUSE_NOT_TAKEN;
    if (!s->who.mm || !xp_config.user)
        return 1;
    if (bpf_probe_read_kernel(pt, XP_PT_WORDS * 8, (void *)xp_user_regs_of(task)) || !xp_is_native(pt))
        return 1;
    xp_regs_from_pt(&s->first, pt);
    return 0;
}

/* Writes the thread of the scratch state. Returns 0; 1: there is no room, and this thread will come again. */
XP_INLINE int xp_write_sleeper(struct xp_state *s, struct seq_file *seq, u64 key, u64 switches)
{
    struct xp_sleeper *z = (struct xp_sleeper *)s->object;
    u32 tgid = s->sample.tgid, same = s->listed == ((u64)xp_live.interval << 32 | tgid);
    _Static_assert(sizeof(struct xp_sleeper) <= sizeof(s->object), "it serves as room");
    if (!same)
        xp_list_maps(s);
    s->listed = 0;
    u32 n = same ? 0 : s->nmaps;
    if (n > XP_DUMP_MAPS)
        n = XP_DUMP_MAPS;
    z->key = key;
    z->start = s->sample.start;
    z->cgroup = s->sample.cgroup;
    z->switches = switches;
    z->tls = xp_tls_base(s);
    z->tgid = tgid;
    z->tid = s->sample.tid;
    z->nstid = s->sample.nstid;
    z->nmaps = n;
    z->same_maps = same;
    __builtin_memcpy(z->comm, s->sample.comm, sizeof(z->comm));
    __builtin_memcpy(z->thread, s->sample.thread, sizeof(z->thread));
    __builtin_memcpy(&z->regs, &s->first, sizeof(z->regs));
    if (bpf_seq_write(seq, z, sizeof(*z)) || (n && bpf_seq_write(seq, s->maps, n * sizeof(s->maps[0]))))
        return 1;
    s->listed = (u64)xp_live.interval << 32 | tgid;
    return 0;
}

/* Finds the lock that a thread of the scratch state waits for. Returns 0; 1: nobody records waits like this one. */
XP_INLINE int xp_meet_lock(struct xp_state *s, struct task_struct *task, struct xp_thread *t, u32 state)
{
    u64 at = 0;
    s->saved = xp_user_regs_of(task);
    if (t->wanted & xp_config.lock && s->who.mm)
        at = xp_lock_at(t->flags, state);
    if (at)
        t->lock = xp_lock_word(at);
    t->flags = xp_seen_flags(t->flags, t->wanted, at);
    return t->flags & XP_WAIT_UNSEEN;
}

/* Begins to follow a thread that left its CPU before anybody watched. Its wait counts from now on. */
XP_INLINE void xp_meet_sleeper(struct xp_state *s, struct seq_file *seq, struct task_struct *task, u64 now)
{
    struct xp_thread *fresh = (struct xp_thread *)s->window; /* nothing is unwound here */
    u32 state = xp_state_of(task), tgid = task->tgid, tid = task->pid;
    u64 cgroup = 0, wanted;
    _Static_assert(sizeof(*fresh) <= sizeof(s->window), "it serves as room");
    if (!state || state & XP_TASK_DEAD || !(wanted = xp_waits_wanted(task, tgid, &cgroup)))
        return;
    __builtin_memset(fresh, 0, sizeof(*fresh));
    fresh->out = now;
    fresh->credit = XP_CREDIT_FIRST;
    fresh->wants = xp_live.wants;
    fresh->wanted = wanted;
    fresh->cgroup = cgroup;
    fresh->flags = xp_wait_flags(task, state, 0);
    xp_note_sums(task, fresh, 0);
    int none = xp_begin_sleeper(s, task, cgroup);
    if (xp_meet_lock(s, task, fresh, state))
        return;
    fresh->nobody = fresh->user = xp_key_of_words(s, xp_process_key(s));
    if (xp_tell_stack(s, fresh->nobody, cgroup))
        return;
    if (!none) {
        fresh->user = xp_mix(fresh->nobody ^ now, tid) | 1;
        fresh->taken = 1;
        if (xp_write_sleeper(s, seq, fresh->user, fresh->switches))
            return;
    }
    xp_add_thread(tid, fresh);
}

/* A wait that seemed not worth its stack goes on. Returns 0; 1: it cannot be counted yet, for there is no room, or the
 * thread will soon take its stack itself. */
XP_INLINE int xp_catch_up(struct xp_state *s, struct seq_file *seq, struct task_struct *task, struct xp_thread *t,
                          u64 cgroup, u64 now)
{
    if (xp_config.late && !t->taken && now - t->out < XP_LATE_WAIT && !xp_live.ends)
        return 1;
    if (t->taken || t->flags & XP_WAIT_RUNQUEUE || now - t->out < xp_wait_min_of(t) ||
        xp_begin_sleeper(s, task, cgroup))
        return 0;
    u64 key = xp_mix(t->nobody ^ now, task->pid) | 1;
    if (xp_write_sleeper(s, seq, key, t->switches))
        return 1;
    t->user = key;
    t->taken = 1;
    return 0;
}

/* Whether events are wanted of a wait for which it was not looked at when it began: whether it is one for a lock, or
 * anything but that. */
XP_INLINE u32 xp_wants_anew(const struct xp_thread *t, u64 wanted)
{
    u32 more = XP_WANT_EVENTS(wanted & ~t->wanted);
    if (t->flags & XP_WAIT_UNSEEN)
        return more & (xp_config.offcpu | xp_config.runqueue | xp_config.wakeup);
    return t->flags & XP_WAIT_RUNQUEUE ? 0 : more & xp_config.lock;
}

/* Counts the wait of a thread up to now. Returns 1 if the thread is to be met anew, and the rest of its wait with it.
 */
XP_INLINE u32 xp_tell_sleeper(struct xp_state *s, struct seq_file *seq, struct task_struct *task, struct xp_thread *t,
                              u64 now)
{
    u64 cgroup = 0, changes = t->changes, out = t->out, told = t->told, first = told <= out, from = first ? out : told;
    u32 tid = task->pid;
    u64 wanted = xp_waits_wanted(task, task->tgid, &cgroup);
    u32 anew = out && xp_wants_anew(t, wanted);
    if (!wanted) {
        xp_forget_late(tid);
        return 0;
    }
    if (!out && t->late && now - t->in >= XP_LATE_NS) /* its stack is lost */
        xp_settle(tid, 0);
    if (t->flags & XP_WAIT_UNSEEN)
        return anew;
    if (!out || (s64)(now - from) <= 0 || xp_catch_up(s, seq, task, t, cgroup, now))
        return 0;
    t->wants = xp_live.wants;
    t->wanted = wanted;
    if (xp_config.kernel && (first || !t->kernel))
        t->kernel = xp_take_kernel_stack(s, task, cgroup);
    t->told = now;
    /* An atomic addition is a barrier: either the thread that comes back sees `told`, or this sees that it did. */
    __sync_fetch_and_add(&t->looks, 1);
    if (*(volatile u64 *)&t->changes != changes)
        return 0;
    if (t->flags & XP_WAIT_RUNQUEUE)
        xp_add_wait(t->user, t->kernel, XP_COUNTED(t->flags, first), now - from, tid);
    else
        xp_count_wait(t, tid, t->user, first, now - from, 0);
    return anew;
}

SEC("iter/task")
int xp_tell_waits(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    struct xp_state *s = xp_iter_state();
    if (!task || !s)
        return 0;
    u32 tid = task->pid;
    struct xp_thread *t = bpf_map_lookup_elem(&threads, &tid);
    u64 now = bpf_ktime_get_ns();
    u32 meet = t ? xp_tell_sleeper(s, ctx->meta->seq, task, t, now) : XP_MAY_WAIT(task);
    if (t && meet)
        xp_forget_late(tid);
    if (meet)
        xp_meet_sleeper(s, ctx->meta->seq, task, now);
    return 0;
}
