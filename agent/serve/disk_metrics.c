/* The latency of disks on the page of metrics. */
#include "serve/health_internal.h"
#include <string.h>

static const char *operation(u64 op)
{
    static const char *const names[XP_DISK_OPS] = {[XP_DISK_OP_READ] = "read",
                                                   [XP_DISK_OP_WRITE] = "write",
                                                   [XP_DISK_OP_DISCARD] = "discard",
                                                   [XP_DISK_OP_FLUSH] = "flush"};
    return op < XP_DISK_OPS ? names[op] : "other";
}

/* A page without the event has no histograms. */
void health_write_disks(struct metrics *m, const struct health_figures *f)
{
    double bounds[XP_DISK_BUCKETS];
    for (size_t i = 0; i < XP_DISK_BUCKETS; i++)
        bounds[i] = (double)(XP_DISK_LEAST << i) / 1e9;
    if (f->disks.n)
        metrics_histogram(m, "xprof_disk_request_seconds",
                          "Time of all requests of disks, while the event disk is recorded, by device and operation.");
    for (size_t i = 0; i < f->disks.n; i++) {
        const struct probe_disk *d = &f->disks.v[i];
        char device[XP_DISK_NAME + 1] = "";
        memcpy(device, d->key.device, XP_DISK_NAME);
        metrics_buckets(m, &(struct metrics_histogram){.labels = {"device", "operation"},
                                                       .values = {device, operation(d->key.op)},
                                                       .counts = d->sum.bucket,
                                                       .bounds = bounds,
                                                       .buckets = XP_DISK_BUCKETS,
                                                       .sum = (double)d->sum.ns / 1e9});
    }
    metrics_counter(m, "xprof_disk_requests_left_out",
                    "Number of requests of disks in no histogram because there were too many devices.");
    metrics_value(m, NULL, NULL, (double)f->disks_left_out);
}
