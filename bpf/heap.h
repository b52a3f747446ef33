/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract of kind `memory` (bpf/kinds/memory.bpf.c): calls of allocators, blocks, and the odds of being sampled.
 * Include bpf/xprof.h first.
 */
#pragma once

/* A function that allocates or frees, as the cookie of its probe: the numbers (from 1; 0: it has none) of the arguments
 * that are the size of a block, a factor of it, the block that is freed, and the place where the new one is stored. */
#define XP_HEAP_CALL(size, times, old, out) ((u64)(size) | (times) << 4 | (old) << 8 | (out) << 12)
#define XP_HEAP_SIZE(call)                  ((u32)(call)&15)
#define XP_HEAP_TIMES(call)                 ((u32)((call) >> 4) & 15)
#define XP_HEAP_OLD(call)                   ((u32)((call) >> 8) & 15)
#define XP_HEAP_OUT(call)                   ((u32)((call) >> 12) & 15)

/* With it, the place of the process in heap_processes; 0: nobody's. */
#define XP_HEAP_PROCESSES           4096
#define XP_HEAP_COOKIE(call, place) ((call) | (u64)(place) << 16)
#define XP_HEAP_PLACE(cookie)       ((u32)((cookie) >> 16) & (XP_HEAP_PROCESSES - 1))

struct xp_heap_process {
    u64 calls, returns; /* hits of probes at the beginning and the end of functions */
    u64 stacks;         /* that were taken */
    u64 space;          /* the address space of the last one, or of one that is told to be gone */
    u32 resting;        /* new blocks do not count */
    u32 round;          /* how often all probes were there again: calls that began earlier may have ended unseen */
    u64 pad[3];
};

/* What is to be forgotten of an address space, of which nothing more is seen: its blocks. */
enum xp_heap_gone {
    XP_GONE_SILENTLY = 1, /* they count as in use to the end of the interval */
    XP_GONE_FREED,        /* they were freed */
    XP_GONE_UNSEEN,       /* they may have been freed, by calls that nobody saw: they are counted, too */
};
#define XP_HEAP_GONE 8192 /* address spaces whose blocks are still there */
struct xp_heap_oblivion {
    u64 blocks;  /* that were forgotten */
    u64 objects; /* what those of XP_GONE_UNSEEN stand for */
};

struct xp_heap_site {
    u64 offset; /* in the file: of its first instruction, or of one that sees the same and takes less */
    u64 call;   /* XP_HEAP_CALL; of other kinds, what is there */
};

/* The same of places of a probe (bpf/kinds/mapped*.bpf.c): what happens there. With it, the number of the site. */
enum xp_place { XP_PLACE_CALLED = 1, XP_PLACE_RETURNS, XP_PLACE_TIMED, XP_PLACE_USDT };
#define XP_PLACE_COOKIE(call, place, site) (XP_HEAP_COOKIE(call, place) | (u64)(site) << 32)
#define XP_PLACE_SITE(cookie)              ((cookie) >> 32)

#define XP_SLOTS(cpus) (32 + 2 * (cpus)) /* programs that run at once, those that were preempted included */

#define XP_HEAP_BLOCKS (1u << 22) /* blocks that are followed: 130 bytes each, taken as they come */

/* How likely a block is sampled, in 2^-32, by its size: eight steps per power of two. A block that is sampled stands
 * for as many as its likelihood says, so that the sums are right on average whatever the likelihoods are. */
#define XP_HEAP_STEPS  8
#define XP_HEAP_ODDS   (64 * XP_HEAP_STEPS)
#define XP_HEAP_ALWAYS 0xffffffffu
struct xp_heap_settings {
    u32 off;  /* nothing counts any more */
    u32 exec; /* enum xp_heap_gone: what another program makes of the blocks of the one before */
    u32 odds[XP_HEAP_ODDS];
};

/* An address space: no other has or had this number (arch/x86/include/asm/mmu.h: ctx_id). */
struct xp_heap_key {
    u64 address;
    u64 space;
};
struct xp_heap_block {
    u64 stack; /* key of the stack that allocated it */
    u64 cgroup;
    struct xp_amount held; /* what it counts */
    u64 born;              /* ns of the monotonic clock */
};

/* What xp_look_at_blocks looks for: blocks that were born by then. It adds up what they count by the key of their
 * stack. */
struct xp_heap_look {
    u64 by;
    u64 left_out; /* blocks of stacks for which there was no room */
};
#define XP_HEAP_OLD_STACKS (1u << 15)

/* A process of which the event is wanted, as the iterator of these writes it. */
struct xp_wanted {
    u64 cgroup, start; /* as in struct xp_sample */
    u32 tgid, pad;
    char comm[16];
};

/* What becomes of processes that map code (heap_held): they are stopped, and wait for SIGCONT; or another kind stops
 * them, and has user space tell this one (agent/pipeline/heaps.h: heaps_lead). */
enum xp_held { XP_HELD = 1, XP_HELD_BY_OTHER };

/* A process was born, or runs another program (start is 0), or mapped a file with code. */
struct xp_mapped_event {
    u32 type; /* XP_RECORD_MAPPED */
    u32 tgid;
    u64 start, space; /* space: its address space */
    u32 held;         /* enum xp_held; 0: it goes on */
    u32 event;        /* that of the kind that tells it */
};

/* ---- Kind `badfree` (bpf/kinds/badfree.bpf.c) ---- */

#define XP_BAD_FREED (1u << 18) /* blocks that were freed and are remembered; the oldest ones are forgotten */
/* Labels in addition to enum xp_label, without names: what is wrong with what is freed, */
enum xp_bad_label {
    XP_LABEL_FREED_TWICE = XP_LABELS,
    XP_LABEL_INSIDE,   /* it is no block, but a place in one, */
    XP_LABEL_ON_STACK, /* on the stack, */
    XP_LABEL_IN_CODE,  /* in code or constants, */
    XP_LABEL_IN_DATA,  /* or a variable of a program or library; */
    /* and between the stacks of such a fault: */
    XP_LABEL_FREED,     /* the free before is what follows towards the leaf, */
    XP_LABEL_ALLOCATED, /* the allocation is, */
    XP_LABEL_UNKNOWN,   /* whose stack is not known */
    XP_LABEL_KEY,       /* one half of the key of a stack, which takes its place in user space */
    XP_BAD_LABELS
};
_Static_assert(XP_BAD_LABELS <= 16, "they have four bits");

/* The words of the stack of a wrong free begin with these (XP_WORD_LABEL): what is wrong, the keys of the stacks that
 * allocated and freed before, each in two halves, the lower one first. */
#define XP_BAD_WORDS 5
