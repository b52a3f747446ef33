/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `kmem`: memory of the kernel itself, by the stack of who had it allocated: objects of slab caches, and pages
 * that are no slabs. Blocks are sampled by their size, and those that are followed until they are freed, by whomever.
 * What interrupts allocate is nobody's. A stack begins with the name of its slab cache (XP_LABEL_MORE: longer than a
 * word). Sums have two values: allocated, and freed, which is charged to the stack that had allocated.
 *
 * Programs run within the kernel's allocators: none of their maps allocates anything. They are raw, because kernels
 * before 6.3 do not let typed ones read arguments of type const void *.
 */
#include "bpf/kind.bpf.h"
#include "bpf/shares.bpf.h"
#include "bpf/odds.bpf.h"
#include "bpf/kmem.h"
#include "bpf/slab_name.bpf.h"

#define XP_KMEM_FRAMES  12    /* of the kernel's stack that are looked at, from the leaf on */
#define XP_KMEM_BULK    512   /* objects that are freed at once after a grace period: a page of pointers */
#define XP_GFP_MOVABLE  0x08u /* include/linux/gfp_types.h */
#define XP_KERNEL_STACK 16384 /* of a task: arch/x86/include/asm/page_64_types.h */

enum { XP_KMEM_ALLOCATED, XP_KMEM_FREED };

struct xp_kmem_block {
    u64 stack; /* key of the stack that allocated it */
    u64 cgroup;
    struct xp_amount held; /* what it counts */
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_KMEM_BLOCKS);
    __type(key, u64); /* address of the object, or of the struct page */
    __type(value, struct xp_kmem_block);
} kmem_blocks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_kmem_settings);
} kmem_settings SEC(".maps");

/* The last large kmalloc of each CPU, until it is freed: some kernels (6.10 on) tell of it twice. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u64);
} kmem_large SEC(".maps");

XP_INLINE struct xp_kmem_settings *xp_kmem_settings(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&kmem_settings, &zero);
}

/* ---- What is freed -------------------------------------------------------------------------------------------------
 */

/* Out of line, for its part of the stack. */
XP_NOINLINE int xp_kmem_free(u64 address)
{
    struct xp_kmem_block *b = bpf_map_lookup_elem(&kmem_blocks, &address), gone;
    struct xp_state *s = b ? xp_begin_level() : 0;
    if (!s)
        return 1;
    gone = *b;
    if (!bpf_map_delete_elem(&kmem_blocks, &address)) {
        xp_no_amounts(s);
        s->amounts[XP_KMEM_FREED] = gone.held;
        xp_count_for(gone.stack, 0, gone.cgroup);
        xp_share_give(gone.cgroup);
    }
    xp_end_level();
    return 0;
}

XP_INLINE int xp_kmem_frees(u64 address)
{
    if (bpf_map_lookup_elem(&kmem_blocks, &address))
        xp_kmem_free(address);
    return 0;
}

SEC("raw_tp/kfree")
int xp_on_kfree(u64 *ctx)
{
    u32 zero = 0;
    u64 *large = ctx[1] & 4095 ? 0 : bpf_map_lookup_elem(&kmem_large, &zero);
    if (large && *large == ctx[1])
        *large = 0;
    return xp_kmem_frees(ctx[1]);
}

SEC("raw_tp/kmem_cache_free")
int xp_on_cache_free(u64 *ctx)
{
    return xp_kmem_frees(ctx[1]);
}

/* Pages that were allocated together and are freed one by one are gone with the first. */
SEC("raw_tp/mm_page_free")
int xp_on_page_free(u64 *ctx)
{
    return xp_kmem_frees(ctx[0]);
}

/* kfree_rcu, where the kernel tells it. */
SEC("?raw_tp/rcu_invoke_kfree_bulk_callback")
int xp_on_bulk_free(u64 *ctx)
{
    u64 n = ctx[1], at = ctx[2];
    for (u32 i = 0; i < XP_KMEM_BULK && i < n; i++) {
        u64 address = 0;
        bpf_probe_read_kernel(&address, sizeof(address), (void *)(at + 8ull * i));
        xp_kmem_frees(address);
    }
    return 0;
}

/* ---- What is allocated ---------------------------------------------------------------------------------------------
 */

/* Interrupts have a stack of their own, unless they interrupt user mode: then the task's stack begins with their entry.
 * The context of a program is on the stack of what called it. */
