/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Tells user space which processes are wanted, and of code that they map, so that it can attach programs to it
 * (agent/pipeline/heaps.c).
 */
#pragma once
#include "bpf/heap.h"

/* Processes that are stopped when they map code, until user space has attached to it -> enum xp_held. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 8192);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, u32);
    __type(value, u32);
} heap_held SEC(".maps");

#define XP_SIGSTOP 19

/* The number of an address space. */
XP_INLINE u64 xp_space(void)
{
    return BPF_CORE_READ((struct task_struct *)bpf_get_current_task_btf(), mm, context.ctx_id);
}

/* The thread stops on its way back to user mode, before it runs any of the code. */
XP_INLINE void xp_tell_mapped(u32 tgid, u64 start)
{
    u32 *held = bpf_map_lookup_elem(&heap_held, &tgid);
    if (held && *held == XP_HELD_BY_OTHER)
        return;
    struct xp_mapped_event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
    if (!e) {
        xp_lose(XP_LOSS_FILE_EVENT);
        return;
    }
    e->type = XP_RECORD_MAPPED;
    e->tgid = tgid;
    e->start = start;
    e->space = xp_space();
    e->held = held && !bpf_send_signal(XP_SIGSTOP);
    e->event = xp_config.event;
    bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
}

/* The program and its dynamic linker are mapped by now. */
SEC("tp_btf/sched_process_exec")
int xp_on_exec(u64 *ctx)
{
    if (xp_is_wanted())
        xp_tell_mapped(bpf_get_current_pid_tgid() >> 32, 0);
    return 0;
}

SEC("tp_btf/sched_process_free")
int xp_on_end(u64 *ctx)
{
    struct task_struct *t = (void *)ctx[0];
    u32 tgid = BPF_CORE_READ(t, tgid);
    if (tgid == (u32)BPF_CORE_READ(t, pid))
        bpf_map_delete_elem(&heap_held, &tgid);
    return 0;
}

/* Reading this iterator writes a struct xp_wanted for each process that is wanted. */
SEC("iter/task")
int xp_list_wanted(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    if (!xp_is_wanted_process(t) || !BPF_CORE_READ(t, mm))
        return 0;
    struct xp_wanted who = {.tgid = BPF_CORE_READ(t, tgid), .start = BPF_CORE_READ(t, start_boottime)};
    who.cgroup = BPF_CORE_READ(xp_cgroup_of(t), kn, id);
    bpf_probe_read_kernel(who.comm, sizeof(who.comm), (void *)t + XP_OFFSET_OF(task_struct, comm));
    bpf_seq_write(ctx->meta->seq, &who, sizeof(who));
    return 0;
}
