/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Shares of what kinds follow for longer than an interval: with neighbours, a cgroup may have one part in
 * XP_WAIT_SHARE. Each kind has its own.
 */
#pragma once

/* What each cgroup has. Those without anything are removed. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_WAIT_GROUPS);
    __type(key, u64);
    __type(value, s64);
} share_groups SEC(".maps");

/* Takes room for one more, of `all`. Returns 0; 1: the cgroup has its share, or there are too many cgroups. Out of
 * line, for its part of the stack. */
XP_NOINLINE int xp_share_take(u64 cgroup, u32 all)
{
    s64 none = 0, *n = bpf_map_lookup_elem(&share_groups, &cgroup);
    if (!xp_config.wait_shares)
        return 0;
    if (!n) {
        bpf_map_update_elem(&share_groups, &cgroup, &none, BPF_NOEXIST);
        n = bpf_map_lookup_elem(&share_groups, &cgroup);
    }
    if (!n || *n >= (s64)(all / XP_WAIT_SHARE))
        return 1;
    __sync_fetch_and_add(n, 1);
    return 0;
}

/* Somebody else may take some while a group is removed: its count is one less then, until that one is given back. */
XP_NOINLINE int xp_share_give(u64 cgroup)
{
    s64 *n = xp_config.wait_shares ? bpf_map_lookup_elem(&share_groups, &cgroup) : 0;
    if (!n)
        return 0;
    __sync_fetch_and_add(n, -1);
    return *n <= 0 ? (int)bpf_map_delete_elem(&share_groups, &cgroup) : 0;
}
