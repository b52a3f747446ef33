/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Requests of io_uring, for the kinds `file` and `net`: from where each is submitted to where it completes. The stack
 * is that of the submission, because a completion comes at any time. What file it is, is looked at when it completes:
 * then registered files are known as well. Where the kernel lacks the tracepoints, requests are not seen.
 */
#pragma once
#include "bpf/calls.bpf.h"
#include "bpf/shares.bpf.h"

struct io_ring_ctx;
struct io_cqe {
    u64 user_data;
    s32 res;
    int fd; /* before that */
} CORE;
struct io_uring_cqe {
    u64 user_data;
    s32 res;
    u32 flags;
} CORE;
struct io_cmd_data {
    u8 data[1];
} CORE;
struct io_kiocb {
    struct file *file;
    struct io_cmd_data cmd;
    u8 opcode;
    u32 flags;
    struct io_cqe cqe;
    struct io_ring_ctx *ctx;
} CORE;
struct io_sr_msg {
    u32 msg_flags;
    u16 flags;
} CORE;
struct io_accept {
    u32 iou_flags;
} CORE;

#define XP_RING_REQUESTS 16384 /* on their way at once */

#define XP_RING_SKIPS \
    (1u << 6)                 /* IOSQE_CQE_SKIP_SUCCESS (include/uapi/linux/io_uring.h), and what follows from there */
#define XP_RING_FIXED    1u   /* IOSQE_FIXED_FILE */
#define XP_RING_MORE     2u   /* IORING_CQE_F_MORE */
#define XP_RING_MANY     2u   /* IORING_RECV_MULTISHOT */
#define XP_RING_ACCEPTS  1u   /* IORING_ACCEPT_MULTISHOT */
#define XP_RING_REPEATS  64u  /* beside XP_CALL_*: completes many times, the last ones without their request */
#define XP_RING_MESSAGES 128u /* of sockets only: its arguments are a struct io_sr_msg */
#define XP_RING_CONNECTS 256u
#define XP_RING_LISTENS  512u

/* By opcode (enum io_uring_op). */
static const u16 xp_ring_ops[64] = {
    [1] = XP_CALL_READS,                                       /* READV */
    [2] = XP_CALL_WRITES,                                      /* WRITEV */
    [3] = XP_CALL_OTHER,                                       /* FSYNC */
    [4] = XP_CALL_READS,                                       /* READ_FIXED */
    [5] = XP_CALL_WRITES,                                      /* WRITE_FIXED */
    [9] = XP_CALL_WRITES | XP_RING_MESSAGES,                   /* SENDMSG */
    [10] = XP_CALL_READS | XP_RING_MESSAGES,                   /* RECVMSG */
    [13] = XP_CALL_OTHER | XP_RING_LISTENS,                    /* ACCEPT */
    [16] = XP_CALL_OTHER | XP_RING_CONNECTS,                   /* CONNECT */
    [22] = XP_CALL_READS,                                      /* READ */
    [23] = XP_CALL_WRITES,                                     /* WRITE */
    [26] = XP_CALL_WRITES | XP_RING_MESSAGES,                  /* SEND */
    [27] = XP_CALL_READS | XP_RING_MESSAGES,                   /* RECV */
    [47] = XP_CALL_WRITES | XP_RING_MESSAGES,                  /* SEND_ZC */
    [48] = XP_CALL_WRITES | XP_RING_MESSAGES,                  /* SENDMSG_ZC */
    [49] = XP_CALL_READS | XP_RING_REPEATS,                    /* READ_MULTISHOT */
    [58] = XP_CALL_READS | XP_RING_MESSAGES | XP_RING_REPEATS, /* RECV_ZC */
    [60] = XP_CALL_READS,                                      /* READV_FIXED */
    [61] = XP_CALL_WRITES,                                     /* WRITEV_FIXED */
};

