/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Who is sampled: everything, chosen processes with their children, or a cgroup subtree. What was not asked for costs a
 * look-up, and its stack is never read.
 */
#pragma once

#define XP_CGROUP_DEPTH 24

XP_INLINE struct task_struct *xp_task(void)
{
    if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
        return (struct task_struct *)bpf_get_current_task_btf();
    return (struct task_struct *)bpf_get_current_task();
}

/* The task's cgroup in the hierarchy that counts: the unified one, or a version 1 controller's. */
XP_INLINE struct cgroup *xp_cgroup(struct task_struct *t)
{
    struct css_set *set = BPF_CORE_READ(t, cgroups);
    struct cgroup_subsys_state *css = 0;
    if (xp_config.cgroup_subsys < 0)
        return BPF_CORE_READ(set, dfl_cgrp);
    u64 at = (u64)set + XP_OFFSET_OF(css_set, subsys) + 8ull * (xp_config.cgroup_subsys & 15);
    bpf_probe_read_kernel(&css, 8, (void *)at);
    return BPF_CORE_READ(css, cgroup);
}

XP_INLINE u64 xp_cgroup_id(struct cgroup *c)
{
    return BPF_CORE_READ(c, kn, id);
}

/* Is one of the cgroup's ancestors wanted? Ids are never reused, so the answer is kept for ever. */
XP_NOINLINE int xp_cgroup_decide(u64 cgroup)
{
    struct cgroup *c = (struct cgroup *)cgroup;
    u64 own = xp_cgroup_id(c);
    u32 wanted = 0;
    for (u32 i = 0; i < XP_CGROUP_DEPTH; i++) {
        struct cgroup_subsys_state *parent = BPF_CORE_READ(c, self.parent);
        if (!parent)
            break;
        c = (struct cgroup *)((u64)parent - XP_OFFSET_OF(cgroup, self));
        u64 id = xp_cgroup_id(c);
        u32 *known = bpf_map_lookup_elem(&wanted_cgroups, &id);
        if (known) {
            wanted = *known;
            break;
        }
    }
    bpf_map_update_elem(&wanted_cgroups, &own, &wanted, BPF_NOEXIST);
    return wanted;
}

/* Fills in the sample's cgroup on the way. */
XP_INLINE int xp_wanted(struct xp_sample *smp, struct task_struct *t)
{
    if (xp_config.target == XP_TARGET_PIDS && !bpf_map_lookup_elem(&wanted_pids, &smp->tgid))
        return 0;
    struct cgroup *c = xp_cgroup(t);
    smp->cgroup = xp_cgroup_id(c);
    if (xp_config.target != XP_TARGET_CGROUP)
        return 1;
    u32 *known = bpf_map_lookup_elem(&wanted_cgroups, &smp->cgroup);
    return known ? (int)*known : xp_cgroup_decide((u64)c);
}
