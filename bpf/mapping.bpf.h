/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Remembers the mappings that stacks of a process run through, so that its tree of VMAs need not be walked for each
 * sample. Most of what a process maps and unmaps is memory; its code stays.
 */
#pragma once

XP_INLINE struct xp_vma_set *xp_vma_set_of(struct xp_state *s)
{
    return &s->sets[s->set & (XP_VMA_SETS - 1)];
}

/* Empties a set for another process, or for the next sample if the kernel does not tell whether mappings changed. */
XP_INLINE void xp_vma_set_reset(struct xp_vma_set *set)
{
    for (u32 i = 0; i < XP_VMA_CACHE; i++)
        set->range[i].start = set->range[i].end = 0;
    set->n = 0;
}

#ifdef __bpf__
/* Whether the VMA that was read last is in a tree. Freed ones keep what is in them. Linux 6.4, like mm_lock_seq. */
XP_INLINE int xp_is_attached(struct xp_state *s, u64 vma)
{
    if (bpf_core_field_exists(struct vm_area_struct___refcnt, vm_refcnt))
        return xp_field32(s, vma, XP_OFFSET_OF(vm_area_struct___refcnt, vm_refcnt)) != 0;
    if (bpf_core_field_exists(struct vm_area_struct___detached, detached))
        return !(xp_field32(s, vma, XP_OFFSET_OF(vm_area_struct___detached, detached)) & 0xff);
    return 0;
}

/* Whether the VMA that was read last is the executable one of a remembered range. */
XP_INLINE int xp_is_same_range(struct xp_state *s, u64 vma, const struct xp_range *r)
{
    return xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_start)) == r->start &&
           xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_end)) == r->end &&
           xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_mm)) == s->who.mm &&
           xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_flags)) & XP_VM_EXEC;
}

/* Whether it maps the same pages of the same file. */
XP_INLINE int xp_is_same_origin(struct xp_state *s, u64 vma, const struct xp_vma_origin *o)
{
    return xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_pgoff)) == o->pgoff &&
           xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_file)) == o->file;
}

/* Whether its file still is the same: another one that got its memory has another inode. */
XP_INLINE int xp_is_same_file(const struct xp_vma_origin *o)
{
    u64 inode = 0;
    return !o->file ||
           (!bpf_probe_read_kernel(&inode, 8, (void *)(o->file + XP_OFFSET_OF(file, f_inode))) && inode == o->inode);
}

#define XP_VMA_HEAD 64 /* bytes at the start of a VMA: its range, memory map, flags and, mostly, vm_lock_seq */

/* Whether nobody has locked the VMA for writing since it was last seen. It must be locked, by a new number, for any
 * change, for its removal, and before it becomes part of a tree again (vma_start_write). One cache line of the kernel
 * tells. */
XP_INLINE int xp_is_untouched(struct xp_state *s, const struct xp_vma_kept *k, const struct xp_range *r)
{
    if (!bpf_core_field_exists(struct vm_area_struct___lock, vm_lock_seq) ||
        XP_OFFSET_OF(vm_area_struct___lock, vm_lock_seq) + 4 > XP_VMA_HEAD ||
        XP_OFFSET_OF(vm_area_struct, vm_flags) + 8 > XP_VMA_HEAD)
        return 0;
    return k->lock && !bpf_probe_read_kernel(s->object, XP_VMA_HEAD, (void *)k->vma) &&
           xp_field32(s, k->vma, XP_OFFSET_OF(vm_area_struct___lock, vm_lock_seq)) == (u32)k->lock &&
           xp_is_same_range(s, k->vma, r);
}

/* Tells whether remembered mapping number i is there although mappings of the process have changed. The VMA may have
 * been freed, and used again for another mapping: what is left of one that was freed is in no tree. */
XP_NOINLINE int xp_still_mapped(u32 i)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    struct xp_vma_set *set = xp_vma_set_of(s);
    i &= XP_VMA_CACHE - 1;
    struct xp_vma_kept *k = &set->kept[i];
    const struct xp_vma_origin *o = &set->origin[i];
    if (!xp_is_untouched(s, k, &set->range[i])) {
        if (xp_object(s, k->vma) || !xp_is_same_range(s, k->vma, &set->range[i]) || !xp_is_same_origin(s, k->vma, o) ||
            !xp_is_attached(s, k->vma) || !xp_is_same_file(o))
            return 0;
        k->lock = xp_vma_lock(s, k->vma);
    }
    k->seq = (u32)set->seq;
    return 1;
}
#endif

#define XP_VMA_TICK(s) ((u32)((s)->sample.time >> 24)) /* 17 ms */
#define XP_VMA_TICKS   32u /* a mapping is remembered that long: its file may get new rows */

/* Makes a remembered mapping the current one if it is still valid, and forgets it if not. Out of line, so that it is
 * verified once. */
XP_NOINLINE int xp_recall_mapping(u32 i)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    struct xp_vma_set *set = xp_vma_set_of(s);
    i &= XP_VMA_CACHE - 1;
    const struct xp_vma_kept *k = &set->kept[i];
    if (XP_VMA_TICK(s) - k->walked < XP_VMA_TICKS && (k->seq == (u32)set->seq || xp_still_mapped(i))) {
        s->cur = (struct xp_vma){set->range[i].start, set->range[i].end, k->bias, k->file};
        return 1;
    }
    set->range[i].start = set->range[i].end = 0;
    return 0;
}

XP_INLINE void xp_remember_mapping(struct xp_state *s, struct xp_vma_set *set)
{
    u32 i = set->n++ & (XP_VMA_CACHE - 1);
    set->range[i] = (struct xp_range){s->cur.start, s->cur.end};
    set->kept[i] = (struct xp_vma_kept){.bias = s->cur.bias,
                                        .file = s->cur.file,
                                        .seq = (u32)set->seq,
                                        .walked = XP_VMA_TICK(s),
                                        .vma = s->found.vma,
                                        .lock = s->found.lock};
    set->origin[i] = s->found.origin;
}

/* Finds the mapping of pc: the current one, a remembered one, or by a walk of the process's tree. A mapping whose file
 * has no table yet is not remembered, so that the next sample checks again. */
XP_INLINE int xp_switch_mapping(struct xp_state *s, u64 pc)
{
    if (pc >= s->cur.start && pc < s->cur.end)
        return 0;
    struct xp_vma_set *set = xp_vma_set_of(s);
    for (u32 i = 0; i < XP_VMA_CACHE; i++)
        if (pc >= set->range[i].start && pc < set->range[i].end && xp_recall_mapping(i))
            return 0;
    int cause = xp_find_mapping(pc);
    if (!cause && s->cur.file.state != XP_FILE_PENDING)
        xp_remember_mapping(s, set);
    return cause;
}
