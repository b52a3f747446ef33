/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Which lock a blocked thread waits for, and who holds it. Nothing has to be traced for that: the saved user registers
 * of a thread in futex(2) contain the address of the lock. The address becomes a word that means the same in every run:
 * a place in a file, if the lock is a variable of a program or library.
 */
#pragma once
#include "bpf/area.bpf.h"

#define XP_BLOCKED_STATE   0xfu /* stopped, traced, uninterruptible: in a futex it is interruptible */
#define XP_INTERRUPTIBLE   1u
#define XP_FUTEX_CMD       127u /* include/uapi/linux/futex.h: without its flags */
#define XP_FUTEX_WAITERS   0x80000000u
#define XP_FUTEX_TID       0x3fffffffu
#define XP_MAX_TID         (1u << 22) /* include/linux/threads.h: PID_MAX_LIMIT */
#define XP_MUSL_OWNED      7u         /* bits of types that have an owner: recursive, error-checking, robust */
#define XP_MUSL_TYPES      256u
#define XP_GLIBC_CONTENDED 2u
#define XP_MUTEX_MAX_USERS 65536u
#define XP_GLIBC_MAX_KIND  1024u
#define XP_GLIBC_ROBUST    16u
#define XP_PARKED          1u /* what parking_lot waits with */
#define XP_PARKING_TOKENS  256u
#define XP_PARKING_TLS     (1u << 20) /* thread-local memory of a program, below its TLS base */

enum xp_futex_op {
    XP_FUTEX_WAIT = 0,
    XP_FUTEX_LOCK_PI = 6,
    XP_FUTEX_WAIT_BITSET = 9,
    XP_FUTEX_WAIT_REQUEUE = 11,
    XP_FUTEX_LOCK_PI2 = 13,
};

#define XP_LOCK_WORD(place, at) ((u64)XP_WORD_LOCK << 60 | (u64)(place) << 56 | XP_WORD_ADDR(at))

struct xp_waitv { /* struct futex_waitv of include/uapi/linux/futex.h */
    u64 value, address;
};

struct xp_glibc_mutex { /* sysdeps/nptl/bits/struct_mutex.h */
    u32 lock, count, owner, users, kind;
};
struct xp_musl_mutex { /* src/internal/pthread_impl.h: _m_type, _m_lock, _m_waiters */
    u32 type, lock, waiters;
};

/* parking_lot_core/src/parking_lot.rs: struct ThreadData, as rustc orders its fields. */
struct xp_parking {
    u64 key, next, unpark_token, park_token;
    u32 futex, timeout;
};

/* ---- Who holds it --------------------------------------------------------------------------------------------------
 */
/* A mutex of glibc names its owner. That it is one shows in what the thread waits for, and in its other fields. */
XP_INLINE u32 xp_owner_in_glibc(struct xp_state *s, u64 at, u32 value)
{
    struct xp_glibc_mutex *m = (struct xp_glibc_mutex *)s->object;
    if (value != XP_GLIBC_CONTENDED || xp_read_user(m, sizeof(*m), at))
        return 0;
    return m->lock && m->users - 1 < XP_MUTEX_MAX_USERS && m->kind < XP_GLIBC_MAX_KIND ? m->owner : 0;
}

/* A value with this bit may be the owner's number: in robust mutexes, and in those of musl that have one. Other locks
 * have counts there, which are numbers of threads, too: so what else is in the mutex has to agree. */
XP_INLINE u32 xp_owner_in_value(struct xp_state *s, u64 at, u32 value)
{
    struct xp_glibc_mutex *m = (struct xp_glibc_mutex *)s->object;
    struct xp_musl_mutex *n = (struct xp_musl_mutex *)s->object;
    u32 owner = value & XP_FUTEX_TID;
    if (!xp_read_user(m, sizeof(*m), at) && m->kind & XP_GLIBC_ROBUST && m->kind < XP_GLIBC_MAX_KIND &&
        m->owner == owner)
        return owner;
    if (!xp_read_user(n, sizeof(*n), at - 4) && n->type & XP_MUSL_OWNED && n->type < XP_MUSL_TYPES &&
        n->waiters - 1 < XP_MUTEX_MAX_USERS)
        return owner;
    return 0;
}

/* Returns the number of the thread that holds a lock, in its own namespace of PIDs, or 0; user space checks that there
 * is such a thread. `value`: what the lock contained when the thread began to wait for it. */
XP_INLINE u32 xp_find_holder(struct xp_state *s, u64 at, u32 op, u32 value)
{
    u32 *word = (u32 *)s->object, holder = 0;
    if (op == XP_FUTEX_LOCK_PI || op == XP_FUTEX_LOCK_PI2) /* the kernel defines what is in it */
        holder = xp_read_user(word, sizeof(*word), at) ? 0 : *word & XP_FUTEX_TID;
    else if (value & XP_FUTEX_WAITERS)
        holder = xp_owner_in_value(s, at, value);
    else
        holder = xp_owner_in_glibc(s, at, value);
    return holder < XP_MAX_TID ? holder : 0;
}

/* Threads that wait for a lock of parking_lot (Rust) wait for a variable of their own in thread-local memory. In front
 * of it is the address of the lock; with one of an RwLock, which has two queues, plus 0 or 1, and a park token other
 * than 0. Returns the address of the lock, or `at`: it is something else. */
XP_NOINLINE u64 xp_parked_for(u64 at)
{
    struct xp_state *s = xp_state_get();
    struct xp_parking *p = s ? (struct xp_parking *)s->object : 0;
    u64 from = at - __builtin_offsetof(struct xp_parking, futex);
    u64 below = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread.fsbase) - at;
    if (!p || at & 7 || below >= XP_PARKING_TLS || xp_read_user(p, sizeof(*p), from))
        return at;
    if (p->unpark_token >= XP_PARKING_TOKENS || p->park_token >= XP_PARKING_TOKENS || p->key < 4096 ||
        p->key >= XP_USER_END || p->next >= XP_USER_END || p->next & 7)
        return at;
    return p->park_token ? p->key & ~1ull : p->key;
}

