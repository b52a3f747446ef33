/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Reads arguments of USDT probes, by what is known of the site (bpf/usdt.h), whose number is the cookie of the place,
 * or in it (XP_MAPPED: bpf/heap.h). Without cookies, what is read is where it is at the first site
 * (agent/probe/usdt.c).
 */
#pragma once
#include "bpf/usdt.h"

#if defined(XP_PLAIN)
#define XP_SITE(ctx) 0
#elif defined(XP_MAPPED)
#define XP_SITE(ctx) XP_PLACE_SITE(bpf_get_attach_cookie(ctx))
#else
#define XP_SITE(ctx) bpf_get_attach_cookie(ctx)
#endif

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* set to the number of sites (agent/probe/usdt.c) */
    __type(key, u32);
    __type(value, struct xp_usdt_site);
} usdt_sites SEC(".maps");

XP_INLINE u64 xp_usdt_register(u64 registers, u32 word)
{
    u64 v = 0;
    if (word != XP_USDT_NONE)
        bpf_probe_read_kernel(&v, sizeof(v), (void *)(registers + 8 * word));
    return v;
}

/* Returns 0; 1: it is not known where the argument is, or it is not in memory: programs may not wait for a page. */
XP_INLINE int xp_usdt_read(u64 registers, const struct xp_usdt_argument *a, u64 *out)
{
    u64 v =
        a->number + xp_usdt_register(registers, a->base) + (xp_usdt_register(registers, a->index) << (a->scale & 3));
    u32 size = a->size & 15, unused = 64 - 8 * size;
    if (!(a->flags & XP_USDT_KNOWN) || size - 1 > 7)
        return 1;
    if (a->flags & XP_USDT_MEMORY) {
        u64 stored = 0;
        if (bpf_probe_read_user(&stored, size, (void *)v))
            return 1;
        v = stored;
    }
    *out = a->flags & XP_USDT_SIGNED ? (u64)((s64)(v << unused) >> unused) : v << unused >> unused;
    return 0;
}

/* Reads those arguments that conditions and the value are about (xp_tp.arguments). Returns 0 or 1. */
XP_INLINE int xp_usdt_arguments(void *ctx, u64 number, u64 out[XP_USDT_ARGUMENTS])
{
    u32 key = number;
    const struct xp_usdt_site *s = bpf_map_lookup_elem(&usdt_sites, &key);
    u64 registers = xp_tp_record(ctx);
    if (!s)
        return 1;
    for (u32 i = 0; i < XP_USDT_ARGUMENTS; i++)
        if (xp_tp.arguments >> i & 1 && xp_usdt_read(registers, &s->arguments[i], &out[i]))
            return 1;
    return 0;
}
