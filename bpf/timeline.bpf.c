/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Tells each switch of threads and each wake-up of the machine, for a time axis (agent/timeline). Nothing is filtered
 * but the names: who uses a CPU is worth knowing whoever it is.
 */
#include "bpf/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "bpf/timeline.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define XP_INLINE       static __always_inline
#define CGROUP_DEPTH    24
#define TASK_DEAD       0x80u /* include/linux/sched.h */
#define UNINTERRUPTIBLE 2u    /* the same */
#define SAME_STACK      BPF_F_FAST_STACK_CMP

#include "bpf/task.bpf.h"

/* Set before loading. */
const volatile u64 xp_cgroup = 0;         /* whose threads are wanted; 0: all are */
const volatile s32 xp_cgroup_subsys = -1; /* as in struct xp_config */
const volatile u32 xp_prev_state = 0;     /* sched_switch has the state as its fourth argument (Linux 5.18) */

volatile u64 xp_lost = 0; /* records for which the ring had no room */

struct sched_entity___timeline {
    u64 prev_sum_exec_runtime;
} CORE;
struct task_struct___timeline {
    int on_cpu; /* one byte in newer kernels: read with its actual size */
} CORE;

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24); /* 3 s of 150,000 records a second */
} events SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, XP_TL_STACKS);
    __uint(key_size, 4);
    __uint(value_size, 8 * XP_TL_FRAMES);
} stacks SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_tl_listed);
} scratch SEC(".maps");

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

/* What a thread that does not run waits for. */
XP_INLINE u8 flags_of(struct task_struct *t, u32 state)
{
    if (state & TASK_DEAD)
        return XP_TL_DEAD;
    if (!state)
        return XP_TL_RUNNABLE;
    return (state & UNINTERRUPTIBLE ? XP_TL_DEEP : 0) | (BPF_CORE_READ_BITFIELD(t, in_iowait) ? XP_TL_IO : 0);
}

/* The run queue of a thread; NULL: this kernel has no way from one to the other. Threads that tracepoints have as their
 * arguments are read without further ado. */
XP_INLINE struct rq *queue_of(struct task_struct *t)
{
    return bpf_core_field_exists(struct cfs_rq, rq) ? t->se.cfs_rq->rq : 0;
}

XP_INLINE u16 running_on(struct rq *rq)
{
    u32 n = rq ? rq->nr_running : 0;
    return n < 0xffff ? n : 0xffff;
}

/* Whether it is in the wanted cgroup, or below it. */
XP_INLINE u8 is_wanted(struct task_struct *t)
{
    struct cgroup *c = xp_cgroup ? xp_cgroup_in(t, xp_cgroup_subsys) : 0;
    for (u32 i = 0; i < CGROUP_DEPTH && c; i++, c = xp_cgroup_above(c))
        if (BPF_CORE_READ(c, kn, id) == xp_cgroup)
            return 1;
    return !xp_cgroup;
}

XP_INLINE void describe(struct xp_tl_task *out, struct task_struct *t, u8 type, u32 parent)
{
    out->type = type;
    out->wanted = is_wanted(t);
    out->pad = 0;
    out->cpu = bpf_get_smp_processor_id();
    out->time = bpf_ktime_get_ns();
    out->tid = BPF_CORE_READ(t, pid);
    out->tgid = BPF_CORE_READ(t, tgid);
    out->parent = parent;
    out->pad2 = 0;
    BPF_CORE_READ_STR_INTO(&out->comm, t, comm);
    BPF_CORE_READ_STR_INTO(&out->process, t, group_leader, comm);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

XP_INLINE struct xp_tl_event *begin(u8 type, u64 time)
{
    struct xp_tl_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
    if (!e) {
        __sync_fetch_and_add(&xp_lost, 1);
        return 0;
    }
    __builtin_memset(e, 0, sizeof(*e));
    e->type = type;
    e->cpu = bpf_get_smp_processor_id();
    e->time = time;
    e->stack = -1;
    return e;
}

XP_INLINE void end(struct xp_tl_event *e)
{
    bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP); /* user space comes by often enough */
}

/* How long a thread that leaves has had its CPU. */
XP_INLINE u32 ran_for(struct task_struct *t)
{
    struct sched_entity___timeline *se = (void *)&t->se;
    u64 ran = t->se.sum_exec_runtime - se->prev_sum_exec_runtime;
    return ran < ~0u ? (u32)ran : ~0u;
}

