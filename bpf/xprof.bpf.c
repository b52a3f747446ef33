/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The eBPF programs: they take a sample for every requested perf event, follow the children of requested processes, and
 * list executable mappings for user space. Sections of typed programs have names of their own (agent/probe/typed.h).
 */
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/object.bpf.h"
#include "bpf/cgroup.bpf.h"

/* The kinds of events, one file each. */
#include "bpf/events/perf.bpf.h"

/* A child of a wanted process is wanted. Arguments: parent, child (include/trace/events/sched.h). */
SEC("typed_tp/sched_process_fork")
int xp_on_fork(u64 *ctx)
{
    struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
    u32 tgid = BPF_CORE_READ(parent, tgid), one = 1;
    if (!bpf_map_lookup_elem(&wanted_pids, &tgid))
        return 0;
    tgid = BPF_CORE_READ(child, tgid);
    bpf_map_update_elem(&wanted_pids, &tgid, &one, BPF_NOEXIST);
    return 0;
}

/* A process has exited completely: its PID may be reused by a process that is not wanted. */
SEC("typed_tp/sched_process_free")
int xp_on_free(u64 *ctx)
{
    struct task_struct *t = (void *)ctx[0];
    u32 tgid = BPF_CORE_READ(t, tgid);
    if (tgid == (u32)BPF_CORE_READ(t, pid))
        bpf_map_delete_elem(&wanted_pids, &tgid);
    return 0;
}

/* Arguments: cgroup, path (include/trace/events/cgroup.h). */
SEC("typed_tp/cgroup_mkdir")
int xp_on_cgroup_mkdir(u64 *ctx)
{
    return xp_tell_cgroup((struct cgroup *)ctx[0], (const char *)ctx[1], 1);
}

SEC("typed_tp/cgroup_rmdir")
int xp_on_cgroup_rmdir(u64 *ctx)
{
    return xp_tell_cgroup((struct cgroup *)ctx[0], (const char *)ctx[1], 0);
}

/* Reading this iterator writes one xp_listed per executable mapping of each process, and announces files that are new:
 * before sampling starts, and when a process maps a file that nobody has seen (its other files come along). */
SEC("typed_iter/task_vma")
int xp_list_mappings(struct bpf_iter__task_vma *ctx)
{
    struct task_struct *t = ctx->task;
    struct vm_area_struct *vma = ctx->vma;
    struct xp_state *s = xp_iter_state();
    if (!t || !vma || !s || !(BPF_CORE_READ(vma, vm_flags) & XP_VM_EXEC))
        return 0;
    u32 tgid = BPF_CORE_READ(t, tgid);
    if (tgid != (u32)BPF_CORE_READ(t, pid) || !xp_process_wanted(t, tgid))
        return 0;
    struct xp_vma *m = &s->cur;
    u64 file = (u64)BPF_CORE_READ(vma, vm_file);
    file = file && xp_is_generated(BPF_CORE_READ(vma, vm_flags), file) ? 0 : file;
    m->start = BPF_CORE_READ(vma, vm_start);
    m->end = BPF_CORE_READ(vma, vm_end);
    m->bias = m->start - (BPF_CORE_READ(vma, vm_pgoff) << 12);
    m->file.id = m->start == (u64)BPF_CORE_READ(t, mm, context.vdso) ? XP_FILE_VDSO : 0;
    s->sample.tgid = tgid;
    s->sample.cgroup = BPF_CORE_READ(xp_cgroup_of(t), kn, id);
    if (file && xp_file_of(s, file, XP_LANE_ITERATOR, m))
        return 0;
    u32 magic = file ? xp_file_system(file) : 0;
    struct xp_listed line = {.at = {m->start, m->end, m->start - m->bias, tgid, m->file.id}, .magic = magic};
    line.start = BPF_CORE_READ(t, start_boottime);
    line.cgroup = s->sample.cgroup;
    bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
    return 0;
}
