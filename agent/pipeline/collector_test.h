/* A collector between a kernel side and a queue that tests fill and look into. */
#pragma once
#include "base/cleanup.h"
#include "pipeline/collector_internal.h"
#include "probe/fake_test.h"

struct hung;

struct collector_desk {
    struct probe *probe;
    struct jobs jobs;
    struct hung *hung;
    struct openings *openings;
    struct collector *c;
};
int collector_desk_new(struct collector_desk *d);
void collector_desk_free(struct collector_desk *d);
#define DESK                                                            \
    CLEANUP(collector_desk_free) struct collector_desk d = {.c = NULL}; \
    CHECK_EQ(collector_desk_new(&d), 0)
/* Polls, and waits until what was met is with the worker. */
void collector_desk_poll(struct collector_desk *d);

struct collector_sample { /* of a stack of one frame */
    struct xp_sample s;
    u64 word;
};
struct collector_sample collector_sample_at(u64 time, u8 cause);
void collector_desk_push(struct collector_desk *d, struct collector_sample s);
