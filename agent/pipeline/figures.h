/* Publishes the figures of a thread, so that others (such as the server's thread) can read them at any time. Figures
 * are a struct of u64s and nothing else. One thread writes; readers take each word whole, and the words may be of two
 * moments.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "debug/debuginfod.h"
#include "debug/line_indexes.h"
#include "files/files.h"

struct tally { /* sums over all stacks that were named */
    u64 user_samples, complete, dropped;
    u64 cause[XP_CAUSE_COUNT];
};

struct worker_figures {
    struct tally tally;
    u64 files, failed_files, evicted_files, rows, synth_rows, deferred, map_bytes, cut_names;
    u64 synth[FILES_SYNTH_COUNT];
    struct line_indexes_stats lines;
    struct debuginfod_stats server;
};

struct collector_figures {
    u64 seen, user, complete; /* samples; those with a user stack; those of them that reached its end */
    u64 dropped;              /* of the span that is being counted: the budget of stacks was full */
    u64 queue_full;           /* announcements that found no place: they are made again */
    u64 malformed;            /* records and samples shorter than they say */
};

/* Copies `size` bytes, a multiple of 8, word by word. */
static inline void figures_copy(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size / sizeof(u64); i++)
        __atomic_store_n((u64 *)to + i, __atomic_load_n((const u64 *)from + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}
