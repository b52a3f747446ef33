/* Locks of the kernel have no names there: what tells an inode's from another is which function takes it. The stack of
 * a wait for one begins with the functions of the tracepoint, and of the lock itself.
 */
#pragma once
#include <stdbool.h>

/* Whether this kernel function is one of eBPF programs and tracepoints: nothing that the thread did. */
bool kernel_lock_traces(const char *function);
/* Whether it takes a lock that it is told to take: its caller says more. */
bool kernel_lock_takes(const char *function);
