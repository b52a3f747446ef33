/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `disk`: what requests of disks have moved, and how long they took, by the stack that submitted them. A request
 * consists of bios. Each gets its stack where its submitter makes a request of it, or adds it to one, and is counted
 * where the request completes, which happens in an interrupt. Bytes are those of each bio; the request and its time are
 * those of its first one. So all adds up to /proc/diskstats. Labels are devices, and what is done with them. Values of
 * the kind: bytes read, bytes written, time from the making of a request to its end, part of it before it was issued.
 */
#include "bpf/kind.bpf.h"
#include "bpf/cgroup.bpf.h"
#include "bpf/disk.h"
#include "bpf/shares.bpf.h"

#define XP_DISK_BIOS   16384      /* on their way at once */
#define XP_DISK_MERGED 512        /* bios of a request that are looked at */
#define XP_PF_KTHREAD  0x00200000 /* include/linux/sched.h */
#define XP_OP_MASK     0xffu      /* include/linux/blk_types.h */

enum { XP_OP_READ = 0, XP_OP_DISCARD = 3 }; /* those that write are odd */
enum { XP_DISK_READ, XP_DISK_WRITTEN, XP_DISK_TIME, XP_DISK_QUEUED };

struct xp_disk_bio {
    u64 stack, label, cgroup;
    u64 began, issued;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_DISK_BIOS);
    __type(key, u64); /* address of the bio */
    __type(value, struct xp_disk_bio);
} disk_bios SEC(".maps");

/* Up to Linux 5.10, tracepoints have the queue as first argument, and bios their disk. */
XP_INLINE int xp_disk_is_old(void)
{
    return bpf_core_field_exists(struct bio___old, bi_disk);
}

/* ---- Whose it is ---------------------------------------------------------------------------------------------------
 */

/* For whom a thread of the kernel works: the file system notes the cgroup of who made the data. NULL: unknown, or of
 * another hierarchy than samples are. */
XP_INLINE struct cgroup *xp_disk_owner(struct bio *bio)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    if (!(BPF_CORE_READ(t, flags) & XP_PF_KTHREAD) || !bpf_core_field_exists(struct bio, bi_blkg))
        return 0;
    struct cgroup *c = BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup);
    return c && xp_hierarchy_counts(c) ? c : 0;
}

XP_INLINE int xp_disk_is_wanted(struct bio *bio)
{
    struct cgroup *owner = xp_config.target == XP_TARGET_CGROUP ? xp_disk_owner(bio) : 0;
    if (!owner)
        return xp_is_wanted();
    return xp_want_of_cgroup(BPF_CORE_READ(owner, kn, id), owner) >> (xp_config.event & (XP_MAX_EVENTS - 1)) & 1;
}

XP_INLINE int xp_disk_stack(void *ctx, struct xp_state *s, struct bio *bio)
{
    struct cgroup *owner = xp_disk_owner(bio);
    u64 id = owner ? BPF_CORE_READ(owner, kn, id) : 0;
    return xp_stack_as(ctx, s, id ? id : xp_cgroup_id(), id);
}

/* ---- What is done --------------------------------------------------------------------------------------------------
 */

/* Where the name of its disk is. */
XP_INLINE void *xp_disk_name_at(struct bio *bio)
{
    struct gendisk *disk =
        xp_disk_is_old() ? BPF_CORE_READ((struct bio___old *)bio, bi_disk) : BPF_CORE_READ(bio, bi_bdev, bd_disk);
    return (void *)((u64)disk + XP_OFFSET_OF(gendisk, disk_name));
}

/* Up to 7 bytes of it. */
XP_INLINE u64 xp_disk_name(struct bio *bio)
{
    u64 name = 0;
    bpf_probe_read_kernel_str(&name, sizeof(name), xp_disk_name_at(bio));
    return name & ~0ull >> 8;
}

XP_INLINE int xp_disk_flushes_first(u32 flags)
{
    return flags >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) & 1;
}

XP_INLINE u32 xp_disk_what(struct bio *bio)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    u32 flags = BPF_CORE_READ(bio, bi_opf), op = flags & XP_OP_MASK;
    if (op == XP_OP_DISCARD)
        return XP_LABEL_DISCARD;
    if (!(op & 1))
        return op == XP_OP_READ ? XP_LABEL_READ : XP_LABEL_FLUSH;
    if (!BPF_CORE_READ(bio, bi_iter.bi_size) && xp_disk_flushes_first(flags))
        return XP_LABEL_FLUSH;
    return BPF_CORE_READ(t, flags) & XP_PF_KTHREAD ? XP_LABEL_WRITE_BACK : XP_LABEL_WRITE;
}

