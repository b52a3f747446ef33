/* Locks that threads waited for: the leaf of their stacks is a frame "[lock: NAME]", a location of its own for each
 * lock. NAME is a variable, or a place that says what kind of memory it is in.
 */
#pragma once
#include "base/buf.h"
#include "profile/profile.h"

#define LOCK_UNNAMED "[lock]"            /* in a file whose names are looked up later */
#define LOCK_MMAP    "[lock: mmap_lock]" /* the kernel's, of the mappings of a process */

/* Whether a frame with this name stands for a lock, in a mapping other than "[wait]". */
bool lock_is(const char *function);
/* Appends the frame's text for a lock in a file with this base name, NUL-terminated. `name`: of the variable, `offset`
 * into it; or NULL and the link-time address. */
void lock_text(struct buf *out, const char *base, const char *name, u64 offset);

/* Returns the lock of a stack. NULL: it is not of a wait for one that is known. */
const struct prof_location *stack_lock(const struct profile *p, const struct prof_stack *s);
/* Appends what tells this lock from all others: "NAME (FILE)", or its place and address; not terminated. */
void lock_label(const struct profile *p, const struct prof_location *l, struct buf *out);

/* Removes waits for locks in user space that were none, by the functions of their stacks (lock_kinds.h), and adds them
 * to p->left_out; a wait whose stack was not taken is judged by others for the
 * same. Renames locks that functions have better names for. `hide_idle`: removes blocked time of threads that
 * have nothing to do, too, and adds it to p->idle: event loops, and what waits for a futex that is no lock, as pools
 * do. Once all frames have names. Returns 0 or -ENOMEM. */
int locks_judge(struct profile *p, bool hide_idle);
