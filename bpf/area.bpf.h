/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Any mapping of a process, whatever is in it: what an address belongs to.
 */
#pragma once

/* Reads the mapping that contains `at` into s->area. Returns 0; 1: there is none. */
XP_NOINLINE int xp_area_at(u64 at)
{
    struct xp_state *s = xp_state_get();
    u64 vma = s ? xp_walk(s, at) : 0;
    if (!vma || xp_object(s, vma))
        return 1;
    struct xp_area *to = &s->area;
    to->start = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_start));
    to->end = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_end));
    to->flags = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_flags));
    to->file = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_file));
    to->offset = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_pgoff)) << 12;
    return xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_mm)) != s->who.mm || at < to->start || at >= to->end;
}

/* Tells whether an address in the anonymous memory of s->area is on a stack, or in what malloc has got by brk. */
XP_INLINE int xp_is_on_stack(const struct xp_state *s)
{
    u64 sp = s->first.r[XP_RSP], first = s->who.stack;
    return (sp >= s->area.start && sp < s->area.end) || (first >= s->area.start && first < s->area.end);
}
XP_INLINE int xp_is_in_brk(const struct xp_state *s, u64 at)
{
    u64 from = 0, to = 0;
    bpf_probe_read_kernel(&from, 8, (void *)(s->who.mm + XP_OFFSET_OF(mm_struct, start_brk)));
    bpf_probe_read_kernel(&to, 8, (void *)(s->who.mm + XP_OFFSET_OF(mm_struct, brk)));
    return at >= from && at < to;
}
