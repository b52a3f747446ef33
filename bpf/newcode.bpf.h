/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Where allocators come from, beyond what each kind is told (bpf/mapped.bpf.h): processes that are born with them, and
 * files that are mapped later.
 */
#pragma once
#include "bpf/mapped.bpf.h"

/* System calls (arch/x86/entry/syscalls/syscall_64.tbl). */
enum { XP_SYS_MMAP = 9, XP_SYS_CLONE = 56, XP_SYS_FORK = 57, XP_SYS_VFORK = 58, XP_SYS_CLONE3 = 435 };

/* A new process returns from the call that made it. Of threads, and of processes that share the memory of their parents
 * until they execute a program, there is nothing to tell. */
XP_INLINE void xp_is_born(void)
{
    u64 id = bpf_get_current_pid_tgid();
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    u32 tgid = id >> 32, parent = BPF_CORE_READ(t, real_parent, tgid);
    if (tgid != (u32)id || !xp_is_wanted())
        return;
    u32 *held = bpf_map_lookup_elem(&heap_held, &parent), how = held ? *held : 0;
    if (held)
        bpf_map_update_elem(&heap_held, &tgid, &how, BPF_ANY);
    if (BPF_CORE_READ(t, mm) != BPF_CORE_READ(t, real_parent, mm))
        xp_tell_mapped(tgid, 0);
}

/* Arguments: registers, result. */
SEC("tp_btf/sys_exit")
int xp_on_mapped(u64 *ctx)
{
    u64 number = xp_saved_word(ctx[0], XP_PT_ORIG_RAX);
    if (!ctx[1] &&
        (number == XP_SYS_CLONE || number == XP_SYS_FORK || number == XP_SYS_VFORK || number == XP_SYS_CLONE3))
        xp_is_born();
    if (number == XP_SYS_MMAP && xp_saved_word(ctx[0], XP_PT_RDX) & XP_VM_EXEC &&
        (s32)xp_saved_word(ctx[0], XP_PT_R8) >= 0 && (s64)ctx[1] > 0 && xp_is_wanted())
        xp_tell_mapped(bpf_get_current_pid_tgid() >> 32, ctx[1]);
    return 0;
}
