/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Blocks that are allocated, and those that were: what kind `badfree` knows.
 */
#pragma once
#include "bpf/allocators.bpf.h"

struct xp_bad_block {
    u64 stack; /* key of the stack that allocated it; 0: not known */
    u64 size;  /* 0: not known, too */
    u64 cgroup;
    u32 round, pad;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_HEAP_BLOCKS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct xp_heap_key);
    __type(value, struct xp_bad_block);
} bad_blocks SEC(".maps");

struct xp_bad_freed {
    u64 stack, freed; /* keys of the stacks that allocated and freed it */
    u32 round, pad;
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, XP_BAD_FREED);
    __type(key, struct xp_heap_key);
    __type(value, struct xp_bad_freed);
} bad_freed SEC(".maps");

/* Where blocks begin, by their size: of those with more than 2^(class-1) bytes, no two begin within the same cell of
 * that size. So the one around an address is found in a few steps, whatever its size is. */
struct xp_bad_cell {
    u64 space, cell;
    u32 class, pad;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_HEAP_BLOCKS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct xp_bad_cell);
    __type(value, u64); /* address of the block */
} bad_cells SEC(".maps");

#define XP_BAD_CLASSES 44
#define XP_BAD_LEAST   4 /* the class of all blocks up to 16 bytes: allocators align them to 8 at least */

/* The call that a thread is in, and its last free. */
struct xp_bad_frame {
    u64 space, sp; /* at its beginning */
    u64 arg[8];
    u64 size, out, stack;
    struct xp_heap_key old; /* the block that it frees; address 0: none that is known */
    struct xp_bad_block old_block;
    u32 depth, round;
    u64 free_ip, free_sp, free_to; /* function, stack and return address */
    /* What the programs work with. */
    struct xp_heap_key key;
    struct xp_bad_cell cell;
    struct xp_bad_block block;
    struct xp_bad_freed freed;
    u64 ip, now_sp;
    u32 known, pad;
};
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct xp_bad_frame);
} bad_frames SEC(".maps");

/* ---- Blocks --------------------------------------------------------------------------------------------------------
 */
XP_INLINE u32 xp_bad_class(u64 size)
{
    u64 last = size - 1;
    u32 log = 0;
    XP_UNROLL
    for (u32 bits = 32; bits; bits /= 2)
        if (last >> log >> bits)
            log += bits;
    return log + 1 > XP_BAD_LEAST ? log + 1 : XP_BAD_LEAST;
}

/* Sets f->cell to that of a block. Returns 1 if it has one. */
XP_INLINE int xp_bad_cell(struct xp_bad_frame *f, u64 address, u64 size)
{
    u32 class = xp_bad_class(size);
    if (!size || class > XP_BAD_CLASSES)
        return 0;
    f->cell.space = f->key.space;
    f->cell.cell = address >> (class - 1);
    f->cell.class = class;
    f->cell.pad = 0;
    return 1;
}

/* Forgets the block at f->key; f->block stays what it is. */
XP_INLINE void xp_bad_drop(struct xp_bad_frame *f)
{
    struct xp_bad_block *b = bpf_map_lookup_elem(&bad_blocks, &f->key);
    u64 cgroup = b ? b->cgroup : 0;
    if (b && !bpf_map_delete_elem(&bad_blocks, &f->key))
        xp_share_give(cgroup);
}

/* Follows f->block at f->key. Out of line, for its part of the stack. */
XP_NOINLINE int xp_bad_learn(struct xp_bad_frame *f)
{
    if (!f)
        return 1;
    xp_bad_drop(f); /* its free was not seen */
    int full = xp_share_take(f->block.cgroup, XP_HEAP_BLOCKS);
    if (!full && bpf_map_update_elem(&bad_blocks, &f->key, &f->block, BPF_ANY)) {
        xp_share_give(f->block.cgroup);
        full = 1;
    }
    if (full) {
        xp_lose(XP_LOSS_BLOCK);
        return 1;
    }
    if (xp_bad_cell(f, f->key.address, f->block.size))
        bpf_map_update_elem(&bad_cells, &f->cell, &f->key.address, BPF_ANY);
    return 0;
}

/* Follows the block at f->key no longer; it is in f->block then. Returns 0; 1: it was not followed, or somebody else is
 * faster. */
XP_NOINLINE int xp_bad_unlearn(struct xp_bad_frame *f)
{
    struct xp_bad_block *b = f ? bpf_map_lookup_elem(&bad_blocks, &f->key) : 0;
    if (!b)
        return 1;
    f->block = *b;
    u64 *begins = xp_bad_cell(f, f->key.address, f->block.size) ? bpf_map_lookup_elem(&bad_cells, &f->cell) : 0;
    if (begins && *begins == f->key.address)
        bpf_map_delete_elem(&bad_cells, &f->cell);
    if (bpf_map_delete_elem(&bad_blocks, &f->key))
        return 1;
    xp_share_give(f->block.cgroup);
    return 0;
}

/* Whether a block of a class is around the address f->key; it is in f->block then. */
XP_NOINLINE int xp_bad_is_inside(struct xp_bad_frame *f, u32 class, u32 round)
{
    if (!f || class < XP_BAD_LEAST || class > XP_BAD_CLASSES)
        return 0;
    u64 at = f->key.address, cell = at >> (class - 1);
    f->cell.space = f->key.space;
    f->cell.class = class;
    f->cell.pad = 0;
    for (u32 back = 0; back < 3; back++) {
        struct xp_heap_key key = {.space = f->key.space};
        f->cell.cell = cell - back;
        u64 *begins = bpf_map_lookup_elem(&bad_cells, &f->cell);
        key.address = begins ? *begins : at;
        struct xp_bad_block *b = key.address < at ? bpf_map_lookup_elem(&bad_blocks, &key) : 0;
        if (b && b->round == round && at - key.address < b->size) {
            f->block = *b;
            return 1;
        }
    }
    return 0;
}

/* ---- Address spaces that are gone ----------------------------------------------------------------------------------
 * Reading these iterators ends what is known of their blocks.
 */
SEC("iter/bpf_map_elem")
int xp_forget_blocks(struct bpf_iter__bpf_map_elem *ctx)
{
    struct xp_heap_key *at = ctx->key, key;
    struct xp_bad_block *b = ctx->value;
    struct xp_heap_oblivion *o = xp_heap_oblivion();
    if (!o || !at || !b || !xp_heap_gone(at->space))
        return 0;
    key = *at;
    u64 cgroup = b->cgroup;
    if (bpf_map_delete_elem(&bad_blocks, &key))
        return 0;
    xp_share_give(cgroup);
    o->blocks++;
    return 0;
}

SEC("iter/bpf_map_elem")
int xp_forget_cells(struct bpf_iter__bpf_map_elem *ctx)
{
    struct xp_bad_cell *at = ctx->key, cell;
    struct xp_heap_oblivion *o = xp_heap_oblivion();
    if (!o || !at || !xp_heap_gone(at->space))
        return 0;
    cell = *at;
    o->blocks += !bpf_map_delete_elem(&bad_cells, &cell);
    return 0;
}