/* Follows a bio no longer. Returns 0; 1: it was not followed. */
XP_INLINE int xp_disk_forget(u64 bio)
{
    struct xp_disk_bio *b = bpf_map_lookup_elem(&disk_bios, &bio);
    u64 cgroup = b ? b->cgroup : 0;
    if (!b || bpf_map_delete_elem(&disk_bios, &bio))
        return 1;
    xp_share_give(cgroup);
    return 0;
}

/* ---- Beginning -----------------------------------------------------------------------------------------------------
 */

/* Whether a bio counts. The end of one that was at the same address has been missed if it is still there. */
XP_INLINE int xp_disk_counts(u64 bio)
{
    if (!xp_disk_forget(bio))
        xp_lose(XP_LOSS_REQUEST);
    return xp_disk_is_wanted((struct bio *)bio);
}

XP_INLINE void xp_disk_follow(u64 *ctx, struct xp_state *s, u64 bio)
{
    struct xp_disk_bio b = {.began = bpf_ktime_get_ns()};
    if (xp_disk_stack(ctx, s, (struct bio *)bio))
        return;
    b.stack = s->hash;
    b.cgroup = s->sample.cgroup;
    b.label = XP_LABEL(xp_disk_what((struct bio *)bio), xp_disk_name((struct bio *)bio));
    if (xp_share_take(b.cgroup, XP_DISK_BIOS)) {
        xp_lose(XP_LOSS_REQUEST);
    } else if (bpf_map_update_elem(&disk_bios, &bio, &b, BPF_ANY)) {
        xp_share_give(b.cgroup);
        xp_lose(XP_LOSS_REQUEST);
    }
}

/* A request is made of a bio. */
#define XP_DISK_NEW(ctx) (xp_disk_is_old() ? XP_ARG(ctx, 1) : XP_ARG(ctx, 0))
XP_INLINE void xp_disk_begins(u64 *ctx, struct xp_state *s)
{
    xp_disk_follow(ctx, s, XP_DISK_NEW(ctx));
}
XP_KIND_PROGRAM("tp_btf/block_getrq", xp_on_request, xp_disk_counts(XP_DISK_NEW(ctx)), xp_disk_begins)

/* A bio becomes part of a request that waits. */
#define XP_DISK_ADDED(ctx) (xp_disk_is_old() ? XP_ARG(ctx, 2) : XP_ARG(ctx, 0))
XP_INLINE void xp_disk_joins(u64 *ctx, struct xp_state *s)
{
    xp_disk_follow(ctx, s, XP_DISK_ADDED(ctx));
}
XP_KIND_PROGRAM("tp_btf/block_bio_backmerge", xp_on_back, xp_disk_counts(XP_DISK_ADDED(ctx)), xp_disk_joins)
XP_KIND_PROGRAM("tp_btf/block_bio_frontmerge", xp_on_front, xp_disk_counts(XP_DISK_ADDED(ctx)), xp_disk_joins)

/* What was put back is issued again: it was queued until then. Before 5.10's stable releases changed it, the argument
 * was the queue, in which no bio is found: how long requests were queued is not known there. */
SEC("tp_btf/block_rq_issue")
int xp_on_issue(u64 *ctx)
{
    struct request *rq = (void *)ctx[0];
    u64 bio = (u64)BPF_CORE_READ(rq, bio);
    struct xp_disk_bio *b = bpf_map_lookup_elem(&disk_bios, &bio);
    if (b)
        b->issued = bpf_ktime_get_ns();
    return 0;
}

/* ---- End -----------------------------------------------------------------------------------------------------------
 */

/* A request with data that flushes a cache before or after is completed once for its data, and then as a whole. */
XP_INLINE int xp_disk_goes_on(struct request *rq)
{
    u32 bit = bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ)
                  ? bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ)
                  : 4; /* block/blk-mq.h: RQF_FLUSH_SEQ */
    return BPF_CORE_READ(rq, rq_flags) >> (bit & 31) & 1;
}

/* `began`: 0 if the device keeps no books. */
XP_INLINE void xp_disk_time(struct xp_state *s, const struct xp_disk_bio *b, u64 began)
{
    u64 now = bpf_ktime_get_ns();
    began = began ? began : b->began;
    s->amounts[XP_DISK_TIME].count = 1;
    s->amounts[XP_DISK_TIME].value = now > began ? now - began : 0;
    s->amounts[XP_DISK_QUEUED].value = b->issued > began ? b->issued - began : 0;
}

/* Counts bytes of a bio that are moved; `over`: and its request, which began at that time. Out of line, so that it is
 * verified once. */