XP_INLINE int xp_kmem_is_task(u64 *ctx)
{
    u64 *stored = ctx;
    u64 at = 0, stack = (u64)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), stack);
    bpf_probe_read_kernel(&at, sizeof(at), &stored); /* the verifier compares no pointers */
    return at - stack < XP_KERNEL_STACK;
}

XP_INLINE int xp_kmem_is_in(const struct xp_kmem_code *code, u64 at)
{
    return at >= code->from && at < code->to;
}

/* Whether the outermost of n kernel frames in the scratch state is the entry of an interrupt. Out of line, so that it
 * is verified once. */
XP_NOINLINE int xp_kmem_interrupts(u32 n)
{
    struct xp_kmem_settings *k = xp_kmem_settings();
    struct xp_state *s = xp_state_get();
    u64 last = (u64)n + XP_NAME_WORDS - 1;
    asm volatile("" : "+r"(last)); /* the index must be the very register whose range is checked */
    if (!k || !s || last >= XP_MAX_KERNEL)
        return 0;
    u64 at = s->words[last];
    for (u32 i = 0; i < XP_KMEM_INTERRUPTS; i++)
        if (xp_kmem_is_in(&k->interrupts[i], at))
            return 1;
    return 0;
}

extern struct kmem_cache *bpf_get_kmem_cache(u64 address) __ksym __weak;

/* Whether the stack in the scratch state, of which a part is looked at, runs through the slab allocator. Out of line,
 * so that it is verified once. */
XP_NOINLINE int xp_kmem_is_slab(void)
{
    struct xp_kmem_settings *k = xp_kmem_settings();
    struct xp_state *s = xp_state_get();
    if (!k || !s)
        return 1;
    for (u32 i = 0; i < XP_KMEM_FRAMES; i++) {
        u64 at = s->words[XP_NAME_WORDS + i];
        for (u32 j = 0; j < XP_KMEM_SLABS; j++)
            if (xp_kmem_is_in(&k->slabs[j], at))
                return 1;
    }
    return 0;
}

/* Follows a block of the running task, which counts as the amount in the scratch state. Returns 0; 1: that is lost.
 * Out of line, for its part of the stack. */
XP_NOINLINE int xp_kmem_follow(u64 address, u64 cgroup)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    struct xp_kmem_block b = {.stack = s->hash, .cgroup = cgroup, .held = s->amounts[XP_KMEM_ALLOCATED]};
    if (bpf_map_update_elem(&kmem_blocks, &address, &b, BPF_ANY)) {
        xp_lose(XP_LOSS_BLOCK);
        return 1;
    }
    if (!xp_count_for(b.stack, 0, cgroup))
        return 0;
    bpf_map_delete_elem(&kmem_blocks, &address);
    return 1;
}

/* Takes the stack, and follows the block. Returns 0; 1: it does not count, or is lost. */
XP_INLINE int xp_kmem_count(u64 *ctx, struct xp_state *s, u64 address, u64 size, u64 name, u64 gfp, u32 what)
{
    u64 cgroup = xp_cgroup_id();
    if (xp_begin_here(cgroup) || xp_kmem_name(name, size, gfp, what))
        return 1;
    __builtin_memset(s->words + XP_NAME_WORDS, 0, 8 * XP_KMEM_FRAMES);
    long n = bpf_get_stack(ctx, s->words + XP_NAME_WORDS, 8 * (XP_MAX_KERNEL - XP_NAME_WORDS), XP_OWN_FRAMES);
    u32 frames = n > 0 ? (u32)n / 8 : 0;
    if (xp_kmem_interrupts(frames) || (what == XP_KMEM_PAGES && xp_kmem_is_slab()))
        return 1;
    s->sample.nkernel = XP_NAME_WORDS + (xp_config.kernel ? frames : 0);
    xp_user_stack_here();
    if (xp_tell_here(cgroup, 0) && xp_tell_nobody(cgroup, 0)) {
        xp_lose(XP_LOSS_SUM);
        return 1;
    }
    if (xp_share_take(cgroup, XP_KMEM_BLOCKS)) {
        xp_lose(XP_LOSS_BLOCK);
        return 1;
    }
    if (!xp_kmem_follow(address, cgroup))
        return 0;
    xp_share_give(cgroup);
    return 1;
}

