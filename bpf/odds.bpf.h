/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Which blocks of memory are sampled, and what each of them stands for (XP_HEAP_ODDS in bpf/heap.h).
 */
#pragma once
#include "bpf/heap.h"

XP_INLINE u32 xp_heap_step(u64 size)
{
    u32 log = 0;
    XP_UNROLL
    for (u32 bits = 32; bits; bits /= 2)
        if (size >> log >> bits)
            log += bits;
    u64 rest = log >= 3 ? size >> (log - 3) : size << (3 - log);
    return log * XP_HEAP_STEPS + (rest & (XP_HEAP_STEPS - 1));
}

/* Sets what a block of this size counts, if it is sampled; 0: it is not. */
XP_INLINE int xp_heap_sample(const u32 *all, u64 size, struct xp_amount *held)
{
    u32 step = xp_heap_step(size), odds = all[step & (XP_HEAP_ODDS - 1)];
    held->count = 1;
    held->value = size;
    if (odds == XP_HEAP_ALWAYS)
        return 1;
    if (bpf_get_prandom_u32() >= odds || !odds)
        return 0;
    u64 whole = 1ull << 32, below = (u64)bpf_get_prandom_u32() * odds >> 32; /* a remainder would favour some */
    held->count = whole / odds + (below < whole % odds);
    held->value = (size << 32) / odds; /* blocks of 4 GB are always sampled */
    return 1;
}
