/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `net`: bytes received from and sent to sockets, the time of all calls on them, and segments that TCP had to send
 * again. Labels are protocols.
 */
#include "bpf/kind.bpf.h"

/* include/linux/socket.h, include/uapi/linux/in.h */
enum { XP_AF_UNIX = 1, XP_AF_INET = 2, XP_AF_INET6 = 10, XP_AF_NETLINK = 16, XP_AF_PACKET = 17, XP_AF_VSOCK = 40 };
enum { XP_PROTO_ICMP = 1, XP_PROTO_TCP = 6, XP_PROTO_UDP = 17, XP_PROTO_ICMPV6 = 58, XP_PROTO_MPTCP = 262 };

#include "bpf/peer.bpf.h"

XP_INLINE u64 xp_inet_name(u32 protocol)
{
    switch (protocol) {
    case XP_PROTO_TCP:
        return XP_TEXT('t', 'c', 'p', 0, 0, 0, 0);
    case XP_PROTO_UDP:
        return XP_TEXT('u', 'd', 'p', 0, 0, 0, 0);
    case XP_PROTO_MPTCP:
        return XP_TEXT('m', 'p', 't', 'c', 'p', 0, 0);
    case XP_PROTO_ICMP:
    case XP_PROTO_ICMPV6:
        return XP_TEXT('i', 'c', 'm', 'p', 0, 0, 0);
    default:
        return XP_TEXT('i', 'p', 0, 0, 0, 0, 0);
    }
}

XP_INLINE u64 xp_socket_name(struct file *file)
{
    struct socket *socket = BPF_CORE_READ(file, private_data);
    struct sock *sk = BPF_CORE_READ(socket, sk);
    switch (BPF_CORE_READ(sk, __sk_common.skc_family)) {
    case XP_AF_INET:
    case XP_AF_INET6:
        return xp_inet_name(BPF_CORE_READ(sk, sk_protocol));
    case XP_AF_UNIX:
        return XP_TEXT('u', 'n', 'i', 'x', 0, 0, 0);
    case XP_AF_NETLINK:
        return XP_TEXT('n', 'e', 't', 'l', 'i', 'n', 'k');
    case XP_AF_PACKET:
        return XP_TEXT('p', 'a', 'c', 'k', 'e', 't', 0);
    case XP_AF_VSOCK:
        return XP_TEXT('v', 's', 'o', 'c', 'k', 0, 0);
    default:
        return XP_TEXT('o', 't', 'h', 'e', 'r', 0, 0);
    }
}

XP_NOINLINE u64 xp_sender_socket(u64 fd);
XP_NOINLINE int xp_sender_note(u64 sk, u64 label, u64 tag, u32 asks);
XP_INLINE void xp_sender_begins(struct xp_state *s, u64 sk, u64 label, u64 tag, u32 does);

#define XP_CALL_MINE(mode)  (((mode)&XP_S_IFMT) == XP_S_IFSOCK)
#define XP_CALL_LABEL(file) XP_LABEL(XP_LABEL_NAME, xp_socket_name(file))
#define XP_CALL_SUM()       0
#define XP_CALL_TAG(at, to) xp_peer_tag(at, to)

#define XP_CALL_SOCKET(fd)                        xp_sender_socket(fd)
#define XP_CALL_USES(s, socket, label, tag, does) xp_sender_begins(s, socket, label, tag, does)
#define XP_CALL_SENT(socket, label, tag)          xp_sender_note(socket, label, tag, 0)
#include "bpf/calls.bpf.h"
#include "bpf/rings.bpf.h"
#include "bpf/senders.bpf.h"
