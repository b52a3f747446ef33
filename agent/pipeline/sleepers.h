/* Takes the stack of a thread that sleeps: its memory is read by an opener, because reading it may hang, and unwound
 * like a deferred stack.
 */
#pragma once
#include "files/deferred.h"

struct hung;
struct opener;

/* Makes a job of a thread: a stack without words, under the thread's key, and a dump without bytes. Returns 0 or
 * -ENOMEM. */
int sleepers_job(struct deferred_job *out, const struct xp_sleeper *z, const struct xp_mapping *maps, size_t nmaps);
/* Reads the bytes of the dump. Returns 0; -EAGAIN: the thread has run since; or another -errno. */
int sleepers_read(struct deferred_job *job, struct opener *o, struct hung *h);
/* Tells whether the thread of such a stack has not run since. False also for stacks of other threads. */
bool sleepers_sleep(const struct xp_sample *s, const struct xp_dump *d);
