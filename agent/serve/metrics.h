/* Writes metrics in Prometheus text format 0.0.4 or OpenMetrics 1.0. A family is opened once, then its samples follow;
 * the two formats differ in the names of counter families and in the end mark.
 */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

struct metrics {
    struct buf *out;
    bool openmetrics;
    const char *family; /* the open one; borrowed */
    bool counter;
};

void metrics_counter(struct metrics *m, const char *family, const char *help); /* named without "_total" */
void metrics_gauge(struct metrics *m, const char *family, const char *help);
/* One sample of the open family; label and value may be NULL. */
void metrics_value(struct metrics *m, const char *label, const char *value, double v);
void metrics_value2(struct metrics *m, const char *label1, const char *value1, const char *label2, const char *value2,
                    double v);
void metrics_histogram(struct metrics *m, const char *family, const char *help);
struct metrics_histogram {
    const char *labels[2], *values[2]; /* of its series */
    const uint64_t *counts;            /* of each bucket alone, the last one without bound */
    const double *bounds;              /* of the others */
    size_t buckets;                    /* with a bound */
    double sum;
};
/* One series of the open family of histograms. */
void metrics_buckets(struct metrics *m, const struct metrics_histogram *h);
void metrics_end(struct metrics *m);