/* Arguments: preempt, prev, next; prev_state since Linux 5.18. */
SEC("tp_btf/sched_switch")
int xp_tl_switch(u64 *ctx)
{
    u64 now = bpf_ktime_get_ns(); /* the scheduler has stopped its own clock of `prev` just before */
    struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
    u32 state = xp_prev_state ? (u32)ctx[3] : xp_state_of(prev);
    u8 flags = ctx[0] ? XP_TL_RUNNABLE : flags_of(prev, state);
    int waits = prev->pid && !(flags & (XP_TL_RUNNABLE | XP_TL_DEAD));
    long stack = waits ? bpf_get_stackid(ctx, &stacks, SAME_STACK) : -1;
    struct xp_tl_event *e = begin(XP_TL_SWITCH, now);
    if (!e)
        return 0;
    e->flags = flags;
    e->running = running_on(queue_of(next));
    e->thread = prev->pid;
    e->other = next->pid;
    e->stack = stack;
    e->ran = ran_for(prev);
    end(e);
    return 0;
}

/* The idle task wakes up nobody by itself. Of others, the stack tells what they did from what an interrupt did. */
XP_INLINE int tell_waking(void *ctx, struct task_struct *woken)
{
    u64 now = bpf_ktime_get_ns();
    u32 waker = (u32)bpf_get_current_pid_tgid();
    long stack = waker ? bpf_get_stackid(ctx, &stacks, SAME_STACK) : -1;
    struct xp_tl_event *e = begin(XP_TL_WAKING, now);
    if (!e)
        return 0;
    e->flags = waker ? 0 : XP_TL_INTERRUPT;
    e->thread = woken->pid;
    e->other = waker;
    e->stack = stack;
    end(e);
    return 0;
}

SEC("tp_btf/sched_waking")
int xp_tl_waking(u64 *ctx)
{
    return tell_waking(ctx, (void *)ctx[0]);
}

XP_INLINE int tell_wakeup(struct task_struct *woken)
{
    u64 now = bpf_ktime_get_ns();
    struct rq *rq = queue_of(woken);
    struct xp_tl_event *e = begin(XP_TL_WAKEUP, now);
    if (!e)
        return 0;
    e->running = running_on(rq);
    e->thread = woken->pid;
    e->other = rq ? rq->cpu : e->cpu;
    end(e);
    return 0;
}

SEC("tp_btf/sched_wakeup")
int xp_tl_wakeup(u64 *ctx)
{
    return tell_wakeup((void *)ctx[0]);
}

SEC("tp_btf/sched_wakeup_new")
int xp_tl_wakeup_new(u64 *ctx)
{
    tell_waking(ctx, (void *)ctx[0]);
    return tell_wakeup((void *)ctx[0]);
}

/* Arguments: task, the number that it had. A thread that executes a program takes that of its process; the one that it
 * had ends, without leaving a CPU. */
SEC("tp_btf/sched_process_exec")
int xp_tl_exec(u64 *ctx)
{
    u64 now = bpf_ktime_get_ns();
    struct task_struct *t = (void *)ctx[0];
    u32 before = (u32)ctx[1], after = (u32)t->pid;
    struct xp_tl_event *e = before != after ? begin(XP_TL_SWITCH, now) : 0;
    if (!e)
        return 0;
    e->flags = XP_TL_DEAD;
    e->running = running_on(queue_of(t));
    e->thread = before;
    e->other = after;
    e->ran = ~0u;
    end(e);
    return 0;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

XP_INLINE int tell_task(struct task_struct *t, u32 parent, const char *comm)
{
    struct xp_tl_task *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
    if (!e) {
        __sync_fetch_and_add(&xp_lost, 1);
        return 0;
    }
    describe(e, t, XP_TL_TASK, parent);
    if (comm) {
        bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), comm);
        if (e->tid == e->tgid)
            __builtin_memcpy(e->process, e->comm, sizeof(e->process));
    }
    bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
    return 0;
}

/* Arguments: parent, child. */
SEC("tp_btf/sched_process_fork")
int xp_tl_fork(u64 *ctx)
{
    struct task_struct *parent = (void *)ctx[0];
    return tell_task((void *)ctx[1], parent->tgid, 0);
}

/* Arguments: task, its new name. */
SEC("tp_btf/task_rename")
int xp_tl_rename(u64 *ctx)
{
    return tell_task((void *)ctx[0], 0, (const char *)ctx[1]);
}

SEC("iter/task")
int xp_tl_list(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    struct task_struct___timeline *t = (void *)task;
    u32 zero = 0;
    struct xp_tl_listed *out = bpf_map_lookup_elem(&scratch, &zero);
    if (!task || !out || !task->pid)
        return 0;
    __builtin_memset(out, 0, sizeof(*out));
    describe(&out->task, task, XP_TL_LISTED, 0);
    out->flags = flags_of(task, xp_state_of(task));
    out->on_cpu = bpf_core_field_exists(t->on_cpu) ? (u32)BPF_CORE_READ_BITFIELD_PROBED(t, on_cpu) : 0;
    if (!out->on_cpu && !(out->flags & XP_TL_RUNNABLE)) {
        long n = bpf_get_task_stack(task, out->frames, sizeof(out->frames), 0);
        out->nframes = n > 0 ? (u32)n / 8 : 0;
    }
    bpf_seq_write(ctx->meta->seq, out, sizeof(*out));
    return 0;
}
