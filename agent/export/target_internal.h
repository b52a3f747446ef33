/* Declarations shared by the files of a target: target.c runs the threads, target_pick.c selects the next profile,
 * target_settle.c handles its result. All functions require the target's lock.
 */
#pragma once
#include "export/target.h"
#include <pthread.h>

#define MS     1000000ull
#define WINDOW 32

struct entry { /* a profile that was read and is not acknowledged yet */
    enum { FREE, FLYING, WAITING } state;
    bool suspect; /* its last failure may have been its own fault */
    u64 passed;   /* value of the target's `passed` at that failure */
    unsigned guilt;
    u64 seq, wall_ns, segment, at;
};

struct lane { /* a thread with its own exporter */
    struct target *target;
    pthread_t thread;
    bool running;
    void *exporter;
    struct spool_record record;
    struct export_profile profile;
};

struct target {
    const struct exporter *kind;
    struct export_target config;
    struct spool *spool;
    struct spool_reader *reader;
    pthread_mutex_t lock;
    pthread_cond_t change;
    volatile bool stop;
    bool flush;
    struct lane lanes[EXPORT_MAX_PARALLEL];
    size_t nlanes;
    struct entry window[WINDOW];
    bool sick;
    unsigned failures; /* consecutive failures, for the back-off */
    u64 not_before, passed;
    u64 rate, tokens_ns; /* bytes per second; time of the last refill */
    s64 tokens;
    struct export_stats stats;
    u32 told; /* bits by reason: lines already returned */
    /* What others read. Its lock is never held while a disk or a server is waited for, as the other one is. */
    pthread_mutex_t shown_lock;
    struct export_stats shown;
    u64 shown_oldest_ns; /* wall clock, of the oldest profile that is pending; 0: none */
    u32 fresh;           /* bits by reason: lines to be returned */
    char lines[EXPORT_NREASONS][256];
};

/* ---- target_settle.c ---- */

/* Reports a failure: in the statistics, and once per outage in the log. */
void target_tell(struct target *t, enum export_reason r, const char *message);
void target_drop(struct target *t, struct entry *e, enum export_reason r, u64 bytes);
void target_commit(struct target *t);
/* Applies the exporter's verdict on a profile of that many bytes. */
void target_settle(struct target *t, struct entry *e, const struct verdict *v, u64 bytes);

/* ---- target_pick.c ---- */

/* Counts the records that the spool lost. */
void target_note_lost(struct target *t);
/* Publishes the figures. */
void target_show(struct target *t);
/* Returns the entry to send, in state FLYING, with its profile in the lane; or NULL, and the maximum time to wait for a
 * change. */
struct entry *target_pick(struct lane *l, u64 *wait_ns);
