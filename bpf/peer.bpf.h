/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Whom a socket talks to. Who connects to a server has another port each time, so the port of the server itself is
 * taken in its place.
 */
#pragma once
#include "bpf/tags.bpf.h"

#define XP_SOCK_BINDPORT_LOCK 8u  /* include/net/sock.h */
#define XP_SUN_PATH           2   /* offset of sun_path in struct sockaddr_un */
#define XP_UNIX_BYTES         112 /* for a name: it has 108 at most */

/* Whether the local port is one that the program has chosen. Connections share the entry of their listener in the table
 * of ports; that of ports which the kernel chose for connect(2) says that nobody may use it again (-1). */
XP_INLINE int xp_peer_is_client(struct sock *sk)
{
    struct inet_bind_bucket *port = 0;
    if (BPF_CORE_READ(sk, sk_protocol) != XP_PROTO_TCP)
        return !(BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & XP_SOCK_BINDPORT_LOCK);
    port = BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_bind_hash);
    return !port || BPF_CORE_READ(port, fastreuse) < 0;
}

/* The address that a call names: a struct sockaddr_in or sockaddr_in6 of user space. */
XP_INLINE void xp_peer_named(struct xp_peer *p, u64 address)
{
    u16 family = 0, port = 0;
    xp_read_user(&family, sizeof(family), address);
    if (family != XP_AF_INET && family != XP_AF_INET6)
        return;
    p->v6 = family == XP_AF_INET6;
    xp_read_user(&port, sizeof(port), address + 2);
    p->port = __builtin_bswap16(port);
    if (p->v6)
        xp_read_user(p->address, 16, address + 8);
    else
        xp_read_user(p->address, 4, address + 4);
}

/* `address`: what the call names; 0: nothing. */
XP_INLINE void xp_peer_fill(struct xp_peer *p, struct sock *sk, u64 address)
{
    u16 port = BPF_CORE_READ(sk, __sk_common.skc_dport);
    p->v6 = BPF_CORE_READ(sk, __sk_common.skc_family) == XP_AF_INET6;
    p->port = __builtin_bswap16(port);
    if (port && p->v6)
        BPF_CORE_READ_INTO(&p->address, sk, __sk_common.skc_v6_daddr);
    else if (port)
        BPF_CORE_READ_INTO((u32 *)p->address, sk, __sk_common.skc_daddr);
    else if (address)
        xp_peer_named(p, address);
    if (xp_peer_is_client(sk))
        return;
    p->local = BPF_CORE_READ(sk, __sk_common.skc_num);
    p->port = 0;
}

XP_INLINE u64 xp_peer_inet(struct sock *sk, u64 address)
{
    struct xp_peer p = {};
    struct xp_tag_room *r = xp_tag_room();
    xp_peer_fill(&p, sk, address);
    u64 *words = (u64 *)&p, key = xp_config.seed;
    for (u32 i = 0; i < sizeof(p) / 8; i++)
        key = xp_mix(key, words[i]);
    key |= 2; /* never XP_TAG_OTHER */
    if (!r || xp_tag_is_told(key))
        return key;
    r->event.what = XP_TAG_INET;
    r->event.len = sizeof(p);
    __builtin_memcpy(r->event.text + XP_TAG_TEXT - sizeof(p), &p, sizeof(p));
    return xp_tell_tag(key);
}

/* The name of the socket that was bound, at whichever end. */
XP_INLINE u64 xp_peer_unix(struct sock *sk)
{
    struct xp_tag_room *r = xp_tag_room();
    struct unix_address *a = BPF_CORE_READ((struct unix_sock *)sk, addr);
    struct unix_sock *other = (void *)BPF_CORE_READ((struct unix_sock *)sk, peer);
    if (!a && other)
        a = BPF_CORE_READ(other, addr);
    u32 len = a ? BPF_CORE_READ(a, len) : 0;
    if (!r || len <= XP_SUN_PATH || len > XP_SUN_PATH + 108)
        return 0;
    len -= XP_SUN_PATH;
    u64 from = (u64)a + XP_OFFSET_OF(unix_address, name) + XP_SUN_PATH, key = xp_config.seed;
    u32 at = XP_TAG_TEXT - len;
    __builtin_memset(r->event.text + XP_TAG_TEXT - XP_UNIX_BYTES, 0, XP_UNIX_BYTES);
    bpf_probe_read_kernel(r->event.text + (at & (XP_TAG_TEXT - 1)), len & 127, (void *)from);
    for (u32 i = 0; i < XP_UNIX_BYTES / 8; i++)
        key = xp_mix(key, ((u64 *)r->event.text)[XP_TAG_TEXT / 8 - 1 - i]);
    key |= 2;
    if (xp_tag_is_told(key))
        return key;
    r->event.what = XP_TAG_UNIX;
    r->event.len = len;
    return xp_tell_tag(key);
}

/* Returns the tag of the peer of a socket; 0: it has none that has a name. Out of line, so that it is verified once. */
XP_NOINLINE u64 xp_peer_tag(u64 at, u64 address)
{
    struct socket *socket = BPF_CORE_READ((struct file *)at, private_data);
    struct sock *sk = BPF_CORE_READ(socket, sk);
    switch (BPF_CORE_READ(sk, __sk_common.skc_family)) {
    case XP_AF_INET:
    case XP_AF_INET6:
        return xp_peer_inet(sk, address);
    case XP_AF_UNIX:
        return xp_peer_unix(sk);
    default:
        return 0;
    }
}
