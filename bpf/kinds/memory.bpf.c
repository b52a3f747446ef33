/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `memory`: blocks that were allocated, and what is left of them. User space attaches xp_on_heap_call and
 * xp_on_heap_return to the allocators of wanted processes (agent/pipeline/heaps.c), and says by a cookie what their
 * arguments are (bpf/heap.h). Sums have two values: allocated, and freed, which is charged to the stack that had
 * allocated.
 */
#define XP_SLOTTED
#include "bpf/kind.bpf.h"
#include "bpf/allocators.bpf.h"
#include "bpf/odds.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_HEAP_BLOCKS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct xp_heap_key);
    __type(value, struct xp_heap_block);
} heap_blocks SEC(".maps");

/* What xp_look_at_blocks is to do, and what it has found: keys of stacks -> what is held of their old blocks. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_heap_look);
} heap_look SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_HEAP_OLD_STACKS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, u64);
    __type(value, struct xp_amount);
} heap_old SEC(".maps");

/* The call that a thread is in. Calls within it do not count. */
struct xp_heap_frame {
    u64 space, sp; /* at its beginning */
    u64 arg[8];    /* arguments, from 1 on; 0 is none */
    u64 size, out;
    struct xp_heap_key old; /* the block that it frees; address 0: none that is known */
    struct xp_heap_block old_block;
    struct xp_heap_block block; /* what a new one counts; stack 0: nothing */
    u32 depth, round;
};
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct xp_heap_frame);
} heap_frames SEC(".maps");

/* ---- Helpers -------------------------------------------------------------------------------------------------------
 */
/* Adds what a block counts to value `which` of its stack's sum. Out of line, for its part of the stack. */
XP_NOINLINE int xp_heap_count(struct xp_heap_block *b, u32 which)
{
    struct xp_state *s = b ? xp_begin_level() : 0;
    if (!s)
        return 1;
    xp_no_amounts(s);
    s->amounts[which & 1] = b->held;
    int rc = xp_count_for(b->stack, 0, b->cgroup);
    xp_end_level();
    return rc;
}

/* ---- Which blocks count --------------------------------------------------------------------------------------------
 */

/* Takes the stack of an allocation that counts. Out of line, for its part of the stack. */
XP_NOINLINE int xp_heap_stack(struct xp_heap_frame *f)
{
    struct xp_state *s = f ? xp_begin_level() : 0;
    if (!s)
        return 1;
    if (!xp_stack_here(0, s)) {
        f->block.stack = s->hash;
        f->block.cgroup = s->sample.cgroup;
    }
    xp_end_level();
    return 0;
}

/* ---- Programs ------------------------------------------------------------------------------------------------------
 */

/* Takes a block out of those that are followed. Returns 0; 1: it is not followed, or somebody else has freed it. */
XP_INLINE int xp_heap_forget(const struct xp_heap_key *key, struct xp_heap_block *to)
{
    struct xp_heap_block *b = bpf_map_lookup_elem(&heap_blocks, key);
    if (!b)
        return 1;
    *to = *b;
    if (bpf_map_delete_elem(&heap_blocks, key))
        return 1;
    xp_share_give(to->cgroup);
    return 0;
}

/* Follows a block. Returns 0; 1: there is no room, which is counted. */
XP_INLINE int xp_heap_keep(const struct xp_heap_key *key, const struct xp_heap_block *b)
{
    int full = xp_share_take(b->cgroup, XP_HEAP_BLOCKS);
    if (!full && bpf_map_update_elem(&heap_blocks, key, b, BPF_ANY)) {
        xp_share_give(b->cgroup);
        full = 1;
    }
    if (full)
        xp_lose(XP_LOSS_BLOCK);
    return full;
}

/* The block that a call frees is no longer followed from here on: its address may be another thread's when the call
 * ends. */
XP_INLINE void xp_heap_frees(struct xp_heap_frame *f, u64 address, u64 space)
{
    struct xp_heap_key key = {.address = address, .space = space};
    f->old.address = 0;
    if (!address || xp_heap_forget(&key, &f->old_block))
        return;
    f->old = key;
}

XP_INLINE void xp_heap_begins(struct xp_heap_frame *f, const struct xp_heap_settings *h, u64 call,
                              struct xp_heap_process *of)
{
    u64 times = XP_HEAP_TIMES(call) ? f->arg[XP_HEAP_TIMES(call) & 7] : 1;
    f->size = f->arg[XP_HEAP_SIZE(call) & 7] * times; /* if that overflows, the call fails */
    f->out = f->arg[XP_HEAP_OUT(call) & 7];
    f->block.stack = 0;
    if (of->resting || !xp_heap_sample(h->odds, f->size, &f->block.held) || !xp_is_wanted())
        return;
    __sync_fetch_and_add(&of->stacks, 1);
    xp_heap_stack(f);
}

