/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract of locks of Go (bpf/kinds/goroutines.bpf.c): the places of its runtime where goroutines wait for them.
 * Include bpf/xprof.h first.
 */
#pragma once

#define XP_MAX_GOROUTINES (1u << 16) /* that wait for locks at once: 100 bytes each, taken as they come */

/* What is at a place (struct xp_heap_site.call). */
enum xp_go_place {
    XP_GO_WAITS = 1, /* the beginning of runtime.semacquire1, or an instruction of it that sees the same arguments */
    XP_GO_ENDS,      /* one of its returns */
};

/* Goroutines have no numbers that the kernel side knows: g is where the runtime describes it. */
struct xp_goroutine_key {
    u64 g;
    u64 space; /* as in struct xp_heap_key */
};
struct xp_goroutine {              /* one that waits */
    u64 since, lock, cgroup, want; /* want: that of its cgroup */
    u32 tgid, pad;
};
