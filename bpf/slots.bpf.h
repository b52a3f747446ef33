/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Scratch states of programs that can be preempted, as those of uprobes are: a program claims a free one, and gives it
 * back at its end. Other threads may run on its CPU meanwhile and claim others. Compare-and-swap needs Linux 5.12.
 */
#pragma once
#include "bpf/heap.h"

#define XP_SLOT_TRIES 32

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* set to XP_SLOTS(number of possible CPUs) */
    __type(key, u32);
    __type(value, u64);
} slot_taken SEC(".maps");

/* The slot that a thread has, plus 1. */
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, u64);
} slot_of SEC(".maps");

/* Returns 0; 1: all those that were tried are taken. */
XP_NOINLINE int xp_claim_slot(void)
{
    u32 slots = XP_SLOTS(xp_config.cpus), first = bpf_get_smp_processor_id() * 2;
    u64 *mine = bpf_task_storage_get(&slot_of, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!mine || !slots)
        return 1;
    for (u32 i = 0; i < XP_SLOT_TRIES; i++) {
        u32 slot = (first + i) % slots;
        u64 *taken = bpf_map_lookup_elem(&slot_taken, &slot);
        if (taken && !__sync_val_compare_and_swap(taken, 0, 1)) {
            *mine = slot + 1;
            return 0;
        }
    }
    return 1;
}

/* The slot of the running thread; it has none: not a number of one. */
XP_INLINE u32 xp_slot(void)
{
    u64 *mine = bpf_task_storage_get(&slot_of, bpf_get_current_task_btf(), 0, 0);
    return mine ? (u32)*mine - 1 : ~0u;
}

XP_INLINE void xp_give_slot(void)
{
    u64 *mine = bpf_task_storage_get(&slot_of, bpf_get_current_task_btf(), 0, 0);
    u32 slot = mine ? (u32)*mine - 1 : ~0u;
    u64 *taken = bpf_map_lookup_elem(&slot_taken, &slot);
    if (mine)
        *mine = 0;
    if (taken)
        __sync_val_compare_and_swap(taken, 1, 0);
}
