/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Sends an event to user space: filters it, finds its process and cgroup, takes the kernel and user stacks, and writes
 * to the ring. Every kind of event (events/NAME.bpf.h) ends in xp_submit.
 */
#pragma once
#include "bpf/python_texts.bpf.h"

#define XP_DUMPS_PER_SECOND 128 /* per CPU: at most 2 MiB/s of stack bytes */
#define XP_ROWS_PER_SECOND  64  /* of these, for stacks that wait for rows only: files without table need the rest */

#define XP_DUMP_WALKS 4096 /* mappings and gaps examined for a dump; a browser's heap has a thousand and more */
#define XP_DUMP_STEP  64   /* of these at once: two short loops take the verifier less than a long one */

/* Stores the interrupted user registers in s->regs: those in ctx, or (NULL, or in kernel mode) those that the kernel
 * saved at its entry. Returns 0 or a cause. */
XP_INLINE int xp_take_regs(struct xp_state *s, struct bpf_perf_event_data *ctx, const struct xp_who *w)
{
    u64 *pt = s->node;
    if (w->kthread)
        return XP_CAUSE_KTHREAD;
    if (!w->mm)
        return XP_CAUSE_NO_MM;
    if (!ctx || s->kernel_mode) {
        if (bpf_probe_read_kernel(pt, XP_PT_WORDS * 8, (void *)xp_user_regs((struct task_struct *)w->task)))
            return XP_CAUSE_NO_MM;
    } else {
        XP_UNROLL
        for (int i = 0; i < XP_PT_WORDS; i++)
            pt[i] = ((const volatile u64 *)ctx->regs)[i];
    }
    xp_regs_from_pt(&s->regs, pt);
    s->first = s->regs;
    return xp_is_native(pt) ? 0 : XP_CAUSE_COMPAT;
}

/* Takes the user stack of a sample. */
XP_INLINE void xp_user_stack(struct xp_state *s, struct bpf_perf_event_data *ctx, const struct xp_who *w)
{
    int cause = xp_take_regs(s, ctx, w);
    if (!cause && !xp_config.user)
        cause = XP_CAUSE_NOT_WANTED;
    if (cause) {
        s->cause = cause;
        return;
    }
    xp_choose_set(s, w);
    xp_unwind(s);
    if (s->kernel_mode && !s->sample.nuser && (s->cause == XP_CAUSE_NO_MAPPING || s->cause == XP_CAUSE_TREE))
        s->cause = XP_CAUSE_NO_IMAGE;
}

/* Adds the executable ones of the next mappings to s->maps. Returns where to go on; 0: at the end. */
XP_NOINLINE u64 xp_list_some(u64 at)
{
    for (u32 i = 0; i < XP_DUMP_STEP; i++)
        if (!(at = xp_list_mapping(at)) || at >= XP_USER_END)
            return 0;
    return at;
}

/* Lists the executable mappings of the process in s->maps. */
XP_INLINE void xp_list_maps(struct xp_state *s)
{
    u64 next = 0;
    s->nmaps = 0;
    for (u32 i = 0; i < XP_DUMP_WALKS / XP_DUMP_STEP; i++)
        if (!(next = xp_list_some(next)))
            break;
}

/* Sends registers and stack bytes, so that user space can unwind once the table exists. Limited per CPU and second.
 * Pages that are not in memory are left out: of a large local array, those that nothing was written to yet. */
XP_NOINLINE int xp_send_dump(u64 now)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    if (now - s->dump_second > 1000000000ull) {
        s->dump_second = now;
        s->dumps = 0;
    }
    if (s->dumps >= (s->pending & XP_WAITS_TABLE ? XP_DUMPS_PER_SECOND : XP_ROWS_PER_SECOND))
        return 0;
    s->dumps++; /* also if there will be no room for it: listing mappings takes time */
    xp_list_maps(s);
    struct xp_dump *d = bpf_ringbuf_reserve(&ring, sizeof(*d), 0);
    if (!d)
        return 0;
    d->type = XP_RECORD_DUMP;
    d->cpu = s->sample.cpu;
    d->time = s->sample.time;
    d->tgid = s->sample.tgid;
    d->nmaps = s->nmaps;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    d->switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
    bpf_probe_read_kernel(d->maps, sizeof(d->maps), s->maps);
    __builtin_memcpy(&d->regs, &s->first, sizeof(d->regs));
    d->tls = xp_tls_base(s);
    u64 at = s->first.r[XP_RSP], to_page = 4096 - (at & 4095);
    u32 absent = 0;
    d->len = 0;
    if (to_page <= 4096 && !xp_read_user(d->stack, to_page, at))
        d->len = to_page;
    at += to_page - 4096;
    for (u32 i = 1; i < XP_DUMP_REACH; i++) {
        u32 len = *(volatile u32 *)&d->len; /* unknown to the verifier, which would follow all lengths that there are */
        if (!len || len > XP_DUMP_BYTES - 4096)
            break;
        if (xp_read_user(d->stack + (len & (XP_DUMP_BYTES - 1)), 4096, at + 4096ull * i))
            absent |= 1u << i;
        else
            d->len = len + 4096;
    }
    d->absent = absent;
    d->pad = 0;
    bpf_ringbuf_submit(d, BPF_RB_FORCE_WAKEUP);
    return 1;
}

XP_INLINE void xp_count(struct xp_state *s, struct xp_stats *st)
{
    st->samples++;
    if (s->cause < XP_CAUSE_COUNT)
        st->cause[s->cause]++;
    st->frames += s->sample.nuser;
    st->fp_frames += s->fp_frames;
    st->walks += s->walks;
    st->refills += s->refills;
    st->cache_hits += s->hits;
    st->cache_misses += s->misses;
    st->unwind_ns += s->sample.unwind_ns;
}

