/* Declarations shared by worker.c and worker_spans.c: the state that the worker's thread owns. */
#pragma once
#include "base/turns.h"
#include "files/code_tables.h"
#include "pipeline/backlog.h"
#include "pipeline/machines.h"
#include "pipeline/worker.h"
#include <pthread.h>

struct worker {
    struct worker_config config;
    struct files *files;
    struct code_tables *code;
    struct machines *machines;
    u64 code_aged_ns;
    struct deferred *deferred;
    struct aggregate *deferred_stacks; /* unwound since the last interval */
    struct namer *namer;
    struct turns builds;    /* the time of an interval for building files */
    struct backlog backlog; /* files of cgroups that used up theirs */
    u64 refused;
    struct tally tally;
    struct span last; /* worker_stop's, to end with */
    struct job *held; /* an interval whose frames are being named; NULL: none */
    u64 held_until_ns;
    u64 rss_bytes;
    pthread_t thread;
    bool running;
    struct worker_figures shown;
    u64 began_ns, put_ns; /* the job at hand, for other threads; 0: none */
};

/* Holds an interval until the names of its last frames have come, but not for long. Takes ownership. */
void worker_hold(struct worker *w, struct job *span);
/* Delivers the interval that is held, if there is one whose time has come; `now`: in any case. */
void worker_release(struct worker *w, bool now);
/* What an interval brought, deferred stacks of the one before included, goes to the sink. */
void worker_deliver(struct worker *w, struct span *s);
