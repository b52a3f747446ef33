/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * What kernels keep of tasks at different places. Include bpf/vmlinux.h and <bpf/bpf_core_read.h> first, and define
 * XP_INLINE.
 */
#pragma once

/* The state of a task, given as a typed pointer. */
XP_INLINE u32 xp_state_of(struct task_struct *t)
{
    struct task_struct___old_state *old = (void *)t;
    return bpf_core_field_exists(t->__state) ? t->__state : (u32)old->state;
}

/* Returns a task's cgroup in a hierarchy: that of a version 1 controller; below 0: the unified one. */
XP_INLINE struct cgroup *xp_cgroup_in(struct task_struct *t, s32 subsys)
{
    struct css_set *set = BPF_CORE_READ(t, cgroups);
    struct cgroup_subsys_state *css = 0;
    if (subsys < 0)
        return BPF_CORE_READ(set, dfl_cgrp);
    u64 at = (u64)set + bpf_core_field_offset(struct css_set, subsys) + 8ull * (subsys & 15);
    bpf_probe_read_kernel(&css, 8, (void *)at);
    return BPF_CORE_READ(css, cgroup);
}

/* Returns its parent; NULL: it is the root. */
XP_INLINE struct cgroup *xp_cgroup_above(struct cgroup *c)
{
    struct cgroup_subsys_state *parent = BPF_CORE_READ(c, self.parent);
    return parent ? (void *)((u64)parent - bpf_core_field_offset(struct cgroup, self)) : 0;
}
