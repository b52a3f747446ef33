/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Finds the mapping of a pc by walking the process's tree of VMAs without locks from interrupt context (protected by
 * RCU). User space does not have to track mappings, and a process that lives for 2 ms is unwound like a server. The
 * tree is a maple tree since Linux 6.1 (lib/maple_tree.c), an rb-tree before. The result is validated; a tree that
 * changed during the walk stops the unwind with its own cause.
 */
#pragma once

#define XP_VM_EXEC      0x4 /* include/linux/mm.h */
#define XP_MAPLE_LEVELS 9   /* half-full nodes: 8 in a leaf, 5 in each above: 3 million mappings */
#define XP_TREE_LEVELS  32  /* rb-tree: 2 * log2(65,530 mappings, the default limit) */

/* lib/maple_tree.c: an entry's low bits are tags; a node is 256 bytes: parent, pivots, slots. */
enum { XP_MAPLE_LEAF = 1, XP_MAPLE_ARANGE = 3 };

/* Returns the child that covers pc. Pivots are inclusive upper bounds. s->walked is lowered to the bound of this child.
 */
XP_INLINE u32 xp_maple_slot(struct xp_state *s, u32 type, u64 pc)
{
    u32 pivots = type == XP_MAPLE_ARANGE ? 9 : 15, slot = 0;
    for (u32 i = 0; i < 15; i++) {
        u64 pivot = s->node[1 + i];
        if (i >= pivots || (i && !pivot))
            break;
        if (pivot >= pc) {
            s->walked = pivot;
            break;
        }
        slot = i + 1;
    }
    return (type == XP_MAPLE_ARANGE ? 10 : 16) + slot;
}

/* Returns what s->node has for pc: the entry of the next node, or, of a leaf, the address of the VMA; 0: none. Verified
 * once, not per level and caller: the ways through its loop would multiply with theirs. */
XP_NOINLINE u64 xp_maple_pick(u32 type, u64 pc)
{
    struct xp_state *s = xp_state_get();
    return s ? s->node[xp_maple_slot(s, type, pc) & 31] : 0;
}

/* Returns the address of the VMA, or 0. s->walked is the last address with the same result. Leaves the leaf in s->node.
 */
XP_INLINE u64 xp_walk_maple(struct xp_state *s, u64 pc)
{
    u64 entry = 0;
    s->leaf_last = 0;
    u32 root = XP_OFFSET_OF(mm_struct, mm_mt) + XP_OFFSET_OF(maple_tree, ma_root);
    s->walked = ~0ull;
    bpf_probe_read_kernel(&entry, 8, (void *)(s->who.mm + root));
    if ((entry & 3) != 2 || entry < 4096)
        return 0;
    entry &= ~2ull;
    for (u32 level = 0; level < XP_MAPLE_LEVELS; level++) {
        u32 type = (entry >> 3) & 15;
        if (bpf_probe_read_kernel(s->node, sizeof(s->node), (void *)(entry & ~255ull)))
            return 0;
        s->leaf_last = type <= XP_MAPLE_LEAF ? s->walked : 0;
        u64 next = xp_maple_pick(type, pc);
        if (next < 4096 || type <= XP_MAPLE_LEAF)
            return next < 4096 || (next & 3) ? 0 : next;
        entry = next;
    }
    return 0;
}

XP_INLINE u64 xp_walk_rb(struct xp_state *s, u64 pc)
{
    u64 node = 0, range[2], child[2]; /* {vm_start, vm_end} open every VMA; {right, left} follow rb_node's parent */
    u32 rb = XP_OFFSET_OF(vm_area_struct___rb, vm_rb);
    bpf_probe_read_kernel(&node, 8, (void *)(s->who.mm + XP_OFFSET_OF(mm_struct___rb, mm_rb)));
    for (u32 level = 0; level < XP_TREE_LEVELS && node; level++) {
        if (bpf_probe_read_kernel(range, 16, (void *)(node - rb)))
            return 0;
        if (pc >= range[0] && pc < range[1])
            return node - rb;
        if (bpf_probe_read_kernel(child, 16, (void *)(node + 8)))
            return 0;
        node = pc < range[0] ? child[1] : child[0];
    }
    return 0;
}

/* Returns the address of the VMA that contains `at`, or perhaps of one near it; 0: there is none. */
XP_INLINE u64 xp_walk(struct xp_state *s, u64 at)
{
    return bpf_core_field_exists(struct mm_struct, mm_mt) ? xp_walk_maple(s, at) : xp_walk_rb(s, at);
}

