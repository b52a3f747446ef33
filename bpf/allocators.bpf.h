/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * What kinds have in common whose programs user space attaches to allocators (agent/pipeline/heaps.c): xp_on_heap_call
 * and xp_on_heap_return, with a cookie that says what the arguments of a function are (bpf/heap.h).
 */
#pragma once
#include "bpf/newcode.bpf.h"
#include "bpf/shares.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_heap_settings);
} heap_settings SEC(".maps");

/* Processes that are followed, by the places that user space has given them. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, XP_HEAP_PROCESSES);
    __type(key, u32);
    __type(value, struct xp_heap_process);
} heap_processes SEC(".maps");

/* Address spaces that are gone -> enum xp_heap_gone. Iterators forget the blocks of all of them at once. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_HEAP_GONE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, u64);
    __type(value, u32);
} heap_gone SEC(".maps");

/* What the iterators have done. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_heap_oblivion);
} heap_oblivion SEC(".maps");

XP_INLINE struct xp_heap_oblivion *xp_heap_oblivion(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&heap_oblivion, &zero);
}

/* Returns what became of an address space; 0: it is there. */
XP_INLINE u32 xp_heap_gone(u64 space)
{
    u32 *gone = bpf_map_lookup_elem(&heap_gone, &space);
    return gone ? *gone : 0;
}

/* Keeps the arguments of the function that begins (System V ABI, AMD64 supplement, 3.2.3), because context is not
 * indexed by variables. */
XP_INLINE void xp_heap_args(const volatile u64 *pt, volatile u64 *arg)
{
    arg[0] = 0;
    arg[1] = pt[XP_PT_RDI];
    arg[2] = pt[XP_PT_RSI];
    arg[3] = pt[XP_PT_RDX];
    arg[4] = pt[XP_PT_RCX];
}

XP_INLINE struct xp_heap_settings *xp_heap_settings(void)
{
    u32 zero = 0;
    struct xp_heap_settings *h = bpf_map_lookup_elem(&heap_settings, &zero);
    return h && !h->off ? h : 0;
}

/* A process has executed another program. */
XP_INLINE void xp_heap_replace(struct xp_heap_process *p, u64 space)
{
    struct xp_heap_settings *h = xp_heap_settings();
    u64 old = p->space;
    u32 how = h ? h->exec : 0;
    p->space = space;
    if (old && how)
        bpf_map_update_elem(&heap_gone, &old, &how, BPF_NOEXIST);
}

/* Counts a hit of a probe: whether it costs too much is decided in user space (agent/pipeline/heap_cost.h). */
XP_INLINE struct xp_heap_process *xp_heap_hit(u64 cookie, bool returning, u64 space)
{
    u32 place = XP_HEAP_PLACE(cookie);
    struct xp_heap_process *p = bpf_map_lookup_elem(&heap_processes, &place);
    if (!p)
        return 0;
    __sync_fetch_and_add(returning ? &p->returns : &p->calls, 1);
    if (p->space != space)
        xp_heap_replace(p, space);
    return p;
}