struct xp_ring_request {
    u64 stack, cgroup, began;
    u64 request; /* address of the struct io_kiocb */
    u32 does;    /* XP_CALL_*, XP_RING_* */
    u32 pad;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_RING_REQUESTS);
    __type(key, u64); /* address of the request; of one that repeats, a hash of its ring and of what names it there */
    __type(value, struct xp_ring_request);
} ring_requests SEC(".maps");
/* Forgets a request: it is over, or another one has its address. */
XP_NOINLINE int xp_ring_forget(u64 key)
{
    struct xp_ring_request *r = bpf_map_lookup_elem(&ring_requests, &key);
    u64 cgroup = r ? r->cgroup : 0;
    if (!r || bpf_map_delete_elem(&ring_requests, &key))
        return 1;
    xp_share_give(cgroup);
    return 0;
}

XP_INLINE int xp_ring_note(u64 key, const struct xp_ring_request *r)
{
    if (xp_share_take(r->cgroup, XP_RING_REQUESTS))
        return 1;
    if (!bpf_map_update_elem(&ring_requests, &key, r, BPF_NOEXIST))
        return 0;
    xp_share_give(r->cgroup);
    return 1;
}

/* ---- Submission ----------------------------------------------------------------------------------------------------
 */

/* What an opcode does, as far as it may be for this kind. Descriptors of files that are not registered are known
 * already. */
XP_INLINE u32 xp_ring_does(struct io_kiocb *req)
{
    u32 op = BPF_CORE_READ(req, opcode), does = op < 64 ? xp_ring_ops[op & 63] : 0;
    int sockets_only = (does & (XP_RING_MESSAGES | XP_RING_CONNECTS | XP_RING_LISTENS)) != 0;
    if (!does || (sockets_only && !XP_CALL_MINE(XP_S_IFSOCK)))
        return 0;
    if (BPF_CORE_READ(req, flags) & XP_RING_FIXED)
        return does;
    return xp_label_of((u32)BPF_CORE_READ(req, cqe.fd)) ? does : 0;
}

/* What its arguments add to that. */
XP_INLINE u32 xp_ring_arguments(struct io_kiocb *req, u32 does)
{
    struct io_sr_msg *message = (void *)((u64)req + XP_OFFSET_OF(io_kiocb, cmd));
    struct io_accept *accept = (void *)message;
    if (does & XP_RING_LISTENS)
        return does | (BPF_CORE_READ(accept, iou_flags) & XP_RING_ACCEPTS ? XP_RING_REPEATS : 0);
    if (!(does & XP_RING_MESSAGES) || !(does & XP_CALL_READS))
        return does;
    if (BPF_CORE_READ(message, msg_flags) & XP_MSG_PEEK)
        does = (does & ~XP_CALL_READS) | XP_CALL_OTHER;
    return does | (BPF_CORE_READ(message, flags) & XP_RING_MANY ? XP_RING_REPEATS : 0);
}

XP_INLINE u64 xp_ring_key(u64 ring, u64 user_data)
{
    return xp_mix(xp_mix(xp_config.seed, ring), user_data) | 1; /* unlike an address */
}

/* Takes the stack, which others may refer to at any time. */
XP_NOINLINE int xp_ring_stack(void)
{
    struct xp_state *s = xp_state_get();
    u64 cgroup = xp_cgroup_id();
    if (!s || xp_begin_here(cgroup))
        return 1;
    xp_user_stack_here();
    s->sample.flags |= XP_SAMPLE_KEPT;
    if (!xp_tell_here(cgroup, 1))
        return 0;
    xp_lose(XP_LOSS_SUM);
    return 1;
}