/* Returns a number that changes whenever the mappings of the process may have changed; 0: not supported by this
 * kernel. */
XP_INLINE u64 xp_mappings_seq(u64 mm)
{
    u32 seq = 0, at;
    if (bpf_core_field_exists(struct mm_struct___seqcount, mm_lock_seq))
        at = XP_OFFSET_OF(mm_struct___seqcount, mm_lock_seq);
    else if (bpf_core_field_exists(struct mm_struct___int_seq, mm_lock_seq))
        at = XP_OFFSET_OF(mm_struct___int_seq, mm_lock_seq);
    else
        return 0;
    bpf_probe_read_kernel(&seq, 4, (void *)(mm + at));
    return seq | 1ull << 32;
}

/* Returns vm_lock_seq of the VMA that was read last, and bit 32. Returns 0 where there is none, and while the VMA is
 * locked: further changes then do not show. */
XP_INLINE u64 xp_vma_lock(struct xp_state *s, u64 vma)
{
    if (!bpf_core_field_exists(struct vm_area_struct___lock, vm_lock_seq))
        return 0;
    u64 lock = xp_field32(s, vma, XP_OFFSET_OF(vm_area_struct___lock, vm_lock_seq)) | 1ull << 32;
    return lock == xp_mappings_seq(s->who.mm) ? 0 : lock;
}

XP_INLINE struct xp_machine *xp_machine_find(struct xp_state *s)
{
    struct xp_process_key k = {.process = s->who.start, .stack = s->who.stack, .tgid = s->sample.tgid};
    return bpf_map_lookup_elem(&machines, &k);
}

/* The same for an interpreter. A process that was just forked looks like its parent: memory is where it was there. */
XP_INLINE struct xp_machine *xp_interpreter_find(struct xp_state *s)
{
    struct xp_machine *own = xp_machine_find(s);
    if (own)
        return own;
    struct task_struct *task = (struct task_struct *)s->who.task, *parent = BPF_CORE_READ(task, real_parent);
    struct mm_struct *mm = BPF_CORE_READ(parent, mm);
    struct xp_process_key k = {.process = BPF_CORE_READ(parent, group_leader, start_boottime),
                               .stack = BPF_CORE_READ(mm, start_stack),
                               .tgid = BPF_CORE_READ(parent, tgid)};
    if (k.stack != s->who.stack || (u64)BPF_CORE_READ(mm, exe_file) != s->who.exe)
        return NULL;
    s->sample.flags |= XP_SAMPLE_RUNTIME; /* what it has of its own is to be found out all the same */
    return bpf_map_lookup_elem(&machines, &k);
}

/* Has the virtual machine of the process in s->jvm. Returns 0: there is none any more. */
XP_INLINE int xp_jvm_take(struct xp_state *s)
{
    if (s->runtime & XP_JVM_KNOWN)
        return 1;
    struct xp_machine *m = xp_machine_find(s);
    if (!m || m->kind != XP_MACHINE_JVM)
        return 0;
    s->jvm = m->jvm;
    s->runtime |= XP_JVM_KNOWN;
    return 1;
}

/* The same of an interpreter of Python, in s->python. */
XP_INLINE int xp_python_take(struct xp_state *s)
{
    struct xp_machine *m = xp_interpreter_find(s);
    if (!m || m->kind != XP_MACHINE_PYTHON)
        return 0;
    s->python = m->python;
    return 1;
}

/* The same of Ruby, PHP or Perl, in s->script. */
XP_INLINE int xp_script_take(struct xp_state *s)
{
    struct xp_machine *m = xp_interpreter_find(s);
    if (!m || m->kind != XP_MACHINE_SCRIPT)
        return 0;
    s->script = m->script;
    return 1;
}

/* The same of a V8, in s->v8. -1: the process has another runtime. */
XP_INLINE int xp_v8_take(struct xp_state *s)
{
    struct xp_machine *m = xp_machine_find(s);
    if (!m || m->kind != XP_MACHINE_V8)
        return m ? -1 : 0;
    s->v8 = m->v8;
    return 1;
}

/* Looks up the table of generated code, or finds that it is that of a virtual machine. Its file ID stays 0: frames in
 * it are addresses of the process. */
