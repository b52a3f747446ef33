/* What the scheduler does on all CPUs, record by record (bpf/timeline.h), for a time axis. One thread calls all of it.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/timeline.h"
#include <stddef.h>

struct timeline_probe;

struct timeline_handlers { /* records in the order in which the kernel side wrote them: nearly that of their times */
    void *ctx;
    void (*event)(void *ctx, const struct xp_tl_event *e);
    void (*task)(void *ctx, const struct xp_tl_task *t);
    void (*listed)(void *ctx, const struct xp_tl_listed *t);
};

/* Loads the programs. `cgroup`: whose threads have `wanted` set, by its inode number, in this hierarchy (struct
 * probe_config); 0: all have it. Returns 0, or -errno and a line in why[]. */
int timeline_probe_new(struct timeline_probe **out, u64 cgroup, int cgroup_subsys, char *why, size_t len);
void timeline_probe_free(struct timeline_probe **p);
/* Records come from now on; then passes all threads that there are. Returns 0, or -errno and a line. */
int timeline_probe_start(struct timeline_probe *p, const struct timeline_handlers *h, char *why, size_t len);
/* Passes what is there. To be called at least each second: the ring is lost to what comes after it is full. Returns 0
 * or -errno. */
int timeline_probe_poll(struct timeline_probe *p, const struct timeline_handlers *h);
/* No more records come. */
void timeline_probe_stop(struct timeline_probe *p);
/* Reads a kernel stack, leaf first. Returns the number of frames; 0: it is not known. */
size_t timeline_probe_stack(const struct timeline_probe *p, u32 stack, u64 frames[XP_TL_FRAMES]);
/* Returns the number of records that were lost because the ring was full. */
u64 timeline_probe_lost(const struct timeline_probe *p);
int timeline_probe_cpus(const struct timeline_probe *p); /* every CPU number is below it */
