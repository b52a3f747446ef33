/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `rss`: where resident memory of processes grows, and where it is returned, without uprobes: from the kernel's
 * own counters. A process has a sum of them, to which each CPU adds its part when it has a batch of pages (32, or twice
 * the number of CPUs: lib/percpu_counter.c). Once the sum has changed enough, its change is counted for the stack that
 * made it change last. So the changes add up to what the kernel says, and most page faults cost a look at one number.
 * Where even that is too much, the program rests. What changed meanwhile has no stack, but counts once it is back.
 * Labels are sorts of memory. Values of the kind: grown and returned, in bytes.
 */
#include "bpf/kind.bpf.h"
#include "bpf/atomic.bpf.h"
#include "bpf/cost.bpf.h"

#define XP_RSS_SPACES  16384
#define XP_RSS_STEP    128   /* pages: smaller changes wait for more; as much as `memory` samples by */
#define XP_RSS_NEW     1024  /* pages that an address space may have when it is seen first, and is believed to be new */
#define XP_PF_MEMALLOC 0x800 /* include/linux/sched.h: the task frees memory, of others perhaps, to get some */

enum { XP_RSS_FILE, XP_RSS_ANON, XP_RSS_SWAP, XP_RSS_SHARED, XP_RSS_MEMBERS }; /* include/linux/mm_types_task.h */

/* What was seen last of an address space, in pages. */
struct xp_rss {
    s64 seen[XP_RSS_MEMBERS];
    u64 turn[XP_RSS_MEMBERS]; /* when: xp_turns.number; 0: never */
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, XP_RSS_SPACES);
    __type(key, u64); /* number of the address space: never used again (arch/x86/include/asm/mmu.h) */
    __type(value, struct xp_rss);
} rss_spaces SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_turns);
} attached_turns SEC(".maps");

/* What is to be added to a pointer to memory of CPUs, to find that of this one: the kernel does so when it looks up an
 * element of this very map, of which it has such a pointer. */
struct xp_rss_cpu {
    u64 map, self, offset;
};
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_rss_cpu);
} rss_cpu SEC(".maps");

XP_INLINE u64 xp_rss_offset(void)
{
    u32 zero = 0;
    struct xp_rss_cpu *c = bpf_map_lookup_elem(&rss_cpu, &zero);
    if (c && !c->offset) { /* from where they are stored, pointers are read as numbers */
        volatile struct xp_rss_cpu *stored = c;
        u64 memory = 0;
        stored->map = (u64)&rss_cpu;
        stored->self = (u64)c;
        bpf_probe_read_kernel(&memory, 8, (void *)(stored->map + XP_OFFSET_OF(bpf_array, pptrs)));
        c->offset = stored->self - memory;
    }
    return c ? c->offset : 0;
}

/* Up to Linux 6.1, threads collect their pages, and there is one sum only. */
XP_INLINE int xp_rss_is_old(void)
{
    return bpf_core_type_exists(struct mm_rss_stat);
}

XP_INLINE u64 xp_rss_counter(u64 mm, u32 member)
{
    if (xp_rss_is_old())
        return mm + XP_OFFSET_OF(mm_struct___old_rss, rss_stat) + 8 * member;
    return mm + XP_OFFSET_OF(mm_struct, rss_stat) + bpf_core_type_size(struct percpu_counter) * member;
}

/* Typed loads, because this is all that happens at most page faults. The members have constant places then. */
XP_INLINE u64 xp_rss_parts(struct mm_struct *mm, u32 member)
{
    if (member == XP_RSS_ANON)
        return (u64)mm->rss_stat[XP_RSS_ANON].counters;
    if (member == XP_RSS_FILE)
        return (u64)mm->rss_stat[XP_RSS_FILE].counters;
    return (u64)mm->rss_stat[XP_RSS_SHARED].counters;
}

/* Linux 6.2: reads memory like a struct of the kernel's, without a call. */
extern void *bpf_rdonly_cast(const void *at, u32 type) __ksym __weak;

/* Whether this CPU may have added its part right now: it has none left. */
XP_INLINE int xp_rss_is_added(struct mm_struct *mm, u32 member)
{
    s32 part = 0;
    if (xp_rss_is_old())
        return 1;
    u64 at = xp_rss_parts(mm, member) + xp_rss_offset();
    if (!bpf_rdonly_cast)
        bpf_probe_read_kernel(&part, 4, (void *)at);
    else /* a struct that begins with 32 bits */
        part =
            (s32)((struct seqcount *)bpf_rdonly_cast((void *)at, bpf_core_type_id_kernel(struct seqcount)))->sequence;
    return !part;
}

