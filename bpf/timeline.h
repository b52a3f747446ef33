/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * What bpf/timeline.bpf.c tells about the scheduler: who runs on each CPU, who waits, and who wakes whom. Types as for
 * xprof.h.
 */
#pragma once

#define XP_TL_STACKS 8192 /* distinct kernel stacks of waits, by the remainder of their hash: 4 MB */
#define XP_TL_FRAMES 64   /* of such a stack, leaf first */

enum xp_tl_type {
    XP_TL_SWITCH = 1, /* thread: who leaves the CPU; other: who gets it; both 0 for the idle task */
    XP_TL_WAKING,     /* thread: who is woken up; other: who was running where that was done */
    XP_TL_WAKEUP,     /* thread: who is on the run queue of CPU `other` from here on */
    XP_TL_TASK,       /* struct xp_tl_task */
    XP_TL_LISTED,     /* struct xp_tl_listed */
};
/* Of switches: why the thread leaves. The first three as in bpf/words.h. */
#define XP_TL_RUNNABLE  1u /* it did not want to */
#define XP_TL_IO        2u
#define XP_TL_DEEP      4u  /* signals cannot wake it up */
#define XP_TL_DEAD      8u  /* it has ended */
#define XP_TL_INTERRUPT 16u /* of wake-ups: the work of an interrupt, which happened to stop `other` */

struct xp_tl_event {
    u8 type, flags;
    u16 running; /* threads on the run queue, with the one that runs; of switches and XP_TL_WAKEUP */
    u32 cpu;     /* where it happened */
    u64 time;    /* CLOCK_MONOTONIC, ns */
    u32 thread, other;
    s32 stack; /* of waits and wake-ups: key of a kernel stack in the map `stacks`; below 0: not taken */
    u32 ran;   /* of switches: for how long `thread` had the CPU, ns; the highest number: longer, or not known */
};
_Static_assert(sizeof(struct xp_tl_event) == 32, "contract");

struct xp_tl_task { /* a thread begins, or gets another name */
    u8 type, wanted;
    u16 pad;
    u32 cpu;
    u64 time;
    u32 tid, tgid;
    u32 parent; /* process that it was forked by; 0: it was not */
    u32 pad2;
    char comm[16], process[16]; /* names of the thread, and of the main thread of its process */
};
_Static_assert(sizeof(struct xp_tl_task) == 64, "contract");

struct xp_tl_listed { /* a thread that was there when the recording began */
    struct xp_tl_task task;
    u32 flags; /* as of a switch */
    u32 on_cpu;
    u32 nframes;
    u32 pad;
    u64 frames[XP_TL_FRAMES]; /* kernel stack of its wait, leaf first */
};
_Static_assert(sizeof(struct xp_tl_listed) == 80 + 8 * XP_TL_FRAMES, "contract");
