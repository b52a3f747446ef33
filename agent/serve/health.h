/* Reports the health and metrics of the agent: /metrics, /healthz, /readyz. The server's thread reads counters that
 * other threads write; each counter is read atomically.
 */
#pragma once
#include "pipeline/pipeline.h"
#include "discover/discover.h"
#include "export/export.h"
#include "publish/publish.h"

struct health { /* all members are borrowed */
    struct pipeline *pipeline;
    struct discover *discover;
    struct exports *exports;
    struct publisher *publisher;
    const char *node;
    u64 looped_ns;      /* time of the collector's last iteration, to check that it is alive */
    unsigned rate;      /* sampling rate, in samples per second per CPU */
    unsigned throttled; /* how often max-cpu lowered the rate */
    u64 reloads, reload_errors;
};

void health_metrics(void *health, bool openmetrics, struct buf *out);
bool health_healthy(void *health, struct buf *why);
bool health_ready(void *health, struct buf *why);    /* it samples, and knows the pods of its node */
bool health_exports(void *health, struct buf *why);  /* at least one exporter is not failing */
bool health_targets(void *health, struct buf *json); /* false: the discovery thread does not respond */
