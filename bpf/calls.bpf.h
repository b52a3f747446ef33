/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * System calls that move bytes through descriptors, for the kinds `file` and `net`: what was really moved (the result,
 * not the request), from entry to exit. It is up to the kind which descriptors count: XP_CALL_MINE(mode), with the type
 * and permissions of an inode (stat(2): st_mode); what their stacks are labelled with: XP_CALL_LABEL(file); their tag,
 * if they are to have one: XP_CALL_TAG(file, address), with the address that the call names or 0; and what a fourth
 * value counts: XP_CALL_SUM(), a number that a task has at any time and which only grows. A kind that remembers who
 * sends has sockets: XP_CALL_SOCKET(fd), other than 0, for XP_CALL_USES(s, socket, label, tag, does) before each call
 * and XP_CALL_SENT(socket, label, tag), with the stack in the scratch state, after it.
 */
#pragma once

#define XP_S_IFMT   0170000u
#define XP_S_IFSOCK 0140000u

#define XP_MSG_PEEK   2u
#define XP_MSG_BATCH  64 /* messages of sendmmsg and recvmmsg that are looked at */
#define XP_MMSG_BYTES 64 /* sizeof(struct mmsghdr) */
#define XP_MMSG_LEN   56 /* offset of msg_len in it */

/* What a call does with its first and its second descriptor. */
#define XP_CALL_READS  1u
#define XP_CALL_WRITES 2u
#define XP_CALL_OTHER  4u  /* open, fsync, getdents, stat, connect, accept: only the time counts */
#define XP_CALL_COPIES 8u  /* reads from one descriptor and writes to another one */
#define XP_CALL_MANY   16u /* the result is a number of messages */
#define XP_CALL_ASKS   32u /* connect, accept: for a connection */

/* By number (arch/x86/entry/syscalls/syscall_64.tbl). */
static const u8 xp_calls[512] = {
    [0] = XP_CALL_READS,                   /* read */
    [1] = XP_CALL_WRITES,                  /* write */
    [2] = XP_CALL_OTHER,                   /* open */
    [4] = XP_CALL_OTHER,                   /* stat */
    [5] = XP_CALL_OTHER,                   /* fstat */
    [6] = XP_CALL_OTHER,                   /* lstat */
    [17] = XP_CALL_READS,                  /* pread64 */
    [18] = XP_CALL_WRITES,                 /* pwrite64 */
    [19] = XP_CALL_READS,                  /* readv */
    [20] = XP_CALL_WRITES,                 /* writev */
    [40] = XP_CALL_COPIES,                 /* sendfile */
    [42] = XP_CALL_OTHER | XP_CALL_ASKS,   /* connect */
    [43] = XP_CALL_OTHER | XP_CALL_ASKS,   /* accept */
    [44] = XP_CALL_WRITES,                 /* sendto */
    [45] = XP_CALL_READS,                  /* recvfrom */
    [46] = XP_CALL_WRITES,                 /* sendmsg */
    [47] = XP_CALL_READS,                  /* recvmsg */
    [74] = XP_CALL_OTHER,                  /* fsync */
    [75] = XP_CALL_OTHER,                  /* fdatasync */
    [78] = XP_CALL_OTHER,                  /* getdents */
    [85] = XP_CALL_OTHER,                  /* creat */
    [217] = XP_CALL_OTHER,                 /* getdents64 */
    [257] = XP_CALL_OTHER,                 /* openat */
    [262] = XP_CALL_OTHER,                 /* newfstatat */
    [275] = XP_CALL_COPIES,                /* splice */
    [278] = XP_CALL_WRITES,                /* vmsplice */
    [288] = XP_CALL_OTHER | XP_CALL_ASKS,  /* accept4 */
    [295] = XP_CALL_READS,                 /* preadv */
    [296] = XP_CALL_WRITES,                /* pwritev */
    [299] = XP_CALL_READS | XP_CALL_MANY,  /* recvmmsg */
    [307] = XP_CALL_WRITES | XP_CALL_MANY, /* sendmmsg */
    [326] = XP_CALL_COPIES,                /* copy_file_range */
    [327] = XP_CALL_READS,                 /* preadv2 */
    [328] = XP_CALL_WRITES,                /* pwritev2 */
    [332] = XP_CALL_OTHER,                 /* statx */
    [437] = XP_CALL_OTHER,                 /* openat2 */
};

