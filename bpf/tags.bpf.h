/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Tags tell sums of one stack apart by what its calls were about: a file (path.bpf.h) or a peer (peer.bpf.h). Sums have
 * the key of a tag; its text is sent once per interval. Everybody uses them in the context of a task, between
 * xp_begin_level and xp_end_level.
 */
#pragma once

/* Keys of tags -> the interval in which they were sent last. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_TAGS);
    __type(key, u64);
    __type(value, u32);
} told_tags SEC(".maps");

struct xp_tag_room {
    u64 dentry, mount; /* where the walk to the root has come */
    u64 root, root_mount;
    u32 at; /* the text so far begins here */
    u32 pad;
    struct xp_tag_event event;
    u8 slack[XP_TAG_TEXT]; /* lets the verifier see that any name fits behind any place */
};
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_tag_room);
} tag_room SEC(".maps");

XP_INLINE struct xp_tag_room *xp_tag_room(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&tag_room, &zero);
}

XP_INLINE int xp_tag_is_told(u64 key)
{
    u32 *told = bpf_map_lookup_elem(&told_tags, &key);
    return told && *told == xp_live.interval;
}

/* Sends the text in the room of this CPU under a key, which becomes that of all others if there is no room. Returns the
 * key. */
XP_NOINLINE u64 xp_tell_tag(u64 key)
{
    struct xp_tag_room *r = xp_tag_room();
    u64 cgroup = xp_cgroup_id(), limit = xp_config.wait_shares ? XP_MAX_TAGS / XP_WAIT_SHARE : XP_MAX_TAGS;
    struct xp_wait_group *g = xp_wait_group(xp_config.wait_shares ? cgroup : 0);
    u32 now = xp_live.interval;
    if (!r || !g || g->tags >= limit || bpf_map_update_elem(&told_tags, &key, &now, BPF_ANY))
        return XP_TAG_OTHER;
    r->event.type = XP_RECORD_TAG;
    r->event.key = key;
    r->event.cgroup = cgroup;
    if (bpf_ringbuf_output(&ring, &r->event, sizeof(r->event), BPF_RB_NO_WAKEUP)) {
        bpf_map_delete_elem(&told_tags, &key);
        return XP_TAG_OTHER;
    }
    __sync_fetch_and_add(&g->tags, 1);
    return key;
}