SEC("kprobe")
int xp_on_heap_call(void *ctx)
{
    const volatile u64 *pt = ctx;
    u64 call = bpf_get_attach_cookie(ctx), sp = pt[XP_PT_RSP], space = xp_space();
    struct xp_heap_process *of = xp_heap_hit(call, 0, space);
    struct xp_heap_settings *h = of ? xp_heap_settings() : 0;
    struct xp_heap_frame *f =
        h ? bpf_task_storage_get(&heap_frames, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE) : 0;
    if (!f)
        return 0;
    /* Or a longjmp has left that call, or its end was not seen. */
    bool within = f->depth && f->space == space && f->round == of->round && sp <= f->sp;
    if (within) {
        f->depth += XP_HEAP_SIZE(call) != 0;
        return 0;
    }
    f->depth = 0;
    xp_heap_args(pt, f->arg);
    xp_heap_frees(f, f->arg[XP_HEAP_OLD(call) & 7], space);
    if (!XP_HEAP_SIZE(call)) {
        if (f->old.address)
            xp_heap_count(&f->old_block, 1);
        return 0;
    }
    f->depth = 1;
    f->space = space;
    f->sp = sp;
    f->round = of->round;
    xp_heap_begins(f, h, call, of);
    return 0;
}

/* A block whose address another one has now was freed, unseen. */
XP_INLINE void xp_heap_follow(struct xp_heap_frame *f, u64 address)
{
    struct xp_heap_key key = {.address = address, .space = f->space};
    if (!xp_heap_forget(&key, &f->old_block))
        xp_heap_count(&f->old_block, 1);
    f->block.born = bpf_ktime_get_ns();
    if (!xp_heap_keep(&key, &f->block))
        xp_heap_count(&f->block, 0);
}

SEC("kprobe")
int xp_on_heap_return(void *ctx)
{
    const volatile u64 *pt = ctx;
    struct xp_heap_frame *f = bpf_task_storage_get(&heap_frames, bpf_get_current_task_btf(), 0, 0);
    u64 block = pt[XP_PT_RAX], space = xp_space();
    xp_heap_hit(bpf_get_attach_cookie(ctx), 1, space);
    if (!f || !f->depth || --f->depth || !xp_heap_settings() || f->space != space)
        return 0;
    if (f->out) { /* the result is an error */
        u64 at = f->out;
        if (block || xp_read_user(&block, 8, at))
            block = 0;
    }
    if (f->old.address && (block || !f->size))
        xp_heap_count(&f->old_block, 1);
    else if (f->old.address)
        xp_heap_keep(&f->old, &f->old_block);
    if (block && f->block.stack)
        xp_heap_follow(f, block);
    return 0;
}

/* Reading this iterator ends what is known of the blocks of address spaces that are gone. */
SEC("iter/bpf_map_elem")
int xp_forget_blocks(struct bpf_iter__bpf_map_elem *ctx)
{
    struct xp_heap_key *at = ctx->key, key;
    struct xp_heap_block gone;
    struct xp_heap_oblivion *o = xp_heap_oblivion();
    u32 how = o && at ? xp_heap_gone(at->space) : 0;
    if (!how || !o || !at)
        return 0;
    key = *at;
    if (xp_heap_forget(&key, &gone))
        return 0;
    o->objects += how == XP_GONE_UNSEEN ? gone.held.count : 0;
    o->blocks++;
    if (how != XP_GONE_SILENTLY)
        xp_heap_count(&gone, 1);
    return 0;
}

/* Reading this iterator adds up the blocks that are old. */
SEC("iter/bpf_map_elem")
int xp_look_at_blocks(struct bpf_iter__bpf_map_elem *ctx)
{
    struct xp_heap_block *b = ctx->value;
    u32 zero = 0;
    struct xp_heap_look *look = bpf_map_lookup_elem(&heap_look, &zero);
    if (!look || !b || b->born > look->by)
        return 0;
    u64 stack = b->stack;
    struct xp_amount held = b->held, *sum = bpf_map_lookup_elem(&heap_old, &stack);
    if (sum) {
        sum->count += held.count;
        sum->value += held.value;
    } else if (bpf_map_update_elem(&heap_old, &stack, &held, BPF_ANY)) {
        look->left_out++;
    }
    return 0;
}
