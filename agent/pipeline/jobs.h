/* The bounded queue of jobs from the collector to the worker. Besides the figures that each of them publishes
 * (figures.h), the two threads share nothing else. The receiver owns each job.
 */
#pragma once
#include "files/deferred.h"
#include "files/files.h"
#include "profile/aggregate.h"
#include "runtime/processes.h"

#define JOBS_MAX 8192

struct queue;

struct span { /* what was counted in an interval */
    struct aggregate *stacks;
    u64 time_ns; /* wall clock when it began, ns since 1970 */
    u64 duration_ns;
    unsigned hz; /* sampling rate of clocks when it ended, per CPU */
};

enum job_kind {
    JOB_FILE,     /* a file to build */
    JOB_DEFERRED, /* a stack to unwind once its files are built */
    JOB_SPAN,     /* an interval to name */
    JOB_RUNTIME,  /* a process whose runtime makes code */
    JOB_GAP,      /* a file in whose code, without unwind information, a stack stopped */
};
struct job {
    enum job_kind kind;
    union {
        struct file_job file;
        struct deferred_job deferred;
        struct span span;
        struct runtime_process process;
        u32 gap;
    };
};
/* NULL without memory. */
struct job *job_new(enum job_kind kind);
void job_free(struct job *j);

struct jobs {
    struct queue *queue;
    u64 deadline_ns; /* jobs_end_by */
};
/* 0 or -ENOMEM. */
int jobs_new(struct jobs *j);
void jobs_free(struct jobs *j); /* and what was never taken out */

/* Takes the job. 0; -ENOSPC: the queue is full or closed, and the job still the caller's. */
int jobs_put(struct jobs *j, struct job *job);
/* The oldest job, waiting up to timeout_ms; NULL: there is none. */
struct job *jobs_get(struct jobs *j, int timeout_ms);
size_t jobs_waiting(const struct jobs *j);
/* More than half full: what may be done without is no longer put. */
bool jobs_crowded(const struct jobs *j);
/* No job comes any more: jobs_done is true once the last one is taken. */
void jobs_close(struct jobs *j);
bool jobs_done(const struct jobs *j);
/* Sampling ended: from this time on (monotonic, ns), tables that were asked for are no longer built. */
void jobs_end_by(struct jobs *j, u64 deadline_ns);
/* Did sampling end? */
bool jobs_ended(const struct jobs *j);
/* The same, and is it that time or later? */
bool jobs_too_late(const struct jobs *j, u64 now_ns);
