/* The table of event kinds: a new kind that perf can count is one row here. */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct event_kind {
    const char *name; /* -e NAME */
    u32 perf_type;    /* PERF_TYPE_* */
    u64 perf_config;
    const char *unit;    /* pprof unit of the value: "nanoseconds" or "count" */
    const char *type;    /* pprof type of the value: "cpu", "page_faults", ... */
    const char *series;  /* label __name__ on servers: the first part of Pyroscope's profile type id */
    unsigned default_hz; /* samples a second and CPU */
    bool time;           /* a clock: the period is 1e9 / hz ns exactly; else the kernel adapts it to hz */
    const char *help;
};

/* NULL when there is none. */
const struct event_kind *event_kind_find(const char *name);
/* All rows, in --help order. */
const struct event_kind *event_kinds(size_t *n);
