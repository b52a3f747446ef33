/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract of waits (bpf/waits.bpf.h), as bpf/xprof.h is that of samples. Include bpf/xprof.h first.
 */
#pragma once

#define XP_MAX_THREADS (1u << 15) /* threads whose waits are followed: 5 MB */
#define XP_MAX_WAITS   (1u << 15) /* distinct waits of an interval: twice 3 MB */
#define XP_MAX_STACKS  (1u << 15) /* distinct stacks of an interval */
#define XP_WAIT_SHARE  4          /* with neighbours, a cgroup may have one part in so many of each */
#define XP_WAIT_GROUPS 4096       /* cgroups with threads that are followed */

/* Sums are kept by the kernel side, and read and reset by user space at the end of each interval. */
struct xp_wait_key {
    u64 user, kernel; /* keys of stacks (XP_RECORD_STACK); kernel may be 0: not taken */
    u64 with;         /* XP_WAIT_LOCKED: the lock's word; XP_WAIT_WOKEN: key of the waker's stack; otherwise 0 */
    u32 flags;        /* XP_WAIT_* */
    u32 tid;          /* XP_WAIT_LOCKED: who held the lock, as its process numbers it; 0: not known */
};
/* In `with` instead of a stack; keys of stacks are odd. */
#define XP_WAKER_NONE   0 /* it still waits */
#define XP_WAKER_UNSEEN 2 /* it was woken up, and nobody saw by whom */
struct xp_wait {
    u64 count, ns;
};

/* Tells most switches of threads that are not wanted from the others without a look-up, which would cost more than all
 * the rest: by numbers modulo XP_HINTS. */
#define XP_HINTS (1u << 16)
struct xp_hints {
    u32 followed[XP_HINTS]; /* number of threads with such a TID that are followed */
    u8 wanted[XP_HINTS];    /* XP_TARGET_PIDS: a wanted process has, or had, such a PID */
};

/* A thread that sleeps, and whose stack is still to be taken, by others that read its memory. Written by the iterator
 * (bpf/sleepers.bpf.c), followed by `nmaps` struct xp_mapping; same_maps: they are those of the one before. */
struct xp_sleeper {
    u64 key; /* of its user stack */
    u64 start, cgroup;
    u64 switches; /* number of times that it had left a CPU: if it is another one, it has run since */
    u32 tgid, tid;
    u32 nmaps, same_maps;
    char comm[16];
    struct xp_regs regs;
};
