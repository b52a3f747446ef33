/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Identifies mapped files. The identity is read from the inode. A new file gets an ID at once, so that frames can refer
 * to it before user space has read it. Each kernel object is copied by one probe read; its fields are then taken from
 * the copy.
 */
#pragma once

#define XP_OFFSET_OF(type, field) bpf_core_field_offset(struct type, field)
#define XP_CTIME_QUERIED          (1u << 31) /* since 6.13 stat() sets this mark (I_CTIME_QUERIED): not a change */

/* Copies the first bytes of a kernel object to s->object. */
XP_INLINE int xp_object(struct xp_state *s, u64 at)
{
    return bpf_probe_read_kernel(s->object, sizeof(s->object), (void *)at);
}

/* Return a field of the object copied last. Fields beyond the copied part are read from the kernel. */
XP_INLINE u64 xp_field64(struct xp_state *s, u64 at, u32 off)
{
    u64 v = 0;
    if (off + 8 <= sizeof(s->object))
        return *(u64 *)(s->object + off);
    bpf_probe_read_kernel(&v, 8, (void *)(at + off));
    return v;
}

XP_INLINE u32 xp_field32(struct xp_state *s, u64 at, u32 off)
{
    u32 v = 0;
    if (off + 4 <= sizeof(s->object))
        return *(u32 *)(s->object + off);
    bpf_probe_read_kernel(&v, 4, (void *)(at + off));
    return v;
}

/* Reads the inode that the mapping actually uses: on overlayfs that of the lower file, which containers of one image
 * share. */
XP_INLINE int xp_file_key(struct xp_state *s, u64 file, struct xp_file_key *k)
{
    u64 inode = 0, sb;
    bpf_probe_read_kernel(&inode, 8, (void *)(file + XP_OFFSET_OF(file, f_inode)));
    if (!inode || xp_object(s, inode))
        return 1;
    s->found.origin.inode = inode;
    k->ino = xp_field64(s, inode, XP_OFFSET_OF(inode, i_ino));
    k->size = xp_field64(s, inode, XP_OFFSET_OF(inode, i_size));
    k->generation = xp_field32(s, inode, XP_OFFSET_OF(inode, i_generation));
    if (bpf_core_field_exists(struct inode___split_ctime, i_ctime_sec)) {
        k->ctime_sec = xp_field64(s, inode, XP_OFFSET_OF(inode___split_ctime, i_ctime_sec));
        k->ctime_nsec = xp_field32(s, inode, XP_OFFSET_OF(inode___split_ctime, i_ctime_nsec));
    } else if (bpf_core_field_exists(struct inode___hidden_ctime, __i_ctime)) {
        k->ctime_sec = xp_field64(s, inode, XP_OFFSET_OF(inode___hidden_ctime, __i_ctime));
        k->ctime_nsec = xp_field32(s, inode, XP_OFFSET_OF(inode___hidden_ctime, __i_ctime) + 8);
    } else {
        k->ctime_sec = xp_field64(s, inode, XP_OFFSET_OF(inode___ctime, i_ctime));
        k->ctime_nsec = xp_field32(s, inode, XP_OFFSET_OF(inode___ctime, i_ctime) + 8);
    }
    k->ctime_nsec &= ~XP_CTIME_QUERIED;
    sb = xp_field64(s, inode, XP_OFFSET_OF(inode, i_sb));
    return bpf_probe_read_kernel(&k->dev, 4, (void *)(sb + XP_OFFSET_OF(super_block, s_dev)));
}

/* Returns an ID that no other file has. Each CPU has its own counters, one for each kind of program that may interrupt
 * another (Linux 5.10 has no atomic fetch-and-add). When a counter wraps around, after months of new files, an ID may
 * still be in use: user space then refuses it, and the next one is tried. */
XP_INLINE u32 xp_new_file_id(u32 lane)
{
    u32 *count = bpf_map_lookup_elem(&id_count, &lane);
    if (!count)
        return 0;
    u32 lanes = xp_config.cpus * XP_LANES, mine = bpf_get_smp_processor_id() * XP_LANES + lane;
    u32 size = lanes ? (XP_FILE_IDS - XP_FILE_FIRST) / lanes : 0;
#ifdef XP_SLOTTED
    u32 number = __sync_fetch_and_add(count, 1);
#else
    u32 number = (*count)++;
#endif
    return size ? XP_FILE_FIRST + number % size * lanes + mine : 0;
}

/* Returns the kind of file system of a file, which tells who answers for it. */
XP_INLINE u32 xp_file_system(u64 file)
{
    u64 inode = 0, sb = 0, magic = 0;
    bpf_probe_read_kernel(&inode, 8, (void *)(file + XP_OFFSET_OF(file, f_inode)));
    bpf_probe_read_kernel(&sb, 8, (void *)(inode + XP_OFFSET_OF(inode, i_sb)));
    bpf_probe_read_kernel(&magic, 8, (void *)(sb + XP_OFFSET_OF(super_block, s_magic)));
    return (u32)magic;
}