XP_INLINE void xp_ring_begins(u64 *ctx, struct xp_state *s)
{
    u64 key = xp_argument(ctx, 0);
    struct io_kiocb *req = (void *)key;
    struct xp_ring_request r = {.began = bpf_ktime_get_ns(), .request = key};
    r.does = xp_ring_arguments(req, xp_ring_does(req));
    if (r.does & XP_RING_REPEATS)
        key = xp_ring_key((u64)BPF_CORE_READ(req, ctx), BPF_CORE_READ(req, cqe.user_data));
    if (!xp_ring_forget(key)) /* its end was not seen */
        xp_lose(XP_LOSS_REQUEST);
    if (!r.does || xp_ring_stack())
        return;
    r.stack = s->hash;
    r.cgroup = s->sample.cgroup;
    u64 fd = (u32)BPF_CORE_READ(req, cqe.fd), flags = BPF_CORE_READ(req, flags);
    u64 socket = r.does & (XP_CALL_WRITES | XP_RING_CONNECTS) && !(flags & XP_RING_FIXED) ? XP_CALL_SOCKET(fd) : 0;
    if (socket)
        XP_CALL_SENT(socket, xp_label_of(fd), xp_tag_of(fd, 0));
    if (flags & XP_RING_SKIPS || xp_ring_note(key, &r))
        xp_lose(XP_LOSS_REQUEST);
}

XP_KIND_PROGRAM("?tp_btf/io_uring_submit_req", xp_on_submit, xp_is_wanted(), xp_ring_begins)

/* ---- Completion ----------------------------------------------------------------------------------------------------
 * Arguments: ring, request, and the completion; on older kernels what names the request, the result, and flags instead.
 * All but the last completions of one that repeats come without the request.
 */
struct xp_ring_end {
    u64 key, user_data;
    s32 result;
    u32 more;
};

XP_INLINE void xp_ring_end_of(u64 *ctx, struct xp_ring_end *e)
{
    struct io_uring_cqe *cqe = (void *)xp_argument(ctx, 2);
    struct io_kiocb *req = (void *)xp_argument(ctx, 1);
    if (req) {
        e->result = BPF_CORE_READ(req, cqe.res);
        e->user_data = BPF_CORE_READ(req, cqe.user_data);
        e->more = 0;
    } else if (xp_config.ring_cqe) {
        e->result = BPF_CORE_READ(cqe, res);
        e->user_data = BPF_CORE_READ(cqe, user_data);
        e->more = BPF_CORE_READ(cqe, flags) & XP_RING_MORE;
    } else {
        e->result = (s32)xp_argument(ctx, 3);
        e->user_data = (u64)cqe;
        e->more = XP_RING_MORE;
    }
    e->key = (u64)req;
    if (!req || !bpf_map_lookup_elem(&ring_requests, &e->key))
        e->key = xp_ring_key(xp_argument(ctx, 0), e->user_data);
}

/* Counts a completion: `result` is the number of bytes. Out of line, for its part of the stack. */
XP_NOINLINE int xp_ring_count(u64 key, s32 result)
{
    struct xp_ring_request *r = bpf_map_lookup_elem(&ring_requests, &key);
    struct xp_state *s = xp_state_get();
    struct io_kiocb *req = r ? (void *)r->request : 0;
    if (!r || !s)
        return 1;
    struct file *file = BPF_CORE_READ(req, file);
    if (!file || !XP_CALL_MINE(BPF_CORE_READ(file, f_inode, i_mode)))
        return 0;
    u64 label = XP_CALL_LABEL(file), tag = xp_config.tags ? XP_CALL_TAG((u64)file, 0) : 0;
    u64 bytes = result > 0 ? result : 0, now = bpf_ktime_get_ns();
    xp_no_amounts(s);
    s->amounts[0].value = r->does & XP_CALL_READS ? bytes : 0;
    s->amounts[1].value = r->does & XP_CALL_WRITES ? bytes : 0;
    s->amounts[2].count = 1;
    s->amounts[2].value = now - r->began;
    r->began = now;
    return xp_count_tagged(r->stack, label, r->cgroup, tag);
}

XP_INLINE void xp_ring_ends(u64 *ctx, struct xp_state *s)
{
    struct xp_ring_end e;
    xp_ring_end_of(ctx, &e);
    xp_ring_count(e.key, e.result);
    if (!e.more)
        xp_ring_forget(e.key);
}

/* Older kernels have this tracepoint without the other one. */
#define XP_RING_KNOWN bpf_core_field_exists(((struct io_kiocb *)0)->cqe)
XP_KIND_PROGRAM("?tp_btf/io_uring_complete", xp_on_complete, XP_RING_KNOWN, xp_ring_ends)
