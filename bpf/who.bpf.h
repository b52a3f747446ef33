/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Finds the process, memory map and cgroup of a sample. Since Linux 5.11 the current task is a typed pointer and its
 * fields are plain loads; before, each one is a probe read, which costs twenty times as much. Both variants share the
 * same code: `GET` reads a field.
 */
#pragma once

#define XP_PF_NO_USER (0x00200000 | 0x00000010) /* PF_KTHREAD, PF_IO_WORKER: include/linux/sched.h */

/* Whether a thread has waits that count. */
#define XP_MAY_WAIT(t) (xp_config.kernel_threads || !((t)->flags & XP_PF_NO_USER))

#define XP_TYPED_TASK bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)

#define XP_LOAD1(p, a)     ((p)->a)
#define XP_LOAD2(p, a, b)  ((p)->a->b)
#define XP_PROBE1(p, a)    BPF_CORE_READ(p, a)
#define XP_PROBE2(p, a, b) BPF_CORE_READ(p, a, b)

/* Each pointer is loaded once: to verify such a load takes the kernel a millisecond. */
#define XP_FILL_WHO(w, t, GET)                                \
    do {                                                      \
        struct mm_struct *mm = GET##1(t, mm);                 \
        (w)->kthread = GET##1(t, flags) & XP_PF_NO_USER;      \
        (w)->start = GET##2(t, group_leader, start_boottime); \
        (w)->vdso = (u64)GET##1(mm, context.vdso);            \
        (w)->exe = (u64)GET##1(mm, exe_file);                 \
        (w)->stack = GET##1(mm, start_stack);                 \
        (w)->mm = (u64)mm;                                    \
    } while (0)

/* Writes to scratch memory, where the verifier does not track that these are pointers, so that they can be compared and
 * hashed. */
XP_INLINE void xp_who_is(struct xp_who *w)
{
    if (XP_TYPED_TASK) {
        struct task_struct *t = (struct task_struct *)bpf_get_current_task_btf();
        w->task = (u64)t;
        XP_FILL_WHO(w, t, XP_LOAD);
    } else {
        struct task_struct *t = (struct task_struct *)bpf_get_current_task();
        w->task = (u64)t;
        XP_FILL_WHO(w, t, XP_PROBE);
    }
}

/* Returns a task's cgroup in the chosen hierarchy. */
XP_INLINE struct cgroup *xp_cgroup_of(struct task_struct *t)
{
    return xp_cgroup_in(t, xp_config.cgroup_subsys);
}

/* Returns the ID of the cgroup of a task, given as a typed pointer. */
XP_INLINE u64 xp_cgroup_id_of(struct task_struct *t)
{
    if (xp_config.cgroup_subsys < 0)
        return t->cgroups->dfl_cgrp->kn->id;
    struct cgroup *c = xp_cgroup_of(t);
    return BPF_CORE_READ(c, kn, id);
}

/* Returns the ID of the current task's cgroup. Uses typed loads if possible, because this runs before every sample. */
XP_INLINE u64 xp_cgroup_id(void)
{
    if (XP_TYPED_TASK)
        return xp_cgroup_id_of((struct task_struct *)bpf_get_current_task_btf());
    struct cgroup *c = xp_cgroup_of((struct task_struct *)bpf_get_current_task());
    return BPF_CORE_READ(c, kn, id);
}

/* Sets s->set to the remembered mappings of this process, and empties the set unless they are still valid. */
XP_INLINE void xp_choose_set(struct xp_state *s, const struct xp_who *w)
{
    u64 seq = xp_mappings_seq(w->mm);
    s->set = (u32)(w->mm >> 6 ^ w->mm >> 12) & (XP_VMA_SETS - 1);
    struct xp_vma_set *set = &s->sets[s->set];
    if (seq && set->seq && set->mm == w->mm && set->exe == w->exe && set->stack == w->stack && set->start == w->start &&
        set->files == xp_live.files) {
        set->seq = seq;
        return;
    }
    xp_vma_set_reset(set);
    set->mm = w->mm;
    set->seq = seq;
    set->exe = w->exe;
    set->stack = w->stack;
    set->start = w->start;
    set->files = xp_live.files;
}
