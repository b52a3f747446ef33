/* Finds the map of generated code that the runtime of a process may have written: perf's text map in /tmp of its root,
 * named by its PID in its own PID namespace; or a jitdump, which the runtime keeps mapped so that profilers can find
 * it.
 *
 * That /tmp is kept open from the first sample on, so that a map can be read after its process exited and its mounts
 * are gone: for short programs, and for those that write the map at their end. Nothing outside of /tmp is opened. A
 * text map is used only if it belongs to the user of the process or to root, because everybody can write to /tmp.
 */
#pragma once
#include "bpf/types.h"
#include <sys/types.h>

struct opener;

struct jit_place {
    int tmp, dump; /* O_PATH; -1: none; owned */
    u32 ns_pid;
    uid_t uid; /* of the process */
    u64 ticks; /* its start, as in /proc/PID/stat: the PID alone might have been reused */
    u8 looks;  /* number of look-ups for a jitdump so far */
};
#define JIT_PLACE_NONE        \
    {                         \
        .tmp = -1, .dump = -1 \
    }

/* All calls take the opener of the calling thread (opener/opener.h). */

/* Opens /tmp of the process that started at `start` (ns since boot). Returns 0; -ESRCH: it exited, or its PID was
 * reused; or another -errno. */
int jit_place_open(struct opener *o, u32 tgid, u64 start, struct jit_place *out);
void jit_place_close(struct jit_place *p);
/* Looks for a jitdump among the mappings while the process runs. Only the first few calls have an effect. */
void jit_place_look(struct jit_place *p, struct opener *o, u32 tgid);
/* Returns the map as an owned O_PATH fd; -ENOENT: there is none; -EPERM: it belongs to another user;
 * -ENOTSUP: not a regular file; or another -errno. A jitdump is preferred, because it has lines. */
int jit_place_map(struct jit_place *p, struct opener *o, u32 tgid);