/* User space is also woken up if the ring fills faster than it is polled. */
XP_INLINE u64 xp_ring_wakeup(const struct xp_state *s)
{
    if (xp_wakes_up(s))
        return BPF_RB_FORCE_WAKEUP;
    return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > xp_config.ring_bytes / 4 ? BPF_RB_FORCE_WAKEUP
                                                                                  : BPF_RB_NO_WAKEUP;
}

#define XP_YOUNG_NS 5000000000ull /* what makes code in a process is not known in its first seconds */

XP_INLINE int xp_is_young(const struct xp_state *s)
{
    return xp_misses_code(s) && bpf_ktime_get_boot_ns() - s->sample.start < XP_YOUNG_NS;
}

/* Returns 0; 1: there was no room. */
XP_INLINE int xp_send(struct xp_state *s, struct xp_stats *st)
{
    struct xp_sample *smp = &s->sample;
    smp->cause = s->cause;
    if (s->kernel_mode)
        smp->flags |= XP_SAMPLE_KERNEL_MODE;
    if (s->fp_frames)
        smp->flags |= XP_SAMPLE_FP_USED;
    if (xp_is_young(s))
        s->pending |= XP_WAITS_CODE;
    if (s->pending) {
        if (xp_send_dump(smp->time))
            smp->flags |= XP_SAMPLE_DUMP;
        else
            st->lost[XP_LOSS_DUMP]++;
    }
    xp_send_codes(s);
    u32 len = sizeof(*smp) + 8u * (smp->nkernel + smp->nuser);
    if (len > sizeof(*smp) + sizeof(s->words))
        len = sizeof(*smp) + sizeof(s->words);
    if (!bpf_ringbuf_output(&ring, smp, len, xp_ring_wakeup(s)))
        return 0;
    st->lost[XP_LOSS_RING_FULL]++;
    return 1;
}

/* The number of a thread in its own namespace of PIDs. */
XP_INLINE u32 xp_number_within(struct task_struct *t)
{
    struct pid *pid = BPF_CORE_READ(t, thread_pid);
    u64 last = BPF_CORE_READ(pid, level);
    int number = 0;
    bpf_probe_read_kernel(&number, sizeof(number),
                          (void *)pid + XP_OFFSET_OF(pid, numbers) + last * sizeof(struct upid));
    return (u32)number;
}

/* Records everything that user space needs to know about the process, which may have exited by then. */
XP_INLINE void xp_identify(struct xp_sample *smp, struct task_struct *t, u64 start)
{
    struct task_struct *named = xp_config.thread_names ? t : BPF_CORE_READ(t, group_leader);
    bpf_probe_read_kernel(smp->comm, sizeof(smp->comm), (void *)named + XP_OFFSET_OF(task_struct, comm));
    if (xp_config.thread_labels)
        bpf_probe_read_kernel(smp->thread, sizeof(smp->thread), (void *)t + XP_OFFSET_OF(task_struct, comm));
    if (xp_config.thread_ids)
        smp->nstid = xp_number_within(t);
    smp->start = start;
    smp->type = XP_RECORD_SAMPLE;
    smp->cpu = bpf_get_smp_processor_id();
    smp->time = bpf_ktime_get_ns();
    smp->count = 1;
    smp->nkernel = 0;
    smp->flags = 0;
}

XP_INLINE void xp_kernel_stack(struct xp_state *s, struct bpf_perf_event_data *ctx)
{
    s->kernel_mode = !xp_is_user(((const volatile u64 *)ctx->regs)[XP_PT_CS]);
    if (!s->kernel_mode || !xp_config.kernel)
        return;
    long n = bpf_get_stack(ctx, s->words, 8 * XP_MAX_KERNEL, 0);
    s->sample.nkernel = n > 0 ? (u32)n / 8 : 0;
}

/* Begins a sample of the running task. Returns NULL if it is not wanted, or if there is no scratch memory. `weight` is
 * the weight of one occurrence, in the unit of the event. */
XP_INLINE struct xp_state *xp_begin(u32 event, u64 weight, struct xp_stats *st)
{
    u64 id = bpf_get_current_pid_tgid();
    struct xp_state *s = xp_state_get();
    if (!id) /* the idle task */
        return 0;
    if (!s) {
        st->lost[XP_LOSS_SCRATCH]++;
        return 0;
    }
    struct xp_sample *smp = &s->sample;
    smp->tgid = id >> 32;
    smp->tid = (u32)id;
    u32 stands_for = xp_wanted(s, event, st);
    if (!stands_for)
        return 0;
    xp_who_is(&s->who);
    xp_identify(smp, (struct task_struct *)s->who.task, s->who.start);
    smp->weight = weight * stands_for;
    smp->event = event;
    xp_unwind_reset(s);
    return s;
}

/* Submits an occurrence of `event` (an index of the recorded events) in the running task, with `value` in its unit. */
XP_INLINE int xp_submit(struct bpf_perf_event_data *ctx, u32 event, u64 value)
{
    struct xp_stats *st = xp_stats_get();
    struct xp_state *s = st ? xp_begin(event, value, st) : 0;
    if (!s)
        return 0;
    xp_kernel_stack(s, ctx);
    u64 began = xp_config.measure ? bpf_ktime_get_ns() : 0;
    xp_user_stack(s, ctx, &s->who);
    s->sample.unwind_ns = xp_config.measure ? (u32)(bpf_ktime_get_ns() - began) : 0;
    xp_count(s, st);
    xp_send(s, st);
    return 0;
}