/* In a system call that makes a process, or its new program, the memory of that is another one than the current one.
 * And all memory is new of processes that began while the program rested. */
XP_INLINE int xp_rss_is_new(u64 mm, s64 pages, const struct xp_turns *turns)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    u64 own = (u64)BPF_CORE_READ(t, mm);
    if (turns->number > 1 && BPF_CORE_READ(t, group_leader, start_time) > turns->began_ns)
        return 1;
    return own && own != mm && pages <= XP_RSS_NEW;
}

XP_INLINE struct xp_rss *xp_rss_find(u64 mm, int make)
{
    static const struct xp_rss none = {};
    u64 key = BPF_CORE_READ((struct mm_struct *)mm, context.ctx_id);
    struct xp_rss *r = bpf_map_lookup_elem(&rss_spaces, &key);
    if (r || !make)
        return r;
    bpf_map_update_elem(&rss_spaces, &key, &none, BPF_NOEXIST); /* or somebody else has done so meanwhile */
    return bpf_map_lookup_elem(&rss_spaces, &key);
}

XP_INLINE s64 xp_rss_pages(u64 mm, u32 member)
{
    s64 pages = 0;
    u64 counter = xp_rss_counter(mm, member);
    u32 at = xp_rss_is_old() ? 0 : XP_OFFSET_OF(percpu_counter, count);
    bpf_probe_read_kernel(&pages, 8, (void *)(counter + at));
    return pages;
}

/* Returns the pages by which a counter has changed since it was seen last. *rested: the program has rested since. */
XP_INLINE s64 xp_rss_change(struct xp_rss *r, u64 mm, u32 member, int wanted, int *rested)
{
    u32 zero = 0;
    struct xp_turns *turns = bpf_map_lookup_elem(&attached_turns, &zero);
    if (!turns)
        return 0;
    s64 pages = xp_rss_pages(mm, member);
    u64 number = turns->number, turn = r->turn[member & 3];
    if (turn != number && !wanted) /* what has changed while it rested is the process's, and waits for it */
        return 0;
    if (turn != number)
        turn = xp_atomic_swap(&r->turn[member & 3], number);
    if (!turn)
        r->seen[member & 3] = xp_rss_is_new(mm, pages, turns) ? 0 : pages;
    *rested = turn != number && number > 1;
    s64 change = pages - r->seen[member & 3];
    if (wanted && change < XP_RSS_STEP && change > -XP_RSS_STEP)
        return 0;
    return pages - (s64)xp_atomic_swap(&r->seen[member & 3], pages);
}

XP_INLINE u64 xp_rss_label(u32 member)
{
    return member == XP_RSS_ANON   ? XP_LABEL(XP_LABEL_NAME, XP_TEXT('a', 'n', 'o', 'n', 0, 0, 0))
           : member == XP_RSS_FILE ? XP_LABEL(XP_LABEL_NAME, XP_TEXT('f', 'i', 'l', 'e', 0, 0, 0))
                                   : XP_LABEL(XP_LABEL_NAME, XP_TEXT('s', 'h', 'a', 'r', 'e', 'd', 0));
}

/* What is taken from processes because memory is short is nobody's: it is seen, and not counted. */
XP_INLINE int xp_rss_is_ours(void)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    return xp_is_wanted() && !(BPF_CORE_READ(t, flags) & XP_PF_MEMALLOC);
}

XP_INLINE void xp_rss_count(struct xp_state *s, u32 member, s64 change)
{
    xp_no_amounts(s);
    u32 value = change < 0;
    s->amounts[value & 1].count = 1;
    s->amounts[value & 1].value = (u64)(change < 0 ? -change : change) << 12;
    xp_count_for(s->hash, xp_rss_label(member), s->sample.cgroup);
}

/* Counts what has changed of a member. */
XP_INLINE void xp_rss_see(u64 *ctx, struct xp_state *s, struct xp_rss *r, u64 mm, u32 member, int wanted)
{
    int rested = 0;
    s64 change = xp_rss_change(r, mm, member, wanted, &rested);
    if (!change || !wanted)
        return;
    if (!(rested ? xp_tell_nobody(xp_cgroup_id(), 0) : xp_stack_here(ctx, s)))
        xp_rss_count(s, member, change);
}

XP_INLINE void xp_rss_changes(u64 *ctx, struct xp_state *s)
{
    int wanted = xp_rss_is_ours();
    struct xp_rss *r = xp_rss_find(ctx[0], wanted);
    if (r)
        xp_rss_see(ctx, s, r, ctx[0], ctx[1] & 3, wanted);
}

