/* Keeps the agent's CPU time below its limit. Above the limit it lowers the sampling rate; after some time below the
 * limit it raises the rate again. Pure: the caller measures CPU time and applies the rate.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>

struct governor {
    unsigned max_percent; /* of one CPU */
    unsigned share;       /* percent of the rate that was asked for */
    unsigned told;        /* the share that is in effect */
    unsigned throttled;   /* how often it was lowered */
    u64 looked_ns;
    double cpu_seconds; /* when it last looked */
    unsigned calm;      /* looks in a row that were far below */
};

void governor_init(struct governor *g, unsigned max_percent);
/* Would governor_look do more than answer? For those to whom measuring is dear. */
bool governor_due(const struct governor *g, u64 now_ns);
/* Once in a while, with all CPU time used so far. The share to be taken from now on; it changes every ten seconds at
 * most. Says so in the log when it changes. */
unsigned governor_look(struct governor *g, double cpu_seconds, u64 now_ns);