/* Tells whether the file is in no directory: memfd, shared memory, or deleted. */
XP_INLINE int xp_has_no_name(u64 file)
{
    u64 inode = 0;
    u32 links = 1;
    bpf_probe_read_kernel(&inode, 8, (void *)(file + XP_OFFSET_OF(file, f_inode)));
    bpf_probe_read_kernel(&links, 4, (void *)(inode + XP_OFFSET_OF(inode, i_nlink)));
    return !links;
}

#define XP_VM_SHARED 0x8u /* include/linux/mm.h */

/* Tells whether a mapping of a file with these flags has generated code, which is written through another mapping of
 * the same memory: .NET does so since version 7. Such a file changes all the time. */
XP_INLINE int xp_is_generated(u64 flags, u64 file)
{
    return flags & XP_VM_SHARED && xp_has_no_name(file);
}

/* Announces a file to user space, which then opens it through /proc/TGID/map_files. */
XP_INLINE int xp_announce(u32 id, u32 again, const struct xp_file_key *k, u64 file, const struct xp_sample *smp,
                          const struct xp_vma *m)
{
    struct xp_file_event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
    if (!e) {
        struct xp_stats *st = xp_stats_get();
        if (st)
            st->lost[XP_LOSS_FILE_EVENT]++;
        return 1;
    }
    e->type = XP_RECORD_FILE;
    e->id = id;
    e->tgid = smp->tgid;
    e->magic = xp_file_system(file);
    e->again = again;
    e->pad = 0;
    e->cgroup = smp->cgroup;
    e->start = m->start;
    e->end = m->end;
    e->pgoff = m->start - m->bias;
    e->key = *k;
    bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
    return 0;
}

/* Tells whether a cgroup may add another file. Its limit leaves room for other cgroups. */
XP_INLINE int xp_may_add_file(u64 cgroup)
{
    u32 *n = xp_config.cgroup_files ? bpf_map_lookup_elem(&cgroup_files, &cgroup) : 0;
    return !n || *n < xp_config.cgroup_files;
}

/* Counts a file that user space has been told of, and so will take from the count again (probe_count_files). */
XP_INLINE void xp_count_file(u64 cgroup)
{
    u32 one = 1, *n = xp_config.cgroup_files ? bpf_map_lookup_elem(&cgroup_files, &cgroup) : 0;
    if (n)
        __sync_fetch_and_add(n, 1);
    else if (xp_config.cgroup_files)
        bpf_map_update_elem(&cgroup_files, &cgroup, &one, BPF_ANY);
}

/* Adds a new file and announces it. Returns 0 or a cause. */
XP_INLINE int xp_new_file(const struct xp_file_key *k, u64 file, u32 lane, const struct xp_sample *smp,
                          struct xp_vma *m)
{
    struct xp_file fresh = {.state = XP_FILE_PENDING};
    if (!xp_may_add_file(smp->cgroup))
        return XP_CAUSE_SHARE_FULL;
    fresh.id = xp_new_file_id(lane);
    if (!fresh.id)
        return XP_CAUSE_FILES_FULL;
    if (bpf_map_update_elem(&files, k, &fresh, BPF_NOEXIST)) {
        struct xp_file *known = bpf_map_lookup_elem(&files, k); /* another CPU was faster, or the map is full */
        if (!known)
            return XP_CAUSE_FILES_FULL;
        m->file = *known;
        return 0;
    }
    if (xp_announce(fresh.id, 0, k, file, smp, m))
        bpf_map_delete_elem(&files, k); /* the next sample tries again, with another ID */
    else
        xp_count_file(smp->cgroup);
    m->file = fresh;
    return 0;
}

/* What is known of a mapping's file, into m->file; it is a file of the process and cgroup of s->sample. 0 or a cause.
 */
XP_INLINE int xp_file_of(struct xp_state *s, u64 file, u32 lane, struct xp_vma *m)
{
    struct xp_file_key k = {};
    if (xp_file_key(s, file, &k))
        return XP_CAUSE_TREE;
    struct xp_file *known = bpf_map_lookup_elem(&files, &k);
    if (!known)
        return xp_new_file(&k, file, lane, &s->sample, m);
    /* In place, for a copy could put an older value in the place of what user space publishes now. Two CPUs may
     * announce it: once is as good as twice. */
    if (known->asked && !xp_announce(known->id, 1, &k, file, &s->sample, m))
        known->asked = 0;
    m->file = *known;
    return 0;
}
