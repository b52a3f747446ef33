/* Names of the threads that hold locks. The kernel side reads a number where a mutex has that of its owner; that it is
 * one shows when the process has such a thread. It is numbered in the process's own namespace of PIDs. Owned by the
 * collector.
 */
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "base/vec.h"
#include "bpf/types.h"

#define HOLDERS_THREADS 16384 /* looked at in an interval; each one is a file of 1 KB in /proc */

struct holder_names {
    struct map places; /* process and number of a thread -> its place in `names`, plus 1; 0: there is none */
    VEC(struct holder) names;
};
struct holders {
    struct holder_names now;    /* of this interval */
    struct holder_names before; /* of the last one: of threads that have ended since */
    struct map listed;          /* processes whose threads were all looked at: 1 */
    struct shares looks;        /* of HOLDERS_THREADS, by cgroup */
    u64 refused;                /* holders that were not looked for: their cgroup had used up its share */
};

/* Returns the name of thread `tid` of a process in `cgroup`, which started `start` ns after boot, valid until the next
 * call. NULL: there was no such thread in this interval, nor in the last one. */
const char *holders_name(struct holders *h, u64 cgroup, u32 tgid, u64 start, u32 tid);
/* Ends an interval: names change, and numbers are used again. */
void holders_tick(struct holders *h);
void holders_free(struct holders *h);