XP_INLINE u32 xp_call_does(u64 number)
{
    return number < 512 ? xp_calls[number & 511] : 0;
}

struct xp_transfer { /* that a thread is in */
    u64 began, label, sum, tag;
    u64 socket; /* that it sends on */
    u32 does;   /* XP_CALL_*, as far as it counts */
    u16 opens, accepts;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, u32);
    __type(value, struct xp_transfer);
} transfers SEC(".maps");

/* Returns the file behind a descriptor of the running task, if it counts. */
XP_INLINE struct file *xp_mine(u64 fd)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    struct fdtable *table = BPF_CORE_READ(t, files, fdt);
    struct file **files = BPF_CORE_READ(table, fd), *file = 0;
    if ((u32)fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), files + (u32)fd) ||
        !file)
        return 0;
    return XP_CALL_MINE(BPF_CORE_READ(file, f_inode, i_mode)) ? file : 0;
}

/* The same; what the stack of the call is labelled with is that of the first one. Out of line, so that it is verified
 * once. */
XP_NOINLINE u64 xp_label_of(u64 fd)
{
    struct file *file = xp_mine(fd);
    return file ? XP_CALL_LABEL(file) : 0;
}

/* The same for its tag; 0: none. */
XP_NOINLINE u64 xp_tag_of(u64 fd, u64 address)
{
    struct file *file = xp_config.tags ? xp_mine(fd) : 0;
    asm volatile("" : "+r"(address)); /* also where nobody looks at it, the verifier asks for it */
    return file ? XP_CALL_TAG((u64)file, address) : 0;
}

/* Whether a call of this number takes its path, or descriptor, in a way that only files have. */
XP_INLINE int xp_opens(u64 number)
{
    return number == 2 || number == 4 || number == 6 || number == 85 || number == 257 || number == 262 ||
           number == 332 || number == 437;
}

XP_INLINE int xp_accepts(u64 number)
{
    return number == 43 || number == 288;
}

/* Returns where in user space the address is that a call names as its peer's: connect, sendto, sendmsg, sendmmsg. */
XP_INLINE u64 xp_named_by(u64 regs, u64 number)
{
    u64 address = 0;
    if (number == 42)
        return xp_saved_word(regs, XP_PT_RSI);
    if (number == 44)
        return xp_saved_word(regs, XP_PT_R8);
    if (number == 46 || number == 307) /* struct msghdr begins with it */
        xp_read_user(&address, sizeof(address), xp_saved_word(regs, XP_PT_RSI));
    return address;
}

/* recv(2): what was only looked at stays. */
XP_INLINE int xp_peeks(u64 regs, u64 number)
{
    u64 flags = xp_saved_word(regs, number == 47 ? XP_PT_RDX : XP_PT_R10);
    return (number == 45 || number == 47 || number == 299) && flags & XP_MSG_PEEK;
}

/* Returns the bytes of the messages that a call has sent or received; of those beyond XP_MSG_BATCH, as many as the
 * others have on average. */
XP_INLINE u64 xp_bytes_of_messages(u64 regs, u64 messages)
{
    u64 at = xp_saved_word(regs, XP_PT_RSI) + XP_MMSG_LEN, sum = 0;
    u32 i = 0;
    for (; i < XP_MSG_BATCH && i < messages; i++) {
        u32 len = 0;
        xp_read_user(&len, sizeof(len), at + (u64)i * XP_MMSG_BYTES);
        sum += len;
    }
    return i && messages > i ? sum * messages / i : sum;
}

/* ---- Programs ------------------------------------------------------------------------------------------------------
 */

/* A descriptor that counts. */
XP_INLINE u32 xp_transfer_by(struct xp_transfer *t, u64 fd, u64 address, u32 does)
{
    u64 label = xp_label_of(fd);
    if (!label)
        return 0;
    if (!t->label)
        t->tag = xp_tag_of(fd, address);
    if (does & (XP_CALL_READS | XP_CALL_WRITES | XP_CALL_ASKS))
        t->socket = XP_CALL_SOCKET(fd);
    t->label = t->label ? t->label : label;
    return does;
}