/* A block that is still followed at this address was freed, unseen. */
XP_INLINE int xp_kmem_new(u64 *ctx, u64 address, u64 size, u64 name, u64 gfp, u32 what)
{
    struct xp_kmem_settings *k = xp_kmem_settings();
    struct xp_amount held;
    xp_kmem_frees(address);
    if (!k || !address || !xp_heap_sample(k->odds, size, &held) || !xp_kmem_is_task(ctx) || !xp_is_wanted())
        return 0;
    if (what == XP_KMEM_KMALLOC && &bpf_get_kmem_cache) {
        struct kmem_cache *cache = bpf_get_kmem_cache(address);
        name = cache ? (u64)BPF_CORE_READ(cache, name) : 0;
    }
    struct xp_state *s = xp_begin_level();
    if (!s)
        return 0;
    xp_no_amounts(s);
    s->amounts[XP_KMEM_ALLOCATED] = held;
    xp_kmem_count(ctx, s, address, size, name, gfp, what);
    xp_end_level();
    return 0;
}

/* Arguments of the tracepoints: caller, object; then, in Linux 6.0, the cache; up to there, sizes as asked for and as
 * allocated, and flags. From 6.1 on, objects of caches have the cache and flags. */
#define XP_KMEM_IS_OLD bpf_core_type_exists(struct trace_event_raw_kmem_alloc)
#define XP_KMEM_IS_6_0 (XP_KMEM_IS_OLD && bpf_core_field_exists(struct trace_event_raw_kmem_alloc, accounted))

XP_INLINE int xp_kmem_is_told_twice(u64 address)
{
    u32 zero = 0;
    u64 *large = bpf_map_lookup_elem(&kmem_large, &zero), last = large ? *large : 0;
    if (large)
        *large = address;
    return last == address;
}

XP_INLINE int xp_kmem_kmalloc(u64 *ctx)
{
    int has_cache = XP_KMEM_IS_6_0;
    u64 size = has_cache ? XP_ARG(ctx, 4) : XP_ARG(ctx, 3), gfp = has_cache ? XP_ARG(ctx, 5) : XP_ARG(ctx, 4);
    u64 address = XP_ARG(ctx, 1);
    if (size > XP_KMALLOC_MOST && xp_kmem_is_told_twice(address))
        return 0;
    return xp_kmem_new(ctx, address, size, 0, gfp, XP_KMEM_KMALLOC);
}

XP_INLINE int xp_kmem_object(u64 *ctx)
{
    if (XP_KMEM_IS_OLD && !XP_KMEM_IS_6_0)
        return xp_kmem_new(ctx, XP_ARG(ctx, 1), XP_ARG(ctx, 3), 0, 0, XP_KMEM_OBJECT);
    struct kmem_cache *cache = (void *)XP_ARG(ctx, 2);
    u64 size = XP_KMEM_IS_OLD ? XP_ARG(ctx, 4) : BPF_CORE_READ(cache, size);
    return xp_kmem_new(ctx, XP_ARG(ctx, 1), size, (u64)BPF_CORE_READ(cache, name), 0, XP_KMEM_OBJECT);
}

SEC("raw_tp/kmalloc")
int xp_on_kmalloc(u64 *ctx)
{
    return xp_kmem_kmalloc(ctx);
}

SEC("?raw_tp/kmalloc_node") /* up to Linux 6.0 */
int xp_on_kmalloc_node(u64 *ctx)
{
    return xp_kmem_kmalloc(ctx);
}

SEC("raw_tp/kmem_cache_alloc")
int xp_on_object(u64 *ctx)
{
    return xp_kmem_object(ctx);
}

SEC("?raw_tp/kmem_cache_alloc_node") /* up to Linux 6.0 */
int xp_on_object_node(u64 *ctx)
{
    return xp_kmem_object(ctx);
}

/* Page, order, flags. What can be moved is memory of processes, and of the page cache. */
SEC("raw_tp/mm_page_alloc")
int xp_on_pages(u64 *ctx)
{
    struct xp_kmem_settings *k = xp_kmem_settings();
    if (!k || !k->pages || ctx[2] & XP_GFP_MOVABLE)
        return 0;
    return xp_kmem_new(ctx, ctx[0], 4096ull << (ctx[1] & 15), 0, ctx[2], XP_KMEM_PAGES);
}
