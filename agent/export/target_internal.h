/* A target from inside: target.c has its threads, target_pick.c says which profile is next, target_settle.c what became
 * of it. All with the target's lock.
 */
#pragma once
#include "export/target.h"
#include <pthread.h>

#define MS     1000000ull
#define WINDOW 32

struct entry { /* a profile that was read and is not answered for */
    enum { FREE, FLYING, WAITING } state;
    bool suspect; /* its last failure may have been its own fault, */
    u64 passed;   /* when the target had passed so many */
    unsigned guilt;
    u64 seq, wall_ns, segment, at;
};

struct lane { /* a thread, with an exporter of its own */
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
    unsigned failures; /* without a success, as back-offs count them */
    u64 not_before, passed;
    u64 rate, tokens_ns; /* bytes a second; when they were counted */
    s64 tokens;
    struct export_stats stats;
    u32 told, fresh; /* bits by reason: lines that were handed out, that wait for it */
    char lines[EXPORT_NREASONS][256];
};

/* ---- target_settle.c ---- */

/* What is to be said of a failure: in the statistics, and once an outage in the log. */
void target_tell(struct target *t, enum export_reason r, const char *message);
void target_drop(struct target *t, struct entry *e, enum export_reason r, u64 bytes);
void target_commit(struct target *t);
/* The exporter's verdict on a profile of so many bytes. */
void target_settle(struct target *t, struct entry *e, const struct verdict *v, u64 bytes);

/* ---- target_pick.c ---- */

/* Counts what the spool lost. */
void target_note_lost(struct target *t);
/* The entry to send, FLYING, its profile in the lane; or NULL, and how long to wait for a change at most. */
struct entry *target_pick(struct lane *l, u64 *wait_ns);
