/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Unwinds through functions that have uprobes, our own (event `memory`) or those of other tools. As long as a function
 * with a return probe runs, the stack has the address of a trampoline in place of its return address, which the kernel
 * keeps; and an instruction that has a probe on it may run at another place. Both places are in one page of the
 * process, the XOL area (kernel/events/uprobes.c).
 */
#pragma once

#define XP_XOL_BYTES    4096
#define XP_XOL_SLOT     128 /* UPROBE_XOL_SLOT_BYTES (arch/x86/include/asm/uprobes.h) */
#define XP_PROBED_CALLS 64  /* MAX_URETPROBE_DEPTH (include/linux/uprobes.h) */

/* Returns how many bytes the trampoline has on the stack at a place in it. Since Linux 6.11 its code is
 * (arch_uretprobe_trampoline): push rax, rcx, r11; mov rax; syscall; pop r11, rcx; ret. Before, it is a breakpoint. */
XP_INLINE u64 xp_pushed_at(u64 at)
{
    return at < 1 ? 0 : at < 2 || at == 16 ? 8 : at < 4 || at == 15 ? 16 : at <= 13 ? 24 : 0;
}

/* The leaf: in place of an instruction, or in the trampoline, after the function has returned. Then its return address
 * is in the kernel's note, or, when that is done with, where it was on the stack. */
XP_INLINE int xp_leave_xol(struct xp_state *s, struct uprobe_task *u, u64 area)
{
    u64 at = s->ip - BPF_CORE_READ(u, xol_vaddr), slot = s->sp + xp_pushed_at(s->ip - area) - 8;
    struct return_instance *r = BPF_CORE_READ(u, return_instances);
    if (BPF_CORE_READ(u, state) == UTASK_SSTEP && at < XP_XOL_SLOT) {
        s->ip = s->first.r[XP_RIP] = BPF_CORE_READ(u, vaddr) + at;
        return 0;
    }
    if (BPF_CORE_READ(r, stack) == slot)
        s->ip = BPF_CORE_READ(r, orig_ret_vaddr);
    else if (xp_read_user(&s->loaded, 8, slot) || xp_follows_call(s, s->loaded) <= 0) /* about to be written there */
        return 1;
    else
        s->ip = s->loaded;
    s->sp = slot + 8;
    s->leaf = XP_LEAF_NO;
    return 0;
}

#define XP_PROBED_STEP 4

/* Goes through the next notes. Returns where to go on; 0: there are no more; 1: one is of the current frame, whose pc
 * is what it says then. Its place is where the return address was. Out of line, so that it is verified once. */
XP_NOINLINE u64 xp_try_returns(u64 note)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    for (u32 i = 0; i < XP_PROBED_STEP && note; i++) {
        struct return_instance *r = (void *)note;
        if (BPF_CORE_READ(r, stack) == s->sp - 8) {
            s->ip = BPF_CORE_READ(r, orig_ret_vaddr);
            return 1;
        }
        note = (u64)BPF_CORE_READ(r, next);
    }
    return note;
}

/* Any other frame. */
XP_INLINE int xp_kept_return(struct uprobe_task *u)
{
    u64 note = (u64)BPF_CORE_READ(u, return_instances);
    for (u32 i = 0; i < XP_PROBED_CALLS / XP_PROBED_STEP && note > 1; i++)
        note = xp_try_returns(note);
    return note != 1;
}

/* Puts the current frame where it would be without a probe. Returns 0; 1: there is none. */
XP_NOINLINE int xp_see_through_probe(void)
{
    struct xp_state *s = xp_state_get();
    if (!s || !bpf_core_field_exists(struct task_struct, utask))
        return 1;
    struct mm_struct *mm = (void *)s->who.mm;
    struct task_struct *task = (void *)s->who.task;
    u64 area = BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr);
    struct uprobe_task *u = BPF_CORE_READ(task, utask);
    if (!area || s->ip - area >= XP_XOL_BYTES || !u)
        return 1;
    return s->leaf ? xp_leave_xol(s, u, area) : xp_kept_return(u);
}