XP_INLINE void xp_region_of(struct xp_state *s, struct xp_vma *m)
{
    struct xp_region_key k = {
        .process = s->who.start, .stack = s->who.stack, .start = m->start, .tgid = s->sample.tgid};
    struct xp_file *f = bpf_map_lookup_elem(&regions, &k);
    if (f) {
        m->file = *f;
        m->bias = m->start;
        return;
    }
    struct xp_machine *j = xp_machine_find(s);
    if (j && j->kind == XP_MACHINE_JVM && XP_JVM_MEETS(&j->jvm, m))
        m->file.state = XP_FILE_JVM;
}

/* What has no file: generated code, or the vdso. */
XP_INLINE void xp_no_file(struct xp_state *s, struct xp_vma *m)
{
    u32 zero = 0;
    struct xp_file *f = bpf_map_lookup_elem(&vdso, &zero);
    if (m->start != s->who.vdso) {
        xp_region_of(s, m);
    } else if (f && f->id) {
        m->file = *f;
        m->bias = m->start;
    }
}

/* Fills s->cur with the mapping at `vma` if it contains pc. Returns 0 or a cause. */
XP_INLINE int xp_take_vma(struct xp_state *s, u64 vma, u64 pc)
{
    struct xp_vma *m = &s->cur;
    if (xp_object(s, vma))
        return XP_CAUSE_TREE;
    m->start = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_start));
    m->end = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_end));
    s->found.vma = vma;
    s->found.lock = xp_vma_lock(s, vma);
    s->found.origin.pgoff = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_pgoff));
    m->bias = m->start - (s->found.origin.pgoff << 12);
    m->file.id = 0;
    m->file.state = XP_FILE_FP;
    m->file.flags = 0;
    if (xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_mm)) != s->who.mm || pc < m->start || pc >= m->end)
        return XP_CAUSE_TREE;
    u64 flags = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_flags));
    if (!(flags & XP_VM_EXEC))
        return XP_CAUSE_NO_MAPPING;
    u64 file = xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_file));
    s->found.origin.file = file;
    if (!file || xp_is_generated(flags, file)) {
        xp_no_file(s, m);
        return 0;
    }
    int cause = xp_file_of(s, file, XP_LANE, m);
    if (!cause && (m->file.flags & XP_FILE_NO_ELF) && xp_has_no_name(file)) {
        m->file.id = m->file.flags = 0;
        xp_region_of(s, m);
    }
    return cause;
}

/* Finds the mapping of pc and stores it in s->cur. Returns 0 or a cause. Verified separately. */
XP_NOINLINE int xp_find_mapping(u64 pc)
{
    struct xp_state *s = xp_state_get();
    int cause = XP_CAUSE_NO_MAPPING;
    if (!s)
        return XP_CAUSE_TREE;
    s->walks++;
    u64 vma = xp_walk(s, pc);
    if (vma)
        cause = xp_take_vma(s, vma, pc);
    if (cause)
        s->cur.start = s->cur.end = 0;
    return cause;
}

/* The same for the address behind that of the last call: mostly in the same leaf. */
XP_INLINE u64 xp_walk_on(struct xp_state *s, u64 at)
{
    if (!at || at > s->leaf_last)
        return xp_walk_maple(s, at);
    s->walked = s->leaf_last;
    u64 next = xp_maple_pick(XP_MAPLE_LEAF, at);
    return next < 4096 || (next & 3) ? 0 : next;
}

XP_INLINE bool xp_is_code(struct xp_state *s, u64 vma)
{
    return !xp_object(s, vma) && xp_field64(s, vma, XP_OFFSET_OF(vm_area_struct, vm_flags)) & XP_VM_EXEC;
}

/* Adds the mapping at `at` to s->maps if it is executable. Returns the start of the next one, 0 at the end. */
XP_NOINLINE u64 xp_list_mapping(u64 at)
{
    struct xp_state *s = xp_state_get();
    if (!s || !bpf_core_field_exists(struct mm_struct, mm_mt))
        return 0;
    u64 vma = xp_walk_on(s, at), last = s->walked;
    if (vma && xp_is_code(s, vma) && !xp_take_vma(s, vma, at) && s->nmaps < XP_DUMP_MAPS) {
        struct xp_mapping *m = &s->maps[s->nmaps++ & (XP_DUMP_MAPS - 1)];
        m->start = s->cur.start;
        m->end = s->cur.end;
        m->pgoff = s->cur.start - s->cur.bias;
        m->tgid = s->sample.tgid;
        m->file = s->cur.file.id;
    }
    return last + 1;
}
