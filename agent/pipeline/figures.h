/* Publishes the counters of a thread, so that others (such as the server's thread) can read them at any time. The
 * counters are a struct of u64s only. One thread writes. Readers read each word atomically, but different words may be
 * of different times.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "debug/debuginfod.h"
#include "debug/line_indexes.h"
#include "debug/name_indexes.h"
#include "files/code_tables.h"
#include "files/files.h"
#include "pipeline/frame_names.h"
#include "pipeline/machines.h"

enum event_stack { EVENT_STACK_COMPLETE, EVENT_STACK_CUT, EVENT_STACK_NONE, EVENT_STACKS };

struct tally { /* sums over all symbolized stacks */
    u64 user_samples, complete, dropped;
    u64 cause[XP_CAUSE_COUNT];
    u64 events[XP_MAX_EVENTS][EVENT_STACKS]; /* occurrences of each event, by what there is of their user stacks */
};

struct runtime_figures { /* runtimes whose memory is read */
    struct machines_stats machines;
    struct frame_names_stats frames;
    u64 unknown; /* processes whose runtime was recognised, but not understood */
};

struct worker_figures {
    struct tally tally;
    u64 files, failed_files, evicted_files, rows, synth_rows, deferred, map_bytes, cut_names;
    u64 refused;                /* announcements of files, because too many wait; they are repeated */
    u64 late_names, late_lines; /* look-ups that were put off: a container used up its time */
    u64 left_out, left_out_ns;  /* waits for what is no lock (profile/locks.h) */
    u64 idle, idle_ns;          /* waits of idle threads that were to be hidden */
    u64 synth[FILES_SYNTH_COUNT];
    struct files_held held;
    struct code_tables_stats code;
    struct runtime_figures runtime;
    struct line_indexes_stats lines;
    struct name_indexes_stats names;
    struct debuginfod_stats server;
};

struct worker_lag {
    u64 busy_ns; /* how long the worker has been at the job at hand; 0: it waits for one */
    u64 late_ns; /* how long ago that job, the oldest one, was put into the queue */
};

struct collector_figures {
    u64 seen, user, complete; /* samples; those with a user stack; those whose user stack is complete */
    u64 dropped;              /* in the current span: the memory budget of stacks was used up */
    u64 queue_full;           /* announcements rejected because the queue was full; they are repeated */
    u64 malformed;            /* records and samples shorter than their stated length */
    u64 waits;                /* waits among the samples: the kernel side does not count these */
    u64 tags_lost;            /* sums whose file or peer has no name: there was no room */
    u64 holders_refused;      /* holders of locks that were not looked for: there were too many */
    u64 waits_lost;           /* waits whose stack is not known, or intervals of waits that could not be read */
};

struct heaps_figures {         /* of allocators that are followed, since the start */
    u64 processes;             /* now */
    u64 files, attached;       /* files with allocators; pairs of process and file */
    u64 failed;                /* such pairs without success, and files that could not be read */
    u64 refused;               /* events for which there was no room */
    u64 probes_refused;        /* pairs of process and file where the kernel refused probes */
    u64 without;               /* files of the name that is looked for, without the function */
    u64 remote;                /* files that are left alone, because their file systems may not answer */
    u64 left_out;              /* places in files that are not followed, because a file has too many */
    u64 go_refused;            /* Go programs whose heap profile was not read: a limit was reached */
    u64 hits;                  /* of probes */
    u64 rests;                 /* how often allocations of a process were no longer watched, for their cost */
    u64 watched_ns, rested_ns; /* how long those of processes were watched, and were not: sums */
    u64 unknown;               /* blocks whose frees could not be seen for that reason */
    u64 leaks, leaked_bytes;   /* call paths that leak, and by how much they grew, */
    u64 leaks_span_ns;         /* in this time */
    u64 leaks_told;            /* 1: it was long enough to tell leaks from anything else */
};

/* Copies `size` bytes, a multiple of 8, word by word. */
static inline void figures_copy(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size / sizeof(u64); i++)
        __atomic_store_n((u64 *)to + i, __atomic_load_n((const u64 *)from + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}
