/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Which file is read ahead: part of kind `readahead` (bpf/kinds/readahead.bpf.c), which has xp_ra_reader.
 */
#pragma once

/* An open file of the running task; NULL: there is none. */
XP_INLINE struct file *xp_ra_file(u32 fd)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    struct fdtable *table = BPF_CORE_READ(t, files, fdt);
    struct file *file = 0;
    if (fd >= BPF_CORE_READ(table, max_fds) ||
        bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd))
        return 0;
    return file;
}

/* The file that a thread reads ahead, or is asked to by a call on its descriptor: the kernel passes on what is part of
 * an open file, mostly. */
XP_INLINE void xp_ra_note_file(struct file *file, u64 mapping)
{
    struct xp_ra_reader *r = xp_ra_reader(BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!r)
        return;
    r->tag_mapping = (u64)BPF_CORE_READ(file, f_mapping) == mapping ? mapping : 0;
    if (r->tag_mapping)
        r->tag = xp_path_tag((u64)file);
}

/* Arguments: inode, page, struct file_ra_state. */
XP_INLINE void xp_ra_names(u64 *ctx, struct xp_state *s)
{
    (void)s;
    xp_ra_note_file((struct file *)(xp_argument(ctx, 2) - XP_OFFSET_OF(file, f_ra)),
                    (u64)BPF_CORE_READ((struct inode *)ctx[0], i_mapping));
}

XP_INLINE int xp_ra_is_named(u64 inode)
{
    return xp_config.tags && (BPF_CORE_READ((struct inode *)inode, i_mode) & 0170000) == 0100000 && xp_is_wanted();
}

XP_KIND_PROGRAM("tp_btf/page_cache_sync_ra", xp_on_file, xp_ra_is_named(ctx[0]), xp_ra_names)
XP_KIND_PROGRAM("tp_btf/page_cache_async_ra", xp_on_file_again, xp_ra_is_named(ctx[0]), xp_ra_names)

/* Calls that ask for pages name no file but by their descriptor. */
enum { XP_SYS_READAHEAD = 187, XP_SYS_FADVISE = 221 }; /* arch/x86/entry/syscalls/syscall_64.tbl */
XP_INLINE void xp_ra_asked(u64 mapping)
{
    u64 regs = xp_user_regs((struct task_struct *)bpf_get_current_task());
    u64 number = xp_saved_word(regs, XP_PT_ORIG_RAX);
    struct file *file = 0;
    if (number == XP_SYS_READAHEAD || number == XP_SYS_FADVISE)
        file = xp_ra_file((u32)xp_saved_word(regs, XP_PT_RDI));
    if (file)
        xp_ra_note_file(file, mapping);
}

/* ---- Stacks ---------------------------------------------------------------------------------------------------------
 */

/* Up to 7 bytes of the name of the file system. */
XP_INLINE u64 xp_ra_label(u64 mapping)
{
    u64 name = 0;
    bpf_probe_read_kernel_str(&name, sizeof(name),
                              BPF_CORE_READ((struct address_space *)mapping, host, i_sb, s_type, name));
    return XP_LABEL(XP_LABEL_NAME, name & ~0ull >> 8);
}

/* Pages are judged later, whoever is running then: so it is the stacks that are told apart by files, not the sums. They
 * begin with a label and the key of the tag, in two halves, of which user space makes its text. */
#define XP_RA_TAGGED 3
XP_INLINE int xp_ra_stack_of_file(void *ctx, struct xp_state *s, u64 mapping, u64 tag)
{
    u64 cgroup = xp_cgroup_id();
    if (xp_begin_here(cgroup))
        return 1;
    s->words[0] = xp_ra_label(mapping);
    s->words[1] = XP_LABEL(XP_LABEL_KEY, tag & 0xffffffff);
    s->words[2] = XP_LABEL(XP_LABEL_KEY, tag >> 32);
    s->sample.nkernel = XP_RA_TAGGED;
    if (xp_config.kernel) {
        long n = bpf_get_stack(ctx, s->words + XP_RA_TAGGED, 8 * (XP_MAX_KERNEL - XP_RA_TAGGED), XP_OWN_FRAMES);
        s->sample.nkernel += n > 0 ? (u32)n / 8 : 0;
    }
    xp_user_stack_here();
    if (tag == XP_TAG_OTHER)
        xp_lose(XP_LOSS_LABEL);
    if (!xp_tell_here(cgroup, 0))
        return 0;
    xp_lose(XP_LOSS_SUM);
    return 1;
}
