/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `badfree`: frees of what is no block. All blocks are followed from their allocation on, and for some time after
 * they were freed. User space attaches the programs as it does those of `memory`, but there are no samples and no
 * rests: what is not known for certain is not said. Known is what was allocated while all functions of the process's
 * allocators were followed, since the last change of that (xp_heap_process.round).
 *
 * An address that an allocator returns, in whatever call, is no freed one any more. What happens within other calls of
 * allocators is never judged, and what is freed there is no longer known.
 */
#define XP_SLOTTED
#include "bpf/kind.bpf.h"
#include "bpf/lock.bpf.h"
#include "bpf/blocks.bpf.h"

/* ---- Stacks --------------------------------------------------------------------------------------------------------
 */

/* Returns the key of the stack of the running task, which is kept; 0: there is no room. */
XP_NOINLINE u64 xp_bad_stack(void)
{
    struct xp_state *s = xp_begin_level();
    u64 key = 0;
    if (!s)
        return 0;
    if (!xp_begin_here(xp_cgroup_id())) {
        xp_user_stack_here();
        s->sample.flags |= XP_SAMPLE_KEPT;
        key = xp_tell_here(s->sample.cgroup, 0) ? 0 : s->hash;
    }
    if (!key)
        xp_lose(XP_LOSS_SUM);
    xp_end_level();
    return key;
}

XP_INLINE void xp_bad_words(struct xp_state *s, u32 what, u64 allocated, u64 freed)
{
    s->words[0] = XP_LABEL(what, 0);
    s->words[1] = XP_LABEL(XP_LABEL_KEY, allocated & 0xffffffff);
    s->words[2] = XP_LABEL(XP_LABEL_KEY, allocated >> 32);
    s->words[3] = XP_LABEL(XP_LABEL_KEY, freed & 0xffffffff);
    s->words[4] = XP_LABEL(XP_LABEL_KEY, freed >> 32);
    s->sample.nkernel = XP_BAD_WORDS;
}

/* Counts a wrong free, with the keys of the stacks before. */
XP_NOINLINE int xp_bad_report(u32 what, u64 allocated, u64 freed)
{
    struct xp_state *s = xp_begin_level();
    if (!s)
        return 1;
    if (!xp_begin_here(xp_cgroup_id())) {
        xp_bad_words(s, what, allocated, freed);
        xp_user_stack_here();
        xp_no_amounts(s);
        s->amounts[0].count = s->amounts[0].value = 1;
        if (xp_tell_here(s->sample.cgroup, 0))
            xp_lose(XP_LOSS_SUM);
        else
            xp_count_for(s->hash, 0, s->sample.cgroup);
    }
    xp_end_level();
    return 0;
}

/* ---- What is freed -------------------------------------------------------------------------------------------------
 */
#define XP_VM_WRITE 0x2u /* include/linux/mm.h */

/* The stack of another thread than the first one ends with what its thread-local storage begins with (glibc, musl). */
XP_INLINE int xp_bad_on_thread_stack(const struct xp_state *s, u64 at, u64 sp)
{
    u64 end = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread.fsbase);
    return at >= sp && at < end && sp >= s->area.start && end < s->area.end;
}

/* Returns the label of an address where no block can be; 0: there may be one. Variables of the file that frees them may
 * be what it takes its first blocks from. */
XP_NOINLINE int xp_bad_place(u64 at, u64 sp, u64 ip)
{
    struct xp_state *s = xp_begin_level();
    int label = 0;
    if (!s)
        return 0;
    if (!xp_begin_here(0) && !xp_area_at(at)) {
        u64 file = s->area.file, flags = s->area.flags, first = s->who.stack;
        if (file && !(flags & XP_VM_WRITE))
            label = XP_LABEL_IN_CODE;
        else if (file)
            label = flags & XP_VM_SHARED || xp_area_at(ip) || s->area.file == file ? 0 : XP_LABEL_IN_DATA;
        else if ((first >= s->area.start && first < s->area.end) || xp_bad_on_thread_stack(s, at, sp))
            label = XP_LABEL_ON_STACK;
    }
    xp_end_level();
    return label;
}

/* Whether it may be the allocator itself that frees: when a thread of glibc ends, it passes the blocks that were freed,
 * and that it kept for itself, to free (malloc/malloc.c: tcache_thread_shutdown). Then the caller is in the same file,
 * as in a static program everything is, but it is never the first thread. */
XP_NOINLINE int xp_bad_is_own(u64 sp, u64 ip)
{
    struct xp_state *s = xp_begin_level();
    u64 to = 0;
    int own = 1;
    if (!s)
        return 1;
    if (!xp_begin_here(0) && !xp_read_user(&to, 8, sp) && !xp_area_at(ip)) {
        u64 first = s->who.stack;
        own = to >= s->area.start && to < s->area.end;
        if (own && !xp_area_at(sp))
            own = first < s->area.start || first >= s->area.end;
    }
    xp_end_level();
    return own;
}

/* Returns the label of what is neither a block that is known nor one that was; 0: it may be one. Functions that take
 * stacks are not called from here: the kernel allows eight levels of calls. */
