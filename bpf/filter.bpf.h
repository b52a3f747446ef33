/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Who is sampled: everything, chosen processes with their children, or a cgroup subtree. What was not asked for costs a
 * look-up, and its stack is never read.
 */
#pragma once

#define XP_CGROUP_DEPTH 24

/* The task's cgroup itself, for its ancestors; only on the way to a decision. */
XP_INLINE struct cgroup *xp_cgroup(void)
{
    struct css_set *set = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), cgroups);
    struct cgroup_subsys_state *css = 0;
    if (xp_config.cgroup_subsys < 0)
        return BPF_CORE_READ(set, dfl_cgrp);
    u64 at = (u64)set + XP_OFFSET_OF(css_set, subsys) + 8ull * (xp_config.cgroup_subsys & 15);
    bpf_probe_read_kernel(&css, 8, (void *)at);
    return BPF_CORE_READ(css, cgroup);
}

/* Is one of the cgroup's ancestors wanted? Ids are never reused, so the answer is kept for ever. */
XP_NOINLINE int xp_cgroup_decide(u64 own)
{
    struct cgroup *c = xp_cgroup();
    u32 wanted = 0;
    for (u32 i = 0; i < XP_CGROUP_DEPTH; i++) {
        struct cgroup_subsys_state *parent = BPF_CORE_READ(c, self.parent);
        if (!parent)
            break;
        c = (struct cgroup *)((u64)parent - XP_OFFSET_OF(cgroup, self));
        u64 id = BPF_CORE_READ(c, kn, id);
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
XP_INLINE int xp_wanted(struct xp_sample *smp)
{
    if (xp_config.target == XP_TARGET_PIDS && !bpf_map_lookup_elem(&wanted_pids, &smp->tgid))
        return 0;
    smp->cgroup = xp_cgroup_id();
    if (xp_config.target != XP_TARGET_CGROUP)
        return 1;
    u32 *known = bpf_map_lookup_elem(&wanted_cgroups, &smp->cgroup);
    return known ? (int)*known : xp_cgroup_decide(smp->cgroup);
}
