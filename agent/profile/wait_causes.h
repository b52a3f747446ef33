/* Says what a thread waited for, from the kernel functions that it waited in. Pure: names go in, a cause comes out.
 *
 *     wait_function -> what the table says about one kernel function: worth keeping, as stacks share functions
 *     wait_decide   -> the cause of a wait in a stack of them
 *
 * A new cause is a row of WAIT_CAUSES and one of the table in wait_causes.c; a new function is a word in that table.
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

/* X(enum name, text): what a reader sees, in brackets. docs/waiting.md explains each. */
#define WAIT_CAUSES(X)                   \
    X(OTHER, "other")                    \
    X(RUN_QUEUE, "run queue")            \
    X(DISK, "disk")                      \
    X(NETWORK_FS, "network file system") \
    X(FUSE, "fuse")                      \
    X(PAGE_FAULT, "page fault")          \
    X(UFFD, "uffd")                      \
    X(RECLAIM, "reclaim")                \
    X(LOCK, "lock")                      \
    X(GIL, "gil")                        \
    X(SOCKET, "socket")                  \
    X(PIPE, "pipe")                      \
    X(EPOLL, "epoll")                    \
    X(POLL, "poll")                      \
    X(SLEEP, "sleep")                    \
    X(CHILD, "child")                    \
    X(SIGNAL, "signal")                  \
    X(IO_URING, "io_uring")              \
    X(AIO, "aio")                        \
    X(TTY, "tty")                        \
    X(INOTIFY, "inotify")                \
    X(EVENTFD, "eventfd")                \
    X(TIMERFD, "timerfd")                \
    X(MESSAGES, "message queue")         \
    X(RCU, "rcu")                        \
    X(KVM, "kvm")                        \
    X(GPU, "gpu")                        \
    X(PERMISSION, "permission")          \
    X(STOPPED, "stopped")                \
    X(EXIT, "exit")

enum wait_cause {
#define WAIT_CAUSE_ENUM(name, text) WAIT_##name,
    WAIT_CAUSES(WAIT_CAUSE_ENUM)
#undef WAIT_CAUSE_ENUM
        WAIT_CAUSE_COUNT
};
/* What wait_function returns besides causes. */
#define WAIT_NO_LOCK   253 /* the same as WAIT_UNKNOWN, but what is waited for here is no lock */
#define WAIT_UNKNOWN   254 /* the function is not in the table: it may name the wait */
#define WAIT_SCHEDULER 255 /* the function says nothing: schedule() and other ways to wait, system call entry */

/* Returns the cause that a function stands for, or WAIT_NO_LOCK, WAIT_UNKNOWN, WAIT_SCHEDULER. Suffixes of compilers
 * (".isra.0") and prefixes of system calls ("__x64_sys_") don't matter. */
u8 wait_function(const char *name);

/* Returns the cause of a wait. `functions`: what wait_function returned for n functions, leaf first. `flags`:
 * XP_WAIT_*. *named: the function to show with WAIT_OTHER; n: none. */
enum wait_cause wait_decide(const u8 *functions, size_t n, unsigned flags, size_t *named);

/* Writes "[CAUSE]", or "[other: FUNCTION]" if there is a function: without suffixes, truncated to `size`. */
void wait_text(enum wait_cause cause, const char *function, char *out, size_t size);
