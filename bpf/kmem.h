/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract of kind `kmem` (bpf/kinds/kmem.bpf.c): blocks of kernel memory, and what user space knows of the
 * kernel's allocators. Include bpf/xprof.h and bpf/heap.h first.
 */
#pragma once

/* Blocks that are followed, about 100 bytes each: 32 GB of kernel memory at the default period; and where every block
 * counts. */
#define XP_KMEM_BLOCKS       (1u << 16)
#define XP_KMEM_BLOCKS_EXACT (1u << 18)
#define XP_KMEM_SLABS        32
#define XP_KMEM_INTERRUPTS   8

struct xp_kmem_code { /* of the kernel */
    u64 from, to;
};

struct xp_kmem_settings {
    u32 odds[XP_HEAP_ODDS];
    u32 pages;                                /* pages count: it can be told which of them are slabs */
    struct xp_kmem_code slabs[XP_KMEM_SLABS]; /* slab allocators: pages that they take count as the objects in them */
    struct xp_kmem_code interrupts[XP_KMEM_INTERRUPTS]; /* their entries */
};
