/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Reports cgroups that are created and removed, in the hierarchy whose IDs are in samples.
 */
#pragma once

XP_INLINE int xp_hierarchy_counts(struct cgroup *c)
{
    if (xp_config.cgroup_subsys < 0)
        return BPF_CORE_READ(c, root, hierarchy_id) == 0; /* the unified one: number 0, as in /proc/PID/cgroup */
    return BPF_CORE_READ(c, root, subsys_mask) >> (xp_config.cgroup_subsys & 31) & 1;
}

XP_INLINE int xp_tell_cgroup(struct cgroup *c, const char *path, u32 made)
{
    u64 id = BPF_CORE_READ(c, kn, id);
    if (!made)
        bpf_map_delete_elem(&decisions, &id);
    if (!xp_hierarchy_counts(c))
        return 0;
    struct xp_cgroup_event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
    if (!e) {
        struct xp_stats *st = xp_stats_get();
        if (st)
            st->lost[XP_LOSS_CGROUP_EVENT]++;
        return 0;
    }
    e->type = XP_RECORD_CGROUP;
    e->made = made;
    e->id = id;
    e->hierarchy = BPF_CORE_READ(c, root, hierarchy_id);
    e->pad = 0;
    if (bpf_probe_read_kernel_str(e->path, sizeof(e->path), path) < 0)
        e->path[0] = 0;
    bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
    return 0;
}
