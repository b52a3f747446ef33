/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `vmem`: which calls make the data segment of processes grow and shrink: private memory that can be written to,
 * touched or not (VmData in /proc/PID/status). The kernel keeps its size. What it has changed by is counted at the end
 * of each system call that may change it, for the stack of that call. So the sums are exact; of calls of several
 * threads that end at the same moment, one may get what belongs to another. Values of the kind: mapped and unmapped, in
 * bytes.
 */
#include "bpf/kind.bpf.h"
#include "bpf/atomic.bpf.h"

#define XP_VMEM_SPACES 16384

/* Pages when it was looked last. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, XP_VMEM_SPACES);
    __type(key, u64); /* number of the address space: never used again (arch/x86/include/asm/mmu.h) */
    __type(value, u64);
} vmem_spaces SEC(".maps");

/* By number (arch/x86/entry/syscalls/syscall_64.tbl): mmap, mprotect, munmap, brk, mremap, pkey_mprotect. */
XP_INLINE int xp_vmem_changes_in(u64 number)
{
    return (number >= 9 && number <= 12) || number == 25 || number == 329;
}

XP_INLINE struct mm_struct *xp_vmem_own(void)
{
    return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), mm);
}

XP_INLINE u64 *xp_vmem_find(struct mm_struct *mm)
{
    u64 key = BPF_CORE_READ(mm, context.ctx_id);
    return bpf_map_lookup_elem(&vmem_spaces, &key);
}

/* What is there before the first call that is seen does not count. Arguments: registers, number. */
SEC("tp_btf/sys_enter")
int xp_on_call(u64 *ctx)
{
    struct mm_struct *mm = xp_vmem_changes_in(ctx[1]) && xp_is_wanted() ? xp_vmem_own() : 0;
    if (!mm || xp_vmem_find(mm))
        return 0;
    u64 key = BPF_CORE_READ(mm, context.ctx_id), pages = BPF_CORE_READ(mm, data_vm);
    bpf_map_update_elem(&vmem_spaces, &key, &pages, BPF_NOEXIST); /* or another thread has done so meanwhile */
    return 0;
}

XP_INLINE void xp_vmem_changes(u64 *ctx, struct xp_state *s)
{
    struct mm_struct *mm = xp_vmem_own();
    u64 *seen = mm ? xp_vmem_find(mm) : 0, pages = seen ? BPF_CORE_READ(mm, data_vm) : 0;
    s64 change = seen ? pages - xp_atomic_swap(seen, pages) : 0;
    if (!change || !xp_is_wanted())
        return;
    xp_no_amounts(s);
    u32 value = change < 0;
    s->amounts[value & 1].count = 1;
    s->amounts[value & 1].value = (u64)(change < 0 ? -change : change) << 12;
    xp_count_here(0, s, 0);
}

XP_KIND_PROGRAM("tp_btf/sys_exit", xp_on_result, xp_vmem_changes_in(xp_saved_word(ctx[0], XP_PT_ORIG_RAX)),
                xp_vmem_changes)