XP_NOINLINE int xp_disk_count(u64 bio, u64 bytes, u32 over, u64 began)
{
    struct xp_disk_bio *b = bpf_map_lookup_elem(&disk_bios, &bio);
    struct xp_state *s = xp_state_get();
    if (!b || !s)
        return 0;
    u32 what = XP_LABEL_WHAT(b->label);
    xp_no_amounts(s);
    if (what == XP_LABEL_READ)
        s->amounts[XP_DISK_READ].value = bytes;
    else if (what == XP_LABEL_WRITE || what == XP_LABEL_WRITE_BACK)
        s->amounts[XP_DISK_WRITTEN].value = bytes;
    if (over)
        xp_disk_time(s, b, began);
    xp_count_for(b->stack, b->label, b->cgroup);
    return 0;
}

/* ---- Latency -------------------------------------------------------------------------------------------------------
 * Of all requests, whoever made them: they cost a look-up.
 */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, XP_DISK_SERIES);
    __type(key, struct xp_disk_key);
    __type(value, struct xp_disk_latency);
} disk_latency SEC(".maps");

/* Requests for which there was no room. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u64);
} disk_left_out SEC(".maps");

/* What is over has no bytes left: what had some is told by its memory. */
XP_INLINE u32 xp_disk_op(struct bio *bio)
{
    u32 flags = BPF_CORE_READ(bio, bi_opf), op = flags & XP_OP_MASK;
    if (op == XP_OP_DISCARD)
        return XP_DISK_OP_DISCARD;
    if (op & 1)
        return xp_disk_flushes_first(flags) && !BPF_CORE_READ(bio, bi_io_vec) ? XP_DISK_OP_FLUSH : XP_DISK_OP_WRITE;
    return op == XP_OP_READ ? XP_DISK_OP_READ : XP_DISK_OP_FLUSH;
}

XP_INLINE u32 xp_disk_bucket(u64 ns)
{
    u32 i = 0;
    while (i < XP_DISK_BUCKETS && ns > XP_DISK_LEAST << i)
        i++;
    return i;
}

/* Out of line, for its part of the stack. */
XP_NOINLINE int xp_disk_took(u64 bio, u64 began)
{
    static const struct xp_disk_latency none = {};
    struct xp_disk_bio *b = bpf_map_lookup_elem(&disk_bios, &bio);
    struct xp_disk_key key = {.op = xp_disk_op((struct bio *)bio)};
    u64 now = bpf_ktime_get_ns();
    u32 zero = 0;
    if (!began && b)
        began = b->began;
    if (!began)
        return 0;
    bpf_probe_read_kernel_str(key.device, sizeof(key.device), xp_disk_name_at((struct bio *)bio));
    struct xp_disk_latency *l = bpf_map_lookup_elem(&disk_latency, &key);
    if (!l) {
        bpf_map_update_elem(&disk_latency, &key, &none, BPF_NOEXIST);
        l = bpf_map_lookup_elem(&disk_latency, &key);
    }
    if (!l) {
        u64 *left_out = bpf_map_lookup_elem(&disk_left_out, &zero);
        if (left_out)
            ++*left_out;
        return 0;
    }
    u64 ns = now > began ? now - began : 0;
    u32 bucket = xp_disk_bucket(ns);
    l->ns += ns;
    l->requests++;
    if (bucket <= XP_DISK_BUCKETS)
        l->bucket[bucket]++;
    return 0;
}

/* Arguments: request, error, bytes that are done with. */
XP_INLINE void xp_disk_ends(u64 *ctx, struct xp_state *s)
{
    struct request *rq = (void *)ctx[0];
    u64 left = (u32)ctx[2], bio = (u64)BPF_CORE_READ(rq, bio), began = BPF_CORE_READ(rq, start_time_ns);
    int over = left >= BPF_CORE_READ(rq, __data_len) && !xp_disk_goes_on(rq);
    if (over && bio)
        xp_disk_took(bio, began);
    for (u32 i = 0; i < XP_DISK_MERGED && bio && (!i || left); i++) {
        u32 size = BPF_CORE_READ((struct bio *)bio, bi_iter.bi_size);
        u64 next = (u64)BPF_CORE_READ((struct bio *)bio, bi_next);
        u64 bytes = size < left ? size : left;
        xp_disk_count(bio, bytes, over && !i, began);
        if (over || (bytes == size && next))
            xp_disk_forget(bio);
        left -= bytes;
        bio = next;
    }
    if (bio && left)
        xp_lose(XP_LOSS_REQUEST);
}
XP_KIND_PROGRAM("tp_btf/block_rq_complete", xp_on_done, ctx[0] != 0, xp_disk_ends)
