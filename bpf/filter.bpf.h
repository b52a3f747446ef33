/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Decides what is sampled: everything, selected processes with their children, or selected cgroups, each for selected
 * events. Other processes cost one look-up; their stacks are never read.
 */
#pragma once

#define XP_CGROUP_DEPTH 24

/* Returns the want of the cgroup (given by address) or of its nearest ancestor that has one. The result is cached until
 * any want changes. */
XP_NOINLINE u64 xp_cgroup_decide(u64 cgroup)
{
    struct cgroup *c = (struct cgroup *)cgroup;
    u64 own = BPF_CORE_READ(c, kn, id), id = own;
    struct xp_decision decision = {.valid = xp_live.wants};
    for (u32 i = 0; i < XP_CGROUP_DEPTH; i++) {
        u64 *want = bpf_map_lookup_elem(&wants, &id);
        if (want) {
            decision.want = *want;
            break;
        }
        c = xp_cgroup_above(c);
        if (!c)
            break;
        id = BPF_CORE_READ(c, kn, id);
    }
    bpf_map_update_elem(&decisions, &own, &decision, BPF_ANY);
    return decision.want;
}

/* Returns the want of a cgroup, if that is decided. */
XP_INLINE struct xp_decision *xp_want_known(u64 id)
{
    struct xp_decision *known = bpf_map_lookup_elem(&decisions, &id);
    return known && known->valid == xp_live.wants ? known : 0;
}

XP_INLINE u64 xp_want_of(u64 id, struct task_struct *t)
{
    struct xp_decision *known = xp_want_known(id);
    return known ? known->want : xp_cgroup_decide((u64)xp_cgroup_of(t));
}

/* The same, remembered by each CPU. */
XP_INLINE u64 xp_want_again(struct xp_state *s, u64 id, struct task_struct *t)
{
    struct xp_decided *d = &s->decided[id & (XP_DECIDED - 1)];
    u32 valid = xp_live.wants;
    if (d->cgroup == id && d->valid == valid)
        return d->want;
    d->want = xp_want_of(id, t);
    d->cgroup = id;
    d->valid = valid;
    return d->want;
}

/* The same of a cgroup that is not that of the running task. */
XP_INLINE u64 xp_want_of_cgroup(u64 id, struct cgroup *c)
{
    struct xp_decision *known = xp_want_known(id);
    return known ? known->want : xp_cgroup_decide((u64)c);
}

/* How long a wait is, in ns, that is worth its stack: by the want of whose it is. */
XP_INLINE u64 xp_wait_min(u64 want, u32 lock)
{
    u32 code = lock ? XP_WANT_LOCK_CODE(want) : 0;
    code = code ? code : XP_WANT_MIN_CODE(want);
    return code ? XP_WANT_MIN_NS(code) : xp_config.wait_min;
}

/* For the iterator: tells whether any sample of this process is wanted. */
XP_INLINE int xp_process_wanted(struct task_struct *t, u32 tgid)
{
    if (xp_config.target == XP_TARGET_PIDS)
        return bpf_map_lookup_elem(&wanted_pids, &tgid) != 0;
    return xp_config.target != XP_TARGET_CGROUP || XP_WANT_EVENTS(xp_cgroup_decide((u64)xp_cgroup_of(t))) != 0;
}

/* One of how many samples of an event is kept. */
XP_INLINE u32 xp_every(u64 want, u32 event)
{
    u32 row = XP_WANT_PARTS_ROW(want);
    struct xp_parts *own = row ? bpf_map_lookup_elem(&parts, &row) : 0;
    u32 every = own ? own->every[event & (XP_MAX_EVENTS - 1)] : 0;
    return every ? every : XP_WANT_EVERY(want);
}

/* Returns the number of samples that this one represents; 0: it is not wanted. Also fills in the cgroup of the
 * sample. */
XP_INLINE u32 xp_wanted(struct xp_state *s, u32 event, struct xp_stats *st)
{
    struct xp_sample *smp = &s->sample;
    if (xp_config.target == XP_TARGET_PIDS && !bpf_map_lookup_elem(&wanted_pids, &smp->tgid)) {
        st->not_wanted++;
        return 0;
    }
    smp->cgroup = xp_cgroup_id();
    if (xp_config.target != XP_TARGET_CGROUP)
        return 1;
    u64 want = xp_want_again(s, smp->cgroup, (struct task_struct *)bpf_get_current_task());
    if (!(want >> event & 1)) {
        st->not_wanted++;
        return 0;
    }
    u32 every = xp_every(want, event);
    if (every > 1 && bpf_get_prandom_u32() % every) {
        st->thinned++;
        return 0;
    }
    return every ? every : 1;
}
