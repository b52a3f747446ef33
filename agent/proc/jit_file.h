/* Finds the map of generated code that the runtime of a process may have written: perf's text map in /tmp of its own
 * root, under the number that it has in its own PID namespace; or a jitdump, which it keeps mapped so that profilers
 * can find it.
 *
 * That /tmp is held open from first sight on, so that a map can be read after its process ended, and its mounts with
 * it: of short programs, and of those that write it at their end. Nothing outside of it is ever opened, and a text map
 * counts only if it belongs to the process's user or to root: /tmp is everybody's.
 */
#pragma once
#include "bpf/types.h"
#include <sys/types.h>

struct jit_place {
    int tmp, dump; /* -1: none; owned */
    u32 ns_pid;
    uid_t uid; /* of the process */
    u64 ticks; /* its start, as /proc/PID/stat says it: by number alone it might be another process meanwhile */
    u8 looks;  /* for a jitdump, so far */
};
#define JIT_PLACE_NONE        \
    {                         \
        .tmp = -1, .dump = -1 \
    }

/* While the process that began at `start` (ns since boot) is there. 0; -ESRCH: it is not, or its number is another's by
 * now; -errno. */
int jit_place_open(u32 tgid, u64 start, struct jit_place *out);
void jit_place_close(struct jit_place *p);
/* Looks for a jitdump among the mappings, while the process is there; a few times, and then no more. */
void jit_place_look(struct jit_place *p, u32 tgid);
/* The map, opened O_RDONLY: owned fd, or -ENOENT (none), -EPERM (it is another user's), -ENOTSUP (no regular file),
 * -errno. A jitdump, which knows lines, is preferred. */
int jit_place_map(struct jit_place *p, u32 tgid);