/* Arguments: memory, member. */
XP_INLINE int xp_rss_counts(const u64 *ctx)
{
    u32 member = ctx[1];
    return member < XP_RSS_MEMBERS && member != XP_RSS_SWAP && xp_rss_is_added((struct mm_struct *)ctx[0], member);
}

XP_INLINE void xp_rss_stat(u64 *ctx)
{
    struct xp_state *s = xp_rss_counts(ctx) ? xp_begin_level() : 0;
    if (!s)
        return;
    xp_rss_changes(ctx, s);
    xp_end_level();
}

XP_COSTED_PROGRAM("tp_btf/rss_stat", xp_on_rss, xp_rss_stat)

/* ---- What stays while that one rests -------------------------------------------------------------------------------
 */

/* All memory of a new program is new. */
SEC("tp_btf/sched_process_exec")
int xp_keep_new_program(u64 *ctx)
{
    u32 zero = 0;
    struct xp_turns *turns = bpf_map_lookup_elem(&attached_turns, &zero);
    u64 mm = (u64)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), mm);
    struct xp_rss *r = turns && mm && xp_is_wanted() ? xp_rss_find(mm, 1) : 0;
    for (u32 i = 0; r && i < XP_RSS_MEMBERS; i++)
        r->turn[i] = turns->number;
    return 0;
}

/* The end of an address space returns what was seen of it. */
XP_INLINE void xp_rss_ends(u64 *ctx, struct xp_state *s)
{
    struct xp_rss *r = xp_rss_find(ctx[0], 0);
    if (!r)
        return;
    xp_rss_see(ctx, s, r, ctx[0], XP_RSS_FILE, 1);
    xp_rss_see(ctx, s, r, ctx[0], XP_RSS_ANON, 1);
    xp_rss_see(ctx, s, r, ctx[0], XP_RSS_SHARED, 1);
}

XP_KIND_PROGRAM("?tp_btf/exit_mmap", xp_keep_end, xp_rss_is_ours(), xp_rss_ends)

/* Tells a stack without frames, of a process. */
XP_INLINE int xp_rss_tell(struct xp_state *s, struct task_struct *t, u64 cgroup)
{
    if (xp_begin_here(cgroup))
        return 1;
    s->cause = XP_CAUSE_NOT_TAKEN;
    s->sample.tid = s->sample.tgid = BPF_CORE_READ(t, tgid);
    s->sample.start = BPF_CORE_READ(t, start_boottime);
    bpf_probe_read_kernel(s->sample.comm, sizeof(s->sample.comm), (void *)t + XP_OFFSET_OF(task_struct, comm));
    __builtin_memcpy(s->sample.thread, s->sample.comm, sizeof(s->sample.thread));
    return xp_tell_here(cgroup, 3);
}

/* Returns the pages by which a counter has changed, if it was seen before. Out of line: in a loop, clang would look for
 * a member of the kernel's structs before it asks whether they have it. */
XP_NOINLINE s64 xp_rss_lag(u64 mm, u32 member)
{
    int rested;
    u64 at = member;
    asm volatile("" : "+r"(at)); /* clang would leave out the mask, which the verifier needs */
    at &= 3;
    struct xp_rss *r = at != XP_RSS_SWAP ? xp_rss_find(mm, 0) : 0;
    return r && r->turn[at] ? xp_rss_change(r, mm, at, 1, &rested) : 0;
}

/* Counts what has changed of the process of a main thread, as far as it was seen before. */
XP_NOINLINE int xp_rss_catch_up(u64 task)
{
    struct task_struct *t = (struct task_struct *)task;
    u64 mm = (u64)BPF_CORE_READ(t, mm), cgroup = BPF_CORE_READ(xp_cgroup_of(t), kn, id);
    struct xp_state *s = mm && xp_rss_find(mm, 0) ? xp_begin_level() : 0;
    if (!s)
        return 0;
    for (u32 member = 0; member < XP_RSS_MEMBERS; member++) {
        s64 change = xp_rss_lag(mm, member);
        if (change && !xp_rss_tell(s, t, cgroup))
            xp_rss_count(s, member, change);
    }
    xp_end_level();
    return 0;
}

/* Reading this iterator counts what has changed while the program rested that sees it, of processes that are wanted. */
SEC("iter/task")
int xp_catch_up(struct bpf_iter__task *ctx)
{
    struct task_struct *t = (struct task_struct *)xp_argument((u64 *)ctx, 1); /* as a number, which may be passed on */
    return xp_is_wanted_process(t) ? xp_rss_catch_up((u64)t) & 0 : 0;
}
