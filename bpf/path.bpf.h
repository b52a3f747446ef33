/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Paths of files as their process sees them: from its root directory, through what is mounted below that. They are
 * walked from the file upwards, so text grows towards its beginning (fs/d_path.c of Linux does the same).
 */
#pragma once
#include "bpf/tags.bpf.h"

#define XP_PATH_DEPTH 48 /* names and mounts on a path */

enum { XP_PATH_GOES_ON, XP_PATH_ENDS, XP_PATH_IS_NONE };

/* Puts a name in front of the text; the last one of a path without a slash. Returns 1: there is no room. */
XP_INLINE int xp_path_name(struct xp_tag_room *r, struct dentry *d, u32 slash)
{
    u32 len = BPF_CORE_READ(d, d_name.len);
    const char *name = BPF_CORE_READ(d, d_name.name);
    if (len + slash > r->at) {
        r->event.cut = 1;
        return 1;
    }
    u32 at = r->at - len;
    bpf_probe_read_kernel(r->event.text + (at & (XP_TAG_TEXT - 1)), len & (XP_TAG_TEXT - 1), name);
    if (slash)
        r->event.text[--at & (XP_TAG_TEXT - 1)] = '/';
    r->at = at;
    return 0;
}

/* A step towards the root. Out of line, so that it is verified once. */
XP_NOINLINE int xp_path_step(void)
{
    struct xp_tag_room *r = xp_tag_room();
    if (!r || (r->dentry == r->root && r->mount == r->root_mount))
        return XP_PATH_ENDS;
    struct dentry *d = (void *)r->dentry;
    struct vfsmount *mounted = (void *)r->mount;
    u64 parent = (u64)BPF_CORE_READ(d, d_parent);
    if (d == BPF_CORE_READ(mounted, mnt_root)) {
        struct mount *m = (void *)(r->mount - XP_OFFSET_OF(mount, mnt));
        struct mount *below = BPF_CORE_READ(m, mnt_parent);
        if (below == m)
            return XP_PATH_ENDS;
        r->dentry = (u64)BPF_CORE_READ(m, mnt_mountpoint);
        r->mount = (u64)below + XP_OFFSET_OF(mount, mnt);
        return XP_PATH_GOES_ON;
    }
    if (parent == (u64)d)
        return XP_PATH_IS_NONE;
    if (xp_path_name(r, d, 1))
        return XP_PATH_ENDS;
    r->dentry = parent;
    return XP_PATH_GOES_ON;
}

/* Memory and pipes have a name at best. Those without one are called after their file system. */
XP_INLINE u32 xp_path_none(struct xp_tag_room *r, struct file *file)
{
    struct dentry *d = BPF_CORE_READ(file, f_path.dentry);
    r->at = XP_TAG_TEXT;
    if (BPF_CORE_READ(d, d_name.len)) {
        xp_path_name(r, d, 0);
    } else {
        r->at = XP_TAG_TEXT - 16;
        bpf_probe_read_kernel_str(r->event.text + XP_TAG_TEXT - 16, 16,
                                  BPF_CORE_READ(file, f_inode, i_sb, s_type, name));
    }
    return XP_TAG_NAME;
}

/* What tells paths apart without looking at all of their names. Directories that are renamed meanwhile keep their old
 * name until the next interval. */
XP_INLINE u64 xp_path_key(struct file *file, u32 gone)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    struct dentry *d = BPF_CORE_READ(file, f_path.dentry);
    u64 h = xp_mix(xp_config.seed ^ gone, (u64)d);
    h = xp_mix(h, (u64)BPF_CORE_READ(d, d_parent));
    h = xp_mix(h, BPF_CORE_READ(d, d_name.hash_len));
    h = xp_mix(h, (u64)BPF_CORE_READ(file, f_path.mnt));
    return xp_mix(h, (u64)BPF_CORE_READ(t, fs, root.dentry)) | 2; /* never XP_TAG_OTHER */
}

/* Returns the tag of a file that the running task has open. Out of line, so that it is verified once. */
XP_NOINLINE u64 xp_path_tag(u64 at)
{
    struct file *file = (void *)at;
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    struct dentry *d = BPF_CORE_READ(file, f_path.dentry);
    struct xp_tag_room *r = xp_tag_room();
    u32 gone = !BPF_CORE_READ(d, d_hash.pprev) && BPF_CORE_READ(d, d_parent) != d; /* roots are in no table either */
    u64 key = xp_path_key(file, gone);
    if (!r || xp_tag_is_told(key))
        return key;
    r->at = XP_TAG_TEXT;
    r->event.cut = 0;
    r->dentry = (u64)d;
    r->mount = (u64)BPF_CORE_READ(file, f_path.mnt);
    r->root = (u64)BPF_CORE_READ(t, fs, root.dentry);
    r->root_mount = (u64)BPF_CORE_READ(t, fs, root.mnt);
    int step = XP_PATH_GOES_ON;
    for (u32 i = 0; i < XP_PATH_DEPTH && step == XP_PATH_GOES_ON; i++)
        step = xp_path_step();
    r->event.cut |= step == XP_PATH_GOES_ON;
    r->event.what = gone ? XP_TAG_DELETED : XP_TAG_PATH;
    if (step == XP_PATH_IS_NONE)
        r->event.what = xp_path_none(r, file);
    r->event.len = XP_TAG_TEXT - r->at;
    return xp_tell_tag(key);
}
