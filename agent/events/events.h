/* The table of event kinds that can be sampled. Its rows define -e, help, completion, pprof's types and the series on
 * servers. A row defines how the kind is attached by probe/; bpf/events/ has one file per way of attaching. A new kind
 * that perf can count needs one row here and nothing else.
 */
#pragma once
#include "probe/probe.h"
#include <stdbool.h>
#include <stddef.h>

struct event_kind {
    const char *name;         /* -e NAME */
    struct probe_event probe; /* how it is attached, except hz */
    const char *unit;         /* pprof unit of the value: "nanoseconds" or "count" */
    const char *type;         /* pprof type of the value: "cpu", "page_faults", ... */
    const char *series;       /* label __name__ on servers: first part of Pyroscope's profile type ID */
    unsigned default_hz;      /* samples per second per CPU */
    const char *help;
};

/* NULL when there is none. */
const struct event_kind *event_kind_find(const char *name);
/* All rows, in --help order. */
const struct event_kind *event_kinds(size_t *n);

/* Finds the kinds of the named events and the probe events for them, in the same order. `hz`: samples per second per
 * CPU; 0: the default of each kind. Returns 0; -EINVAL: there is no kind `names[*n]`; -E2BIG: more than
 * XP_MAX_EVENTS. */
int events_choose(const char *const *names, size_t count, unsigned hz, const struct event_kind *kinds[XP_MAX_EVENTS],
                  struct probe_event probes[XP_MAX_EVENTS], size_t *n);
