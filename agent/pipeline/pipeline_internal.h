/* Declarations shared by pipeline.c and report.c. */
#pragma once
#include "pipeline/collector.h"
#include "pipeline/pipeline.h"
#include "opener/hung.h"
#include "opener/opener.h"
#include "pipeline/worker.h"

struct pipeline {
    struct pipeline_config config;
    struct probe *probe;
    struct hung *hung;
    struct opener *opener; /* the worker's */
    struct openings *openings;
    struct heaps *heaps[XP_MAX_EVENTS]; /* NULL: nothing in files is followed for the event */
    struct parser *parser;
    struct cache *cache;
    struct jobs jobs;
    struct collector *collector;
    struct worker *worker;
    bool started;
    u64 created_ns, started_ns, stopped_ns; /* monotonic; 0: not yet */
};