extern const void do_no_restart_syscall __ksym __weak; /* 0: the kernel hides addresses */

/* A wait that can time out goes on in restart_syscall(2) after the thread was stopped (by a signal, a frozen cgroup),
 * with the registers that it had. Other calls do so, too, but only this one may not be restarted from then on
 * (kernel/futex/waitwake.c: futex_wait_restart). */
XP_INLINE int xp_restarts_futex(const struct xp_state *s, u64 at)
{
#ifdef XP_ITERATES
    u64 fn = 0, again = 0, task = s->who.task;
#else
    u64 fn = 0, again = 0, task = bpf_get_current_task();
#endif
    bpf_probe_read_kernel(&fn, 8, (void *)(task + XP_OFFSET_OF(task_struct, restart_block.fn)));
    bpf_probe_read_kernel(&again, 8, (void *)(task + XP_OFFSET_OF(task_struct, restart_block.futex.uaddr)));
    return fn && fn == (u64)&do_no_restart_syscall && again == at;
}

/* ---- Which one it is -----------------------------------------------------------------------------------------------
 */
/* Returns the address of the futex that a thread waits for, which leaves its CPU, or has left it, with these flags and
 * in this state; s->saved is set. 0: for none. Its holder is in s->holder then, if memory of the thread can be read: it
 * is the current one. */
XP_NOINLINE u64 xp_lock_at(u32 flags, u32 state)
{
    struct xp_state *s = xp_state_get();
    struct xp_call c;
    if (flags & XP_WAIT_RUNQUEUE || (state & XP_BLOCKED_STATE) != XP_INTERRUPTIBLE || !s || xp_call_of(s, s->saved, &c))
        return 0;
    u32 op = (u32)c.arg[1] & XP_FUTEX_CMD;
    if (c.number == XP_SYS_RESTART && xp_restarts_futex(s, c.arg[0]))
        c.number = XP_SYS_FUTEX;
    s->holder = 0;
    s->first.r[XP_RSP] = c.sp;
    if (c.number == XP_SYS_FUTEX_WAIT)
        return c.arg[0];
    if (c.number == XP_SYS_FUTEX_WAITV) { /* the first of several */
#ifdef XP_ITERATES
        return 0;
#else
        struct xp_waitv *v = (struct xp_waitv *)s->object;
        return xp_read_user(v, sizeof(*v), c.arg[0]) ? 0 : v->address;
#endif
    }
    if (c.number != XP_SYS_FUTEX || (op != XP_FUTEX_WAIT && op != XP_FUTEX_WAIT_BITSET && op != XP_FUTEX_LOCK_PI &&
                                     op != XP_FUTEX_LOCK_PI2 && op != XP_FUTEX_WAIT_REQUEUE))
        return 0;
#ifndef XP_ITERATES
    if (op == XP_FUTEX_WAIT && (u32)c.arg[2] == XP_PARKED)
        return xp_parked_for(c.arg[0]);
    s->holder = xp_find_holder(s, c.arg[0], op, (u32)c.arg[2]);
#endif
    return c.arg[0];
}

/* Returns the word of a lock in the file of s->area; its offset goes on behind the end of the mapping (.bss). A file
 * that is not known yet is announced as one with code is: a mapping of data leads to it as well. */
XP_INLINE u64 xp_lock_in_file(struct xp_state *s, u64 at)
{
    struct xp_vma *m = &s->cur;
    u64 offset = at - s->area.start + s->area.offset;
    m->start = s->area.start;
    m->end = s->area.end;
    m->bias = m->start - s->area.offset;
    m->file.id = 0;
    int failed = xp_file_of(s, s->area.file, XP_LANE, m);
    s->area.unsure = failed || m->file.state == XP_FILE_PENDING;
    if (failed || !m->file.id || offset >> XP_OFFSET_BITS)
        return XP_LOCK_WORD(XP_LOCK_HEAP, at);
    if (m->file.flags & XP_FILE_NO_ELF)
        return XP_LOCK_WORD(XP_LOCK_SHARED, at);
    return XP_LOCK_IN_FILE | XP_FILE_WORD(XP_WORD_LOCK, m->file.id, offset);
}

/* Returns the word of the lock at an address of the process of s->who and s->sample. s->area.unsure: the next time it
 * may be another one, as when the file was not known yet. */
XP_NOINLINE u64 xp_lock_word(u64 at)
{
    struct xp_state *s = xp_state_get();
    if (s)
        s->area.unsure = 1;
    if (!s || xp_area_at(at))
        return XP_LOCK_WORD(XP_LOCK_HEAP, at);
    s->area.unsure = 0;
    if (s->area.flags & XP_VM_SHARED)
        return XP_LOCK_WORD(XP_LOCK_SHARED, at);
    if (s->area.file)
        return xp_lock_in_file(s, at);
    if (xp_is_on_stack(s))
        return XP_LOCK_WORD(XP_LOCK_STACK, at);
    /* The rest of .bss is anonymous memory right behind the mapping of .data. */
    u64 start = s->area.start;
    if (xp_is_in_brk(s, at) || xp_area_at(start - 1) || s->area.end != start || !s->area.file ||
        s->area.flags & (XP_VM_SHARED | XP_VM_EXEC))
        return XP_LOCK_WORD(XP_LOCK_HEAP, at);
    return xp_lock_in_file(s, at);
}