/* What a call that copies between two descriptors does, as far as these count. sendfile has the target first, the
 * others have the source first. */
XP_INLINE u32 xp_copies(struct xp_transfer *t, u64 regs, u64 number)
{
    int sendfile = number == 40;
    u64 source = xp_saved_word(regs, sendfile ? XP_PT_RSI : XP_PT_RDI);
    u64 target = xp_saved_word(regs, sendfile ? XP_PT_RDI : XP_PT_RDX);
    return xp_transfer_by(t, source, 0, XP_CALL_READS) | xp_transfer_by(t, target, 0, XP_CALL_WRITES);
}

/* Notes a call that counts. Arguments: registers, number (include/trace/events/syscalls.h). */
XP_INLINE void xp_transfer_begins(u64 *ctx, struct xp_state *s)
{
    u64 regs = ctx[0], number = ctx[1];
    struct xp_transfer t = {.began = bpf_ktime_get_ns(), .sum = XP_CALL_SUM()};
    u32 tid = (u32)bpf_get_current_pid_tgid(), does = xp_call_does(number);
    t.opens = xp_opens(number);
    t.accepts = xp_accepts(number);
    does = xp_peeks(regs, number) ? XP_CALL_OTHER : does;
    if (does & XP_CALL_COPIES)
        t.does = xp_copies(&t, regs, number);
    else if (t.opens)
        t.does = XP_CALL_MINE(0) ? does : 0;
    else
        t.does = xp_transfer_by(&t, xp_saved_word(regs, XP_PT_RDI), xp_named_by(regs, number), does);
    if (t.does && bpf_map_update_elem(&transfers, &tid, &t, BPF_ANY))
        xp_lose(XP_LOSS_SUM);
    if (t.socket)
        XP_CALL_USES(s, t.socket, t.label, t.tag, t.does);
}

/* Counts a call. Arguments: registers, result. Values of the kind: bytes read, bytes written, time, and by what the sum
 * has grown. */
XP_INLINE void xp_transfer_ends(u64 *ctx, struct xp_state *s)
{
    u32 tid = (u32)bpf_get_current_pid_tgid();
    struct xp_transfer *t = bpf_map_lookup_elem(&transfers, &tid);
    s64 result = (s64)ctx[1];
    if (!t)
        return;
    u32 does = t->does;
    u64 socket = t->socket;
    u64 bytes = result < 0 ? 0 : result, now = bpf_ktime_get_ns();
    u64 label = t->opens && result > 2 ? xp_label_of(bytes) : t->label;
    u64 tag = (t->opens || t->accepts) && result > 2 ? xp_tag_of(bytes, 0) : t->tag;
    if (does & XP_CALL_MANY)
        bytes = xp_bytes_of_messages(ctx[0], bytes);
    xp_no_amounts(s);
    s->amounts[0].value = does & XP_CALL_READS ? bytes : 0;
    s->amounts[1].value = does & XP_CALL_WRITES ? bytes : 0;
    s->amounts[2].count = 1;
    s->amounts[2].value = now - t->began;
    s->amounts[3].value = XP_CALL_SUM() - t->sum;
    bpf_map_delete_elem(&transfers, &tid);
    if (xp_stack_here(0, s))
        return;
    xp_count_tagged(s->hash, label, s->sample.cgroup, tag);
    if (socket && does & XP_CALL_WRITES)
        XP_CALL_SENT(socket, label, tag);
}

XP_INLINE int xp_transfer_counts(u64 regs, u64 number)
{
    return xp_call_does(number) && xp_is_wanted() && (xp_saved_word(regs, XP_PT_CS) & 0xffff) == XP_USER_CS64;
}

XP_KIND_PROGRAM("tp_btf/sys_enter", xp_on_call, xp_transfer_counts(ctx[0], ctx[1]), xp_transfer_begins)
XP_KIND_PROGRAM("tp_btf/sys_exit", xp_on_result, xp_call_does(xp_saved_word(ctx[0], XP_PT_ORIG_RAX)), xp_transfer_ends)
