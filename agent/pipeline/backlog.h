/* Files that are built when nothing else waits, because their cgroups have used up their part of the worker's time.
 * Each holds a descriptor, so their number is limited. */
#pragma once
#include "base/shares.h"
#include "base/vec.h"

struct job;
struct turns;

#define BACKLOG_MAX 1024

struct backlog { /* {.shares.limit = BACKLOG_MAX} at first; release with backlog_free */
    VEC(struct job *) files;
    struct shares shares; /* of the places, by cgroup */
};

/* Takes ownership of a JOB_FILE. Returns 0; -ENOSPC: there are too many, of all or of its cgroup, and the caller keeps
 * it. */
int backlog_put(struct backlog *b, struct job *file);
/* Takes the oldest file of the cgroup that used least time lately. NULL: there is none. */
struct job *backlog_take(struct backlog *b, const struct turns *turns);
void backlog_free(struct backlog *b);
