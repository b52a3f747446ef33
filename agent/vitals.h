/* How the agent itself is doing: /metrics, /healthz, /readyz. Read by the server's thread from counters that others
 * write, each read whole.
 */
#pragma once
#include "agent.h"
#include "discover.h"
#include "export/export.h"
#include "publish.h"

struct vitals { /* borrowed, all of them */
    struct agent *agent;
    struct discover *discover;
    struct exports *exports;
    struct publisher *publisher;
    const char *node;
    u64 looped_ns;      /* when the collector last came round: it is alive */
    unsigned rate;      /* samples a second and CPU, now */
    unsigned throttled; /* how often max-cpu lowered the rate */
    u64 reloads, reload_errors;
};

void vitals_metrics(void *vitals, bool openmetrics, struct buf *out);
bool vitals_healthy(void *vitals, struct buf *why);
bool vitals_ready(void *vitals, struct buf *why);
bool vitals_targets(void *vitals, struct buf *json); /* false: the discovery does not answer */