XP_NOINLINE int xp_bad_judge(struct xp_bad_frame *f)
{
    if (!f)
        return 0;
    f->freed.stack = f->freed.freed = 0;
    for (u32 class = XP_BAD_LEAST; class <= XP_BAD_CLASSES; class ++)
        if (xp_bad_is_inside(f, class, f->freed.round)) {
            f->freed.stack = f->block.stack;
            return XP_LABEL_INSIDE;
        }
    return xp_bad_place(f->key.address, f->now_sp, f->ip);
}

/* Something frees f->key, in round f->freed.round. Returns the label of what is wrong with that, 0: nothing that is
 * known. What is known of the block is in f->freed then; f->known: it is one. */
XP_NOINLINE int xp_bad_find(struct xp_bad_frame *f)
{
    if (!f)
        return 0;
    struct xp_bad_block *b = bpf_map_lookup_elem(&bad_blocks, &f->key);
    f->known = b && b->round == f->freed.round;
    if (b) {
        f->freed.stack = b->stack;
        if (!f->known)
            xp_bad_unlearn(f);
        return 0;
    }
    struct xp_bad_freed *was = bpf_map_lookup_elem(&bad_freed, &f->key);
    if (!was)
        return xp_bad_judge(f);
    f->freed.stack = was->stack;
    f->freed.freed = was->freed;
    if (was->round != f->freed.round || xp_bad_is_own(f->now_sp, f->ip))
        return 0;
    return XP_LABEL_FREED_TWICE;
}

/* The block is remembered as freed from here on: its address may be another thread's when the call ends. It is in
 * f->old and f->old_block then. Returns a label if somebody else has freed it meanwhile. */
XP_NOINLINE int xp_bad_free(struct xp_bad_frame *f)
{
    if (!f)
        return 0;
    f->freed.pad = 0;
    bpf_map_update_elem(&bad_freed, &f->key, &f->freed, BPF_ANY);
    if (xp_bad_unlearn(f))
        return XP_LABEL_FREED_TWICE;
    f->old = f->key;
    f->old_block = f->block;
    return 0;
}

XP_INLINE void xp_bad_frees(struct xp_bad_frame *f)
{
    int wrong = xp_bad_find(f);
    if (f->known) {
        f->freed.freed = xp_bad_stack();
        wrong = xp_bad_free(f);
    }
    if (wrong)
        xp_bad_report(wrong, f->freed.stack, f->freed.freed);
}

/* Whether a free is part of another one: of a function that calls it, whose return address is still in its place. */
XP_INLINE int xp_bad_is_part(const struct xp_bad_frame *f)
{
    u64 to = 0;
    return f->free_sp && f->now_sp <= f->free_sp && f->ip != f->free_ip && !xp_read_user(&to, 8, f->free_sp) &&
           to == f->free_to;
}

XP_INLINE void xp_bad_remember_free(struct xp_bad_frame *f)
{
    f->free_ip = f->ip;
    f->free_sp = f->now_sp;
    if (xp_read_user(&f->free_to, 8, f->now_sp))
        f->free_sp = 0;
}

/* ---- Memory that processes share -----------------------------------------------------------------------------------
 * A child of vfork works in the memory of its parent, and nobody sees what it allocates and frees there. What was known
 * before is not worth anything then.
 */
enum { XP_CLONE_VM = 0x100, XP_CLONE_VFORK = 0x4000, XP_CLONE_THREAD = 0x10000 }; /* include/uapi/linux/sched.h */

/* Address spaces with such a child now or before -> a part of their round. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, XP_HEAP_PROCESSES);
    __type(key, u64);
    __type(value, u64);
} bad_shared SEC(".maps");
#define XP_BAD_FOR_GOOD (1ull << 32) /* the child goes on, beside its parent */

struct xp_bad_clone {
    u64 flags, pidfd, child, parent, signal, stack; /* struct clone_args */
};

XP_INLINE int xp_bad_clone_of(u64 regs, struct xp_bad_clone *c)
{
    u64 number = xp_saved_word(regs, XP_PT_ORIG_RAX);
    c->flags = XP_CLONE_VM | XP_CLONE_VFORK;
    c->stack = 0;
    if (number == XP_SYS_CLONE) {
        c->flags = xp_saved_word(regs, XP_PT_RDI);
        c->stack = xp_saved_word(regs, XP_PT_RSI);
    } else if (number == XP_SYS_CLONE3) {
        return xp_read_user(c, sizeof(*c), xp_saved_word(regs, XP_PT_RDI));
    }
    return number != XP_SYS_CLONE && number != XP_SYS_VFORK;
}

/* Both parent and child return from the call. A child with a stack of its own that its parent waits for is one of
 * posix_spawn, which allocates nothing. */
