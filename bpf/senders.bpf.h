/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Segments that TCP sends again. That happens in timers and in interrupts, so it is charged to the last stack that sent
 * on the socket, which is remembered for each; if that is long ago, to its process; and without either, to the cgroup
 * of the socket.
 */
#pragma once
#include "bpf/cgroup.bpf.h"

#define XP_SENDERS 4096 /* sockets that are remembered; the least recently used ones are forgotten */

struct xp_sender {
    u64 stack, label, tag;
    u64 cgroup, start;
    u64 comm[2];
    u32 tgid, interval;
    u32 ports, pad; /* of the connection: another socket may have its address. 0: they are not chosen yet */
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, XP_SENDERS);
    __type(key, u64); /* address of the struct sock */
    __type(value, struct xp_sender);
} senders SEC(".maps");

/* What was told in an interval is known during the next one, too. */
XP_INLINE int xp_sender_is_fresh(const struct xp_sender *e)
{
    return e->interval + 1 >= xp_live.interval;
}

XP_INLINE struct xp_sender *xp_sender_of(u64 sk)
{
    struct xp_sender *e = bpf_map_lookup_elem(&senders, &sk);
    u32 ports = BPF_CORE_READ((struct sock *)sk, __sk_common.skc_portpair);
    return e && (!e->ports || e->ports == ports) ? e : 0;
}

/* Returns the socket of a descriptor if it is one of TCP; otherwise 0. Out of line, so that it is verified once. */
XP_NOINLINE u64 xp_sender_socket(u64 fd)
{
    struct file *file = xp_mine(fd);
    if (!file)
        return 0;
    struct socket *socket = BPF_CORE_READ(file, private_data);
    struct sock *sk = BPF_CORE_READ(socket, sk);
    u32 family = BPF_CORE_READ(sk, __sk_common.skc_family);
    int inet = family == XP_AF_INET || family == XP_AF_INET6;
    return inet && BPF_CORE_READ(sk, sk_protocol) == XP_PROTO_TCP ? (u64)sk : 0;
}

/* Remembers who sends: the stack in the scratch state. `asks`: it asks for a connection. */
XP_NOINLINE int xp_sender_note(u64 sk, u64 label, u64 tag, u32 asks)
{
    struct xp_state *s = xp_state_get();
    struct xp_sender e = {.stack = s ? s->hash : 0, .label = label, .tag = tag, .interval = xp_live.interval};
    if (!s)
        return 1;
    e.cgroup = s->sample.cgroup;
    e.start = s->sample.start;
    e.tgid = s->sample.tgid;
    __builtin_memcpy(e.comm, s->sample.comm, sizeof(e.comm));
    e.ports = asks ? 0 : BPF_CORE_READ((struct sock *)sk, __sk_common.skc_portpair);
    return bpf_map_update_elem(&senders, &sk, &e, BPF_ANY) != 0;
}

/* Before a call that may last: segments are sent again while it waits. Later ones find the socket known. That of one
 * which only receives has the first stack that used it. */
XP_INLINE void xp_sender_begins(struct xp_state *s, u64 sk, u64 label, u64 tag, u32 does)
{
    struct xp_sender *e = xp_sender_of(sk);
    u32 asks = does & XP_CALL_ASKS;
    if (e && (!(does & (XP_CALL_WRITES | XP_CALL_ASKS)) || xp_sender_is_fresh(e)))
        return;
    if (!xp_stack_here(0, s))
        xp_sender_note(sk, label, tag, asks);
}

/* ---- Segments ------------------------------------------------------------------------------------------------------
 */

/* Tells a stack without frames: that of a process which sent, or (0) of nobody who is known. */
XP_NOINLINE int xp_tell_owner(u64 cgroup, u64 sk)
{
    struct xp_state *s = xp_state_get();
    struct xp_sender *e = sk ? bpf_map_lookup_elem(&senders, &sk) : 0;
    if (!s || xp_begin_here(cgroup))
        return 1;
    u64 unknown[2] = {XP_TEXT('[', 'u', 'n', 'k', 'n', 'o', 'w') | (u64)'n' << 56, ']'};
    s->cause = XP_CAUSE_NOT_TAKEN;
    s->sample.tid = 0;
    s->sample.tgid = e ? e->tgid : 0;
    s->sample.start = e ? e->start : 0;
    __builtin_memcpy(s->sample.comm, e ? e->comm : unknown, sizeof(unknown));
    __builtin_memset(s->sample.thread, 0, sizeof(s->sample.thread));
    if (!e)
        s->sample.flags |= XP_SAMPLE_NOBODY;
    return xp_tell_here(cgroup, 2);
}

/* Returns the cgroup of a socket that nobody was seen to send on, if it is wanted; otherwise 0. */
XP_INLINE u64 xp_sender_cgroup(struct sock *sk)
{
    struct cgroup *c = 0;
    if (xp_config.target == XP_TARGET_PIDS || !bpf_core_field_exists(sk->sk_cgrp_data))
        return 0;
    bpf_probe_read_kernel(&c, sizeof(c), (void *)((u64)sk + XP_OFFSET_OF(sock, sk_cgrp_data)));
    if (!c || (u64)c & 1 || !xp_hierarchy_counts(c)) /* in version 1 of cgroups, it may be no address */
        return 0;
    u64 id = BPF_CORE_READ(c, kn, id);
    if (xp_config.target != XP_TARGET_CGROUP)
        return id;
    return xp_want_of_cgroup(id, c) >> (xp_config.event & (XP_MAX_EVENTS - 1)) & 1 ? id : 0;
}

/* Out of line, so that it is verified once. */
XP_NOINLINE int xp_count_retransmits(u64 sk, u64 segments)
{
    struct xp_state *s = xp_state_get();
    struct xp_sender *e = xp_sender_of(sk);
    u64 cgroup = e ? e->cgroup : xp_sender_cgroup((struct sock *)sk);
    u64 stack = 0, tag = 0, label = XP_LABEL(XP_LABEL_NAME, XP_TEXT('t', 'c', 'p', 0, 0, 0, 0));
    if (!s || !cgroup)
        return 0;
    if (e && xp_sender_is_fresh(e)) {
        stack = e->stack;
        tag = e->tag;
        e->interval = xp_live.interval;
    } else if (xp_tell_owner(cgroup, e ? sk : 0)) {
        xp_lose(XP_LOSS_SUM);
        return 1;
    }
    xp_no_amounts(s);
    s->amounts[3].value = segments;
    return xp_count_tagged(stack ? stack : s->hash, label, cgroup, tag);
}

/* As the kernel's own books have it (RetransSegs): segments, of which the card may make several packets. */
XP_INLINE void xp_retransmits(u64 *ctx, struct xp_state *s)
{
    u64 skb = xp_argument(ctx, 1);
    struct tcp_skb_cb *cb = (void *)(skb + XP_OFFSET_OF(sk_buff, cb));
    xp_count_retransmits(xp_argument(ctx, 0), BPF_CORE_READ(cb, tcp_gso_segs));
}
XP_KIND_PROGRAM("tp_btf/tcp_retransmit_skb", xp_on_retransmit, ctx[0] != 0, xp_retransmits)

/* An answer to who asks for a connection: the socket is that of the listener. */
XP_INLINE void xp_answers_again(u64 *ctx, struct xp_state *s)
{
    xp_count_retransmits(xp_argument(ctx, 0), 1);
}
XP_KIND_PROGRAM("tp_btf/tcp_retransmit_synack", xp_on_synack, ctx[0] != 0, xp_answers_again)
