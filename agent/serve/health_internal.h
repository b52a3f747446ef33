/* The values for the metrics page: health.c collects them, health_metrics.c writes the page. */
#pragma once
#include "base/vec.h"
#include "serve/health.h"
#include "serve/metrics.h"

#define HEALTH_STAGES 32

struct health_stage { /* all threads with one name */
    char name[32];
    double cpu_seconds;
};

struct health_figures {
    const char *node; /* borrowed */
    unsigned rate, throttled;
    u64 reloads, reload_errors;
    struct pipeline_report pipeline;
    probe_disk_list disks;
    u64 disks_left_out;
    struct worker_lag lag;
    size_t nstages;
    struct health_stage stages[HEALTH_STAGES];
    struct publisher_stats publisher;
    VEC(struct export_stats) exports;
    struct export_spool_stats spool;
    bool discovered; /* the discovery has answered: */
    struct discover_stats discover;
};

/* Tell whether the worker is alive, and whether profiles are not late; if not, `why` gets a line. */
bool health_worker_lives(const struct worker_lag *lag, struct buf *why);
bool health_worker_keeps_up(const struct worker_lag *lag, struct buf *why);
void health_write(struct buf *out, bool openmetrics, const struct health_figures *f);
/* The parts of it about programs that are attached to files of processes, and about disks. */
void health_write_heaps(struct metrics *m, const struct pipeline_report *r);
void health_write_disks(struct metrics *m, const struct health_figures *f);
