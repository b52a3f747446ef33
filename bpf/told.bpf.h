/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Stacks that sums refer to by keys (hashes): each distinct one is sent once per interval (XP_RECORD_STACK).
 */
#pragma once
#include "bpf/sums.h"

/* Keys of stacks -> the interval in which they were sent last. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_STACKS);
    __type(key, u64);
    __type(value, u32);
} told_stacks SEC(".maps");

/* What cgroups have of all this. */
struct xp_wait_group {
    u64 threads;
    u64 interval, waits, stacks; /* of that interval */
    u64 tags;                    /* the same (tags.bpf.h) */
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_WAIT_GROUPS);
    __type(key, u64);
    __type(value, struct xp_wait_group);
} wait_groups SEC(".maps");

/* Out of line: its part of the stack is not needed by those who unwind. */
XP_NOINLINE int xp_make_wait_group(u64 cgroup)
{
    struct xp_wait_group fresh = {};
    return bpf_map_update_elem(&wait_groups, &cgroup, &fresh, BPF_NOEXIST);
}

/* Returns what a cgroup has; NULL: there are too many cgroups, or there are no shares. */
XP_INLINE struct xp_wait_group *xp_wait_group(u64 cgroup)
{
    struct xp_wait_group *g = bpf_map_lookup_elem(&wait_groups, &cgroup);
    if (!g) {
        xp_make_wait_group(cgroup);
        g = bpf_map_lookup_elem(&wait_groups, &cgroup);
    }
    if (g && g->interval != xp_live.interval) {
        g->interval = xp_live.interval;
        g->waits = g->stacks = g->tags = 0;
    }
    return g;
}

/* ---- Keys of stacks ------------------------------------------------------------------------------------------------
 */
XP_INLINE u64 xp_mix(u64 h, u64 v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

#define XP_HASH_BATCH 64

/* Mixes the next words into s->hash. Returns 1 at their end. Out of line, so that it is verified once. */
XP_NOINLINE int xp_hash_batch(u32 from)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    u32 n = s->sample.nkernel + s->sample.nuser;
    u64 h = s->hash;
    for (u32 i = 0; i < XP_HASH_BATCH; i++) {
        u64 at = (u64)from + i;
        asm volatile("" : "+r"(at)); /* the index must be the very register whose range is checked */
        if (at >= n || at >= XP_MAX_KERNEL + XP_MAX_USER) {
            s->hash = h;
            return 1;
        }
        h = xp_mix(h, s->words[at]);
    }
    s->hash = h;
    return 0;
}

/* Returns the key of the words in the scratch state, never 0; it stays in s->hash. */
XP_INLINE u64 xp_key_of_words(struct xp_state *s, u64 with)
{
    s->hash = xp_mix(xp_config.seed, with);
    for (u32 i = 0; i < (XP_MAX_USER + XP_MAX_KERNEL) / XP_HASH_BATCH + 1; i++)
        if (xp_hash_batch(i * XP_HASH_BATCH))
            break;
    return s->hash |= 1;
}

/* Whose stack it is, and how it ended. */
XP_INLINE u64 xp_process_key(const struct xp_state *s)
{
    const u64 *name = (const u64 *)s->sample.comm, *thread = (const u64 *)s->sample.thread;
    u64 own = xp_config.thread_labels ? xp_mix(thread[0], thread[1]) : 0;
    if (xp_config.thread_ids)
        own = xp_mix(own, s->sample.tid);
    return xp_mix(xp_mix(name[0], name[1]) ^ own, s->sample.start) ^ (u64)s->sample.tgid << 40 ^ (u64)s->cause << 32;
}

/* The same for a stack of a task. What is unwound later must not be shared with stacks that look the same so far. */
XP_INLINE u64 xp_key_of_task(struct xp_state *s, u64 with)
{
    return xp_key_of_words(s, xp_process_key(s) ^ (s->pending ? s->first.r[XP_RSP] : 0) ^ with);
}

/* Prepares the scratch state for a stack of the current task, of which none is taken yet. */
XP_INLINE void xp_begin_current(struct xp_state *s, u64 cgroup)
{
    u64 id = bpf_get_current_pid_tgid();
    s->sample.tgid = id >> 32;
    s->sample.tid = (u32)id;
    s->sample.cgroup = cgroup;
    xp_who_is(&s->who);
    xp_identify(&s->sample, (struct task_struct *)s->who.task, s->who.start);
    xp_unwind_reset(s);
    s->kernel_mode = 1;
}

/* Sends the words of the scratch state under a key, unless that was done in this interval. Returns 0; 1: there is no
 * room, so nobody may refer to it. */
XP_INLINE int xp_tell_stack(struct xp_state *s, u64 key, u64 cgroup)
{
    u32 now = xp_live.interval, *told = bpf_map_lookup_elem(&told_stacks, &key);
    if (told && *told == now)
        return 0;
    struct xp_wait_group *g = xp_config.wait_shares ? xp_wait_group(cgroup) : 0;
    if (xp_config.wait_shares && (!g || g->stacks >= XP_MAX_STACKS / XP_WAIT_SHARE))
        return 1;
    s->sample.type = XP_RECORD_STACK;
    s->sample.weight = key;
    if (bpf_map_update_elem(&told_stacks, &key, &now, BPF_ANY))
        return 1;
    struct xp_stats *st = xp_stats_get();
    if (!st || xp_send(s, st)) {
        bpf_map_delete_elem(&told_stacks, &key);
        return 1;
    }
    if (g)
        __sync_fetch_and_add(&g->stacks, 1);
    return 0;
}

/* ---- The stack of the running task ---------------------------------------------------------------------------------
 * Step by step, each out of line for its part of the stack.
 */

/* Whose stack it is, as part of which cgroup. Returns 0; 1: there is no scratch state. */
XP_NOINLINE int xp_begin_here(u64 cgroup)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    xp_begin_current(s, cgroup);
    s->sample.unwind_ns = 0;
    return 0;
}

/* Its user frames, behind those of the kernel, if there are any. */
XP_NOINLINE int xp_user_stack_here(void)
{
    struct xp_state *s = xp_state_get();
    if (s)
        xp_user_stack(s, 0, &s->who);
    return 0;
}

/* Sends it; its key, which differs by `with`, is in s->hash then. Returns 0; 1: there is no room. */
XP_NOINLINE int xp_tell_here(u64 cgroup, u64 with)
{
    struct xp_state *s = xp_state_get();
    return s ? xp_tell_stack(s, xp_key_of_task(s, with), cgroup) : 1;
}
