/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract of waits (bpf/waits.bpf.h), as bpf/xprof.h is that of samples. Include bpf/xprof.h first.
 */
#pragma once

#define XP_MAX_THREADS (1u << 15) /* threads whose waits are followed: 5 MB */
#define XP_MAX_WAITS   (1u << 15) /* distinct waits of an interval: twice 3 MB */
#define XP_MAX_LATE    4096       /* waits that are over and whose stacks are still to be taken */
#define XP_LATE_NS     1000000    /* after this time, they are not any more */
#define XP_LATE_WAIT   100000000  /* until then (ns), a wait without stack is not counted before it is over */

/* What is done about user stacks besides taking them as a thread leaves its CPU (bpf/late.bpf.h). */
enum xp_late_stacks {
    XP_LATE_NO,
    XP_LATE_SOME, /* those of long waits that came unexpectedly are taken when the thread is back */
    XP_LATE_ALL,  /* those of all long waits are */
};

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
    u64 tls;      /* TLS base */
    u64 switches; /* number of times that it had left a CPU: if it is another one, it has run since */
    u32 tgid, tid;
    u32 nmaps, same_maps;
    u32 nstid, pad;            /* as in samples */
    char comm[16], thread[16]; /* as in samples */
    struct xp_regs regs;
};
