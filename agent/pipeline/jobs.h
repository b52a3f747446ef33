/* The bounded queue of jobs from the collector to the worker. Apart from the counters that each thread publishes
 * (figures.h), the two threads share nothing else. The receiver owns each job.
 */
#pragma once
#include "base/shares.h"
#include "files/deferred.h"
#include "files/files.h"
#include "parser/parser.h"
#include "profile/aggregate.h"
#include "runtime/processes.h"
#include <pthread.h>

#define JOBS_MAX 8192

struct queue;

struct span { /* the samples of an interval */
    struct aggregate *stacks;
    u64 time_ns; /* wall clock at its start, ns since 1970 */
    u64 duration_ns;
    unsigned hz; /* sampling rate of clocks at its end, per CPU */
};

enum job_kind {
    JOB_FILE,     /* a file to build */
    JOB_DEFERRED, /* a stack to unwind once its files are built */
    JOB_SPAN,     /* an interval to symbolize */
    JOB_RUNTIME,  /* a process whose runtime generates code */
    JOB_GAP,      /* a file where a stack stopped in code without unwind information */
    JOB_CODE,     /* a process that runs generated code without known unwind information */
    JOB_NAMES,    /* frames of a runtime, to be named soon */
    JOB_SLEEPER,  /* a stack whose bytes are still to be read: becomes JOB_DEFERRED (pipeline/sleepers.h) */
};
struct code_job {
    u32 tgid;
    u64 start;                    /* of the process, as in samples */
    u64 cgroup;                   /* whose share its tables count against */
    u64 stack;                    /* proc_start_stack */
    bool anonymous;               /* a sample had generated code */
    struct parser_reply reply;    /* for generated_open; empty before it was read */
    struct parser_reply attached; /* instead of that: what there is of its runtime (runtime/runtime.h) */
};
struct names_job {
    u32 tgid;
    u64 start, cgroup;           /* as above */
    u64 *words;                  /* owned: two of each frame */
    size_t n;                    /* frames */
    struct xp_code_event *codes; /* owned: texts of code that may be gone */
    size_t ncodes;
    struct parser_reply reply; /* for names_view; empty before it was read */
};
struct job {
    enum job_kind kind;
    u64 put_ns; /* when it was put into the queue */
    union {
        struct file_job file;
        struct deferred_job deferred;
        struct span span;
        struct runtime_process process;
        struct gap {
            u32 file;
            u64 offset;
        } gap;
        struct code_job code;
        struct names_job names;
    };
};
/* Returns NULL if out of memory. */
struct job *job_new(enum job_kind kind);
void job_free(struct job *j);

#define JOBS_SPAN_BYTES (64u << 20) /* limit for the intervals that wait, except that there may always be one */
#define JOBS_CODE_BYTES (64u << 20) /* limit for what was read of generated code */
#define JOBS_DUMP_BYTES (32u << 20) /* limit for the copies of stacks that wait in the queue */

struct jobs {
    struct queue *queue;
    struct queue *stacks; /* of waits, on their way back to the collector */
    u64 deadline_ns;      /* jobs_end_by */
    bool share;           /* jobs_share */
    pthread_mutex_t lock;
    struct shares dumps;         /* under the lock: bytes of JOB_DEFERRED, by cgroup */
    struct shares code;          /* the same of JOB_CODE */
    size_t span_bytes;           /* under the lock: of intervals that wait, here or on their way */
    u64 names_asked, names_done; /* atomic: jobs of that kind */
};
/* 0 or -ENOMEM. */
int jobs_new(struct jobs *j);
/* Gives each cgroup only a share of the memory for copies of stacks. To be called before the first jobs_put. */
void jobs_share(struct jobs *j);
void jobs_free(struct jobs *j); /* and the jobs left in it */

/* Takes ownership of the job. Returns 0; -ENOSPC: the queue is full or closed, or there is no memory for this cgroup's
 * copies of stacks or generated code; the caller keeps the job. */
int jobs_put(struct jobs *j, struct job *job);
/* Reserves room for an interval, until jobs_get returns it. False: the worker is so far behind that there is none. */
bool jobs_reserve_span(struct jobs *j, const struct span *s);
/* For an interval that was not put. */
void jobs_release_span(struct jobs *j, const struct span *s);
/* Takes the oldest job, waiting up to timeout_ms; NULL: there is none. */
struct job *jobs_get(struct jobs *j, int timeout_ms);
/* Note that frames are to be named, and that this is over, whatever came of it. */
void jobs_names_asked(struct jobs *j);
void jobs_names_done(struct jobs *j);
/* Tells whether names of frames that were asked for are still to come. */
bool jobs_names_open(const struct jobs *j);
/* The way back: a stack of a wait (XP_RECORD_STACK), or with frames that are to be named, that was unwound. Takes
 * ownership. */
void jobs_return_stack(struct jobs *j, struct xp_sample *stack);
/* Returns an owned stack that came back; NULL: there is none. */
struct xp_sample *jobs_returned_stack(struct jobs *j);
size_t jobs_waiting(const struct jobs *j);
/* Tells whether the queue is more than half full. Optional jobs are then no longer put. */
bool jobs_crowded(const struct jobs *j);
/* Closes the queue. jobs_done is true once the last job is taken. */
void jobs_close(struct jobs *j);
bool jobs_done(const struct jobs *j);
/* Marks the end of sampling. After `deadline_ns` (monotonic), requested tables are no longer built. */
void jobs_end_by(struct jobs *j, u64 deadline_ns);
/* Tells whether sampling ended. */
bool jobs_ended(const struct jobs *j);
/* Tells whether sampling ended and the deadline has passed. */
bool jobs_too_late(const struct jobs *j, u64 now_ns);
