/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The part of the contract (bpf/xprof.h, which includes it) that says what words stacks consist of.
 */
#pragma once

/* ---- Stack words ------------------------------------------------------------------------------------------------
 * A stack is a sequence of u64 words, leaf first. The top four bits contain the kind of the word and how its frame was
 * found. File words: kind(4) exact(1) file id(24) file offset(35). "Exact" pcs (leaf, interrupted by a signal) are
 * looked up as they are; all others are return addresses, looked up at pc - 1. Frames of runtimes consist of two words,
 * the second of which is an XP_WORD_MORE.
 */
enum xp_word {
    XP_WORD_ANON = 0,     /* address in anonymous memory (JIT), exact flag in bit 59, address in bits 0-55 */
    XP_WORD_CFI = 1,      /* file frame, found by the CFI of its callee, or the leaf itself */
    XP_WORD_FP = 2,       /* file frame, found through the frame pointer of its callee: lower confidence */
    XP_WORD_SYNTH = 3,    /* file frame, found through a synthesised row of its callee (XP_RULE_SYNTH) */
    XP_WORD_INFERRED = 4, /* the same, but the row was derived backwards from the end of the code */
    XP_WORD_TOLD = 5, /* file frame of a stack that a runtime took: one function; its callers, inlined or not, follow */
    XP_WORD_JAVA = 6, /* first of the two words of a frame of Java (bpf/hotspot.h) */
    XP_WORD_MORE = 7, /* the further word of a frame */
    XP_WORD_SCRIPT = 8, /* first of the two words of a frame of Python, Ruby, PHP or Perl (bpf/script.h) */
    XP_WORD_V8 = 9,     /* first of the two words of a frame of JavaScript (bpf/v8.h) */
    XP_WORD_LABEL = 10, /* no frame: what tells sums of one stack apart; the first word of the stack */
    XP_WORD_MARK = 11,  /* no frame: stands for what is missing of a waker: a cause, or enum xp_mark, in bits 0-7 */
    XP_WORD_NAME = 12,  /* no frame: XP_NAME_WORDS of these are the name of a thread or process, 7 bytes in each */
    XP_WORD_LOCK = 13,  /* no frame: the lock that was waited for */
    XP_WORD_WAIT = 14,  /* no frame: why the thread was off its CPU; the first kernel word of such a stack */
    XP_WORD_KERNEL = 15 /* unmodified kernel address */
};
/* XP_WORD_WAIT: flags in bits 0-7; in bits 16-31 the number of words of the reason, itself included. They are the first
 * kernel words of the stack: this one; if XP_WAIT_LOCKED, an XP_WORD_LOCK and, if its holder is known, the holder's
 * name; if XP_WAIT_WOKEN, the name of the waker's process if it is known, an XP_WORD_MARK if frames are missing, and
 * the waker's stack, root first. Of the kernel's stack, at most XP_MAX_KERNEL words follow; all together are at most
 * XP_MAX_REASON.
 */
#define XP_MAX_REASON              (XP_MAX_KERNEL + XP_MAX_USER)
#define XP_WAIT_WORD(flags, words) ((u64)XP_WORD_WAIT << 60 | (u64)(words) << 16 | (flags))
#define XP_WAIT_FLAGS(w)           ((u32)(w)&0xff)
#define XP_WAIT_WORDS(w)           ((u32)((w) >> 16) & 0xffff)
#define XP_WAIT_RUNQUEUE           1u  /* it was runnable: preempted, or woken up and not running yet */
#define XP_WAIT_IO                 2u  /* it waited for I/O (task_struct.in_iowait) */
#define XP_WAIT_DEEP               4u  /* signals could not wake it up (TASK_UNINTERRUPTIBLE) */
#define XP_WAIT_LOCKED             8u  /* event lock: the lock is known */
#define XP_WAIT_WOKEN              16u /* event wakeup: who woke it up is known */
#define XP_WAIT_OWN                32u /* event wakeup: by a thread of its own process */
#define XP_NAME_WORDS              3   /* 21 bytes: a name has 16; the first byte is the lowest */
enum xp_mark {
    XP_MARK_STILL = 128, /* it still waits */
    XP_MARK_INTERRUPT,   /* not by a thread: by a device or timer */
    XP_MARK_UNSEEN,      /* nobody knows by whom */
};
#include "bpf/labels.h"
#include "bpf/machine.h"
/* XP_WORD_LOCK: in a file if bit 59 is set, with file ID and offset as in file words: the offset is that of the byte in
 * the mapping, beyond the end of the file in .bss. Otherwise enum xp_lock_place in bits 56-58 and an address. */
enum xp_lock_place {
    XP_LOCK_HEAP,   /* between start_brk and brk, or in anonymous memory */
    XP_LOCK_STACK,  /* of the thread that waits, or of the process */
    XP_LOCK_SHARED, /* memory shared between processes, or a mapped file that is no program */
    /* Locks of the kernel itself, by their type: the address is that of the lock. */
    XP_LOCK_MUTEX,
    XP_LOCK_RWSEM,
    XP_LOCK_MMAP,   /* the rwsem that guards the mappings of the process that waits (mm_struct.mmap_lock) */
    XP_LOCK_PERCPU, /* percpu-rwsem */
    XP_LOCK_KERNEL, /* of another type: rt_mutex, semaphore */
};
#define XP_LOCK_IN_KERNEL(place) ((place) >= XP_LOCK_MUTEX)
#define XP_LOCK_IN_FILE          (1ull << 59)
#define XP_LOCK_PLACE(w)         ((u32)((w) >> 56) & 7)
#define XP_WORD_KIND(w)          ((u32)((w) >> 60))
#define XP_MORE_WORD(cookie, at) ((u64)XP_WORD_MORE << 60 | ((u64)(cookie)&0xfffffff) << 32 | (u32)(at))
#define XP_MORE_COOKIE(w)        ((u32)((w) >> 32) & 0xfffffff)
#define XP_MORE_POSITION(w)      ((u32)(w))
#define XP_IS_RUNTIME_KIND(kind) ((kind) == XP_WORD_JAVA || (kind) == XP_WORD_SCRIPT || (kind) == XP_WORD_V8)
#define XP_IS_RUNTIME(word)      XP_IS_RUNTIME_KIND(XP_WORD_KIND(word))
#define XP_WORD_EXACT            (1ull << 59)
#define XP_WORD_ADDR(w)          ((w) & ((1ull << 56) - 1))
#define XP_OFFSET_BITS           35
#define XP_WORD_OFFSET(w)        ((w) & ((1ull << XP_OFFSET_BITS) - 1))
#define XP_WORD_FILE(w)          ((u32)((w) >> XP_OFFSET_BITS) & 0xffffff)
#define XP_FILE_WORD(k, f, o)    ((u64)(k) << 60 | (u64)(f) << XP_OFFSET_BITS | (o))
#define XP_FILE_VDSO             1 /* the file id of the kernel's vdso; its offsets count from its ELF header */
#define XP_FILE_FIRST            2 /* first ID for files, assigned when they are first seen */
#define XP_FILE_IDS              (1u << 24)