SEC("tp_btf/sys_exit")
int xp_on_shared(u64 *ctx)
{
    struct xp_bad_clone c;
    if ((s64)ctx[1] < 0 || xp_bad_clone_of(ctx[0], &c) || !(c.flags & XP_CLONE_VM) || c.flags & XP_CLONE_THREAD)
        return 0;
    bool waits = c.flags & XP_CLONE_VFORK;
    if ((waits && c.stack) || !xp_is_wanted())
        return 0;
    u64 space = xp_space(), part = waits ? bpf_get_prandom_u32() : XP_BAD_FOR_GOOD;
    u64 *known = bpf_map_lookup_elem(&bad_shared, &space);
    if (!known || *known != XP_BAD_FOR_GOOD)
        bpf_map_update_elem(&bad_shared, &space, &part, BPF_ANY);
    return 0;
}

/* ---- Programs ------------------------------------------------------------------------------------------------------
 */
/* Returns what the thread is in, with its round in f->freed.round; NULL: nothing can be known. */
XP_INLINE struct xp_bad_frame *xp_bad_frame(struct xp_heap_process *of, u64 space)
{
    u64 flags = BPF_LOCAL_STORAGE_GET_F_CREATE;
    struct xp_bad_frame *f =
        of && xp_heap_settings() ? bpf_task_storage_get(&bad_frames, bpf_get_current_task_btf(), 0, flags) : 0;
    if (!f)
        return 0;
    f->key.space = space;
    u64 *shared = bpf_map_lookup_elem(&bad_shared, &f->key.space);
    if (of->resting || (shared && *shared == XP_BAD_FOR_GOOD)) {
        f->depth = f->free_sp = 0;
        return 0;
    }
    f->freed.round = of->round + (shared ? (u32)*shared : 0);
    return f;
}

XP_INLINE void xp_bad_begins(struct xp_bad_frame *f, u64 call)
{
    u64 times = XP_HEAP_TIMES(call) ? f->arg[XP_HEAP_TIMES(call) & 7] : 1;
    f->size = f->arg[XP_HEAP_SIZE(call) & 7] * times; /* if that overflows, the call fails */
    f->out = f->arg[XP_HEAP_OUT(call) & 7];
    f->depth = 1;
    f->sp = f->now_sp;
    f->stack = f->old.address ? f->freed.freed : xp_bad_stack(); /* the same: that of realloc */
}

SEC("kprobe")
int xp_on_heap_call(void *ctx)
{
    const volatile u64 *pt = ctx;
    u64 call = bpf_get_attach_cookie(ctx), space = xp_space();
    struct xp_heap_process *of = xp_heap_hit(call, 0, space);
    struct xp_bad_frame *f = xp_bad_frame(of, space);
    if (!f || !xp_is_wanted())
        return 0;
    f->now_sp = pt[XP_PT_RSP];
    f->ip = pt[XP_PT_RIP];
    bool within = f->depth && f->space == space && f->round == f->freed.round && f->now_sp <= f->sp;
    bool allocates = XP_HEAP_SIZE(call) != 0, part = within || xp_bad_is_part(f);
    xp_heap_args(pt, f->arg);
    f->key.address = f->arg[XP_HEAP_OLD(call) & 7];
    if (part && f->key.address)
        xp_bad_unlearn(f);
    if (within) {
        f->depth += allocates;
        return 0;
    }
    f->old.address = f->depth = 0;
    f->space = space;
    f->round = f->freed.round;
    if (!part && f->key.address)
        xp_bad_frees(f);
    if (allocates)
        xp_bad_begins(f, call);
    else if (!part)
        xp_bad_remember_free(f);
    return 0;
}

/* A block whose reallocation failed is one as before. */
XP_NOINLINE int xp_bad_restore(struct xp_bad_frame *f)
{
    if (!f)
        return 1;
    f->key = f->old;
    f->block = f->old_block;
    bpf_map_delete_elem(&bad_freed, &f->key);
    return xp_bad_learn(f);
}

/* The address that a call returns; 0: none. */
XP_INLINE u64 xp_bad_result(const struct xp_bad_frame *f, u64 call, u64 result, bool ends)
{
    u64 block = 0;
    if (!XP_HEAP_OUT(call))
        return result;
    if (!ends || result || xp_read_user(&block, 8, f->out)) /* the result is an error */
        return 0;
    return block;
}

SEC("kprobe")
int xp_on_heap_return(void *ctx)
{
    const volatile u64 *pt = ctx;
    u64 call = bpf_get_attach_cookie(ctx), space = xp_space();
    struct xp_heap_process *of = xp_heap_hit(call, 1, space);
    struct xp_bad_frame *f = xp_bad_frame(of, space);
    if (!f)
        return 0;
    bool known = f->depth && f->space == space && f->round == f->freed.round, ends = known && f->depth == 1;
    f->depth -= known;
    f->key.address = xp_bad_result(f, call, pt[XP_PT_RAX], ends);
    f->block.stack = ends ? f->stack : 0;
    f->block.size = ends ? f->size : 0;
    f->block.cgroup = xp_cgroup_id();
    f->block.round = f->freed.round;
    f->block.pad = 0;
    if (f->key.address) {
        bpf_map_delete_elem(&bad_freed, &f->key);
        xp_bad_learn(f);
    } else if (ends && f->old.address && f->size) {
        xp_bad_restore(f);
    }
    return 0;
}
