/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The user stack of a wait, as its own thread takes it: when it leaves its CPU, or late, when it is back on one and the
 * scheduler's locks are released (bpf/resume.bpf.c, bpf/finish.bpf.c). A thread that is back has not been in user mode
 * yet, so the registers that the kernel saved at its entry and the memory of the stack are still those of the wait.
 *
 * A wait whose stack is late is over, and kept here until it is counted, with its stack or without: by the thread when
 * its stack is taken, by the thread when it leaves again, or by the iterator. Who deletes it counts it.
 */
#pragma once

struct xp_late_key {
    u32 tid, turn; /* the wait was the last one before the thread came back for the xp_thread.changes-th time */
};
struct xp_late {
    struct bpf_task_work work; /* since Linux 6.18: the kernel knows it by the name of its type */
    u64 ns, queued;
    u64 count;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1); /* XP_MAX_LATE if stacks may be late */
    __type(key, struct xp_late_key);
    __type(value, struct xp_late);
} lates SEC(".maps");

/* ---- Taking it -----------------------------------------------------------------------------------------------------
 */
/* Takes the user stack of the current thread into the scratch state, or only says whose it is. This and the next one
 * are out of line, because all nested calls share 512 bytes of stack, and unwinding has many. */
XP_NOINLINE int xp_user_stack_of_wait(u64 cgroup, u32 take)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    struct xp_sample *smp = &s->sample;
    xp_begin_current(s, cgroup);
    if (take)
        xp_user_stack(s, 0, &s->who);
    else
        s->cause = XP_CAUSE_NOT_TAKEN;
    struct xp_stats *st = take && xp_config.measure ? xp_stats_get() : 0;
    smp->unwind_ns = st ? (u32)(bpf_ktime_get_ns() - smp->time) : 0;
    if (st)
        st->unwind_ns += smp->unwind_ns;
    return 0;
}

/* Its key is in s->hash then. Returns 0; 1: it could not be sent. */
XP_INLINE int xp_take_wait_stack(u64 cgroup, u32 take)
{
    return xp_user_stack_of_wait(cgroup, take) || xp_tell_here(cgroup, 0);
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

/* ---- Late ----------------------------------------------------------------------------------------------------------
 */
/* Returns where the last wait of a thread is kept; NULL: it is counted already. */
XP_INLINE struct xp_late *xp_late_of(u32 tid, const struct xp_thread *t)
{
    struct xp_late_key key = {.tid = tid, .turn = t->changes};
    return bpf_map_lookup_elem(&lates, &key);
}

/* Keeps a wait that is over; the rest of it is in `threads` until the thread leaves again. Returns 0; 1: there is no
 * room. Out of line, for its part of the stack. */
XP_NOINLINE int xp_keep_late(u32 tid, u64 count, u64 ns, u64 queued)
{
    struct xp_thread *t = bpf_map_lookup_elem(&threads, &tid);
    if (!t)
        return 1;
    struct xp_late_key key = {.tid = tid, .turn = t->changes};
    struct xp_late fresh = {.ns = ns, .queued = queued, .count = count};
    t->late = !bpf_map_update_elem(&lates, &key, &fresh, BPF_NOEXIST);
    return !t->late;
}

/* Counts a wait that was kept, with the user stack of this key; 0: it was not taken. Returns 0; 1: somebody else has
 * counted it. */
XP_NOINLINE int xp_settle(u32 tid, u64 user)
{
    struct xp_thread *t = bpf_map_lookup_elem(&threads, &tid);
    struct xp_late *l = t ? xp_late_of(tid, t) : 0;
    if (!l)
        return 1;
    struct xp_late_key key = {.tid = tid, .turn = t->changes};
    u64 ns = l->ns, queued = l->queued, count = l->count;
    if (bpf_map_delete_elem(&lates, &key))
        return 1;
    xp_count_wait(t, tid, user ? user : t->nobody, count, ns, queued);
    return 0;
}

/* Stops following a thread, whose last wait may still be kept. */
XP_INLINE void xp_forget_late(u32 tid)
{
    struct xp_thread *t = xp_thread_of(tid);
    if (t && t->late)
        xp_settle(tid, 0);
    xp_forget_thread(tid);
}

/* The current thread takes the stack of its last wait, unless it has got elsewhere meanwhile: execve replaces its
 * registers. Returns 0; 1: it was not to be taken, or could not. */
XP_NOINLINE int xp_take_late(void)
{
    u32 tid = (u32)bpf_get_current_pid_tgid();
    struct xp_state *s = xp_state_get();
    struct xp_thread *t = xp_thread_of(tid);
    if (!s || !t || !t->late)
        return 1;
    t->late = 0;
    if (!xp_late_of(tid, t))
        return 1;
    u64 cgroup = t->cgroup;
    int lost = xp_site((struct task_struct *)bpf_get_current_task()) != t->site || xp_take_wait_stack(cgroup, 1);
    xp_settle(tid, lost ? 0 : s->hash);
    return lost;
}
