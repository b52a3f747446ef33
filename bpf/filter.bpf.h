/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Who is sampled: everything, chosen processes with their children, or a cgroup subtree. What was not asked for costs a
 * look-up, and its stack is never read.
 */
#pragma once

#define XP_CGROUP_DEPTH 24

/* Is the cgroup (its address) below a wanted one? Ids are never reused, so the answer is kept for ever. */
XP_NOINLINE int xp_cgroup_decide(u64 cgroup)
{
    struct cgroup *c = (struct cgroup *)cgroup;
    u64 own = BPF_CORE_READ(c, kn, id);
    u32 *known = bpf_map_lookup_elem(&wanted_cgroups, &own), wanted = 0;
    if (known)
        return *known;
    for (u32 i = 0; i < XP_CGROUP_DEPTH; i++) {
        struct cgroup_subsys_state *parent = BPF_CORE_READ(c, self.parent);
        if (!parent)
            break;
        c = (struct cgroup *)((u64)parent - XP_OFFSET_OF(cgroup, self));
        u64 id = BPF_CORE_READ(c, kn, id);
        known = bpf_map_lookup_elem(&wanted_cgroups, &id);
        if (known) {
            wanted = *known;
            break;
        }
    }
    bpf_map_update_elem(&wanted_cgroups, &own, &wanted, BPF_NOEXIST);
    return wanted;
}

/* For the iterator: is any sample of this process wanted? */
XP_INLINE int xp_process_wanted(struct task_struct *t, u32 tgid)
{
    if (xp_config.target == XP_TARGET_PIDS)
        return bpf_map_lookup_elem(&wanted_pids, &tgid) != 0;
    return xp_config.target != XP_TARGET_CGROUP || xp_cgroup_decide((u64)xp_cgroup_of(t));
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
    return known ? (int)*known : xp_cgroup_decide((u64)xp_cgroup_of((struct task_struct *)bpf_get_current_task()));
}
