/* The scheduler on a time axis: who ran, waited and woke whom, on every CPU and for every wanted thread.
 *
 *   timeline_new -> timeline_start -> timeline_poll, at least each second -> timeline_stop -> timeline_write
 *
 * What comes is kept in a bounded store (store.h): the oldest goes first. One thread calls all of it.
 */
#pragma once
#include "bpf/types.h"
#include "timeline/sink.h"
#include <stdbool.h>
#include <stddef.h>

struct timeline;
struct profile;

struct timeline_config {
    const u32 *pids; /* processes whose threads are wanted, with their children; NULL: it depends on the cgroup */
    size_t npids;
    u64 cgroup;        /* threads of which cgroup are wanted (struct probe_config); 0: all */
    int cgroup_subsys; /* the same */
    size_t bytes;      /* memory for what is kept */
};
enum timeline_format {
    TIMELINE_TRACE,   /* Chrome's trace event format, which Perfetto reads */
    TIMELINE_FIREFOX, /* the Firefox Profiler's processed format */
};
struct timeline_report {
    u64 switches, wakeups;
    u64 lost;          /* records for which the kernel side had no room */
    u64 dropped;       /* events that were too old for the memory */
    u64 left_out;      /* events of threads beyond those for which there is room */
    u64 bytes;         /* of memory, at most */
    double seconds;    /* that are told: up to the end */
    u32 threads, cpus; /* threads that were seen */
};

/* Loads the eBPF programs. Returns 0, or -errno and a line in why[]. */
int timeline_new(struct timeline **out, const struct timeline_config *config, char *why, size_t len);
void timeline_free(struct timeline **t);
int timeline_start(struct timeline *t, char *why, size_t len); /* the same */
int timeline_poll(struct timeline *t);                         /* 0 or -errno */
void timeline_stop(struct timeline *t);
/* Writes a file. `p`: that of the recording, perhaps without stacks; strings are added to it. Returns 0 or -errno. */
int timeline_write(struct timeline *t, enum timeline_format format, struct profile *p, struct timeline_sink sink);
void timeline_report(const struct timeline *t, struct timeline_report *out);
