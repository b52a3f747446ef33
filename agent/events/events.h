/* The table of event kinds that can be sampled. Its rows define -e, help, completion, pprof's types and the series on
 * servers. A row says how the kind is attached; probe/ does it, and bpf/events/ has a file for each way. A new kind
 * that perf can count is one row here and nothing else.
 */
#pragma once
#include "probe/probe.h"
#include <stdbool.h>
#include <stddef.h>

struct event_kind {
    const char *name;         /* -e NAME */
    struct probe_event probe; /* how it is attached, but for hz */
    const char *unit;         /* pprof unit of the value: "nanoseconds" or "count" */
    const char *type;         /* pprof type of the value: "cpu", "page_faults", ... */
    const char *series;       /* label __name__ on servers: the first part of Pyroscope's profile type id */
    unsigned default_hz;      /* samples per second per CPU */
    const char *help;
};

/* NULL when there is none. */
const struct event_kind *event_kind_find(const char *name);
/* All rows, in --help order. */
const struct event_kind *event_kinds(size_t *n);

/* The events of a recording: kinds by their names, and what the probe attaches for them, row by row. `hz`: samples per
 * second per CPU; 0: each kind's own. 0; -EINVAL: there is no kind `names[*n]`; -E2BIG: there are more than
 * XP_MAX_EVENTS. */
int events_choose(const char *const *names, size_t count, unsigned hz, const struct event_kind *kinds[XP_MAX_EVENTS],
                  struct probe_event probes[XP_MAX_EVENTS], size_t *n);
