/* Opens what the collector has met, on threads of their own, and passes it on to the worker. Neither of them may wait
 * for a file system: the collector would lose samples, the worker delay everybody's profiles.
 *
 * There are two lanes. Files of local file systems are in one, and so are intervals, which thus reach the worker after
 * the files of their stacks. The other one has all that a container could make hang by itself: files of FUSE and of
 * network file systems, and directories and memory of processes. Files in it are also read once, by a parser process of
 * its own, before the worker reads them.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>

struct hung;
struct job;
struct jobs;
struct openings;
struct probe;

#define OPENINGS_MAX 4096 /* jobs that wait in a lane */

/* All arguments are borrowed. The threads start at once. Returns 0, -ENOMEM or another -errno. */
int openings_new(struct openings **out, struct probe *probe, struct jobs *jobs, struct hung *hung);
/* What was not opened yet is dropped. */
void openings_free(struct openings **o);

/* Takes ownership of a job. Returns 0; -ENOSPC: there is no room, and the caller keeps it. */
int openings_put(struct openings *o, struct job *job);
/* Waits until the threads have started and all that was put has been passed on, but at most until deadline_ns
 * (monotonic). */
void openings_settle(struct openings *o, u64 deadline_ns);

/* Any thread may call these: files that the worker had no room for, so that they are announced again; processes whose
 * runtime was not understood; CPU time of the children, in ns. */
u64 openings_refused(struct openings *o);
u64 openings_unknown(struct openings *o);
u64 openings_cpu_ns(struct openings *o);
