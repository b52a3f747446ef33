#include "serve/metrics.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void family(struct metrics *m, const char *name, const char *type, const char *help)
{
    m->family = name;
    m->counter = !strcmp(type, "counter");
    const char *suffix = m->counter && !m->openmetrics ? "_total" : "";
    buf_printf(m->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix, type);
}

void metrics_counter(struct metrics *m, const char *name, const char *help)
{
    family(m, name, "counter", help);
}

void metrics_gauge(struct metrics *m, const char *name, const char *help)
{
    family(m, name, "gauge", help);
}

void metrics_histogram(struct metrics *m, const char *name, const char *help)
{
    family(m, name, "histogram", help);
}

/* Label values escape backslash, quote and newline, and nothing else. */
static void label(struct metrics *m, const char *name, const char *value, const char *before)
{
    buf_printf(m->out, "%s%s=\"", before, name);
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            buf_char(m->out, '\\');
        if (*value == '\n')
            buf_str(m->out, "\\n");
        else
            buf_char(m->out, *value);
    }
    buf_char(m->out, '"');
}

static void number(struct metrics *m, double v)
{
    buf_printf(m->out, fabs(v) < 1e15 && v == floor(v) ? "%.0f\n" : "%.9g\n", v);
}

void metrics_value2(struct metrics *m, const char *label1, const char *value1, const char *label2, const char *value2,
                    double v)
{
    buf_printf(m->out, "%s%s", m->family, m->counter ? "_total" : "");
    if (label1)
        label(m, label1, value1, "{");
    if (label2)
        label(m, label2, value2, label1 ? "," : "{");
    buf_str(m->out, label1 || label2 ? "} " : " ");
    number(m, v);
}

static void histogram_line(struct metrics *m, const struct metrics_histogram *h, const char *suffix, const char *le,
                           double v)
{
    buf_printf(m->out, "%s_%s", m->family, suffix);
    label(m, h->labels[0], h->values[0], "{");
    label(m, h->labels[1], h->values[1], ",");
    if (le)
        label(m, "le", le, ",");
    buf_str(m->out, "} ");
    number(m, v);
}

/* The count is that of the last bucket: what is read while it changes adds up nevertheless. */
void metrics_buckets(struct metrics *m, const struct metrics_histogram *h)
{
    uint64_t sum = 0;
    char le[32];
    for (size_t i = 0; i <= h->buckets; i++) {
        sum += h->counts[i];
        if (i < h->buckets)
            snprintf(le, sizeof(le), "%.9g", h->bounds[i]);
        histogram_line(m, h, "bucket", i < h->buckets ? le : "+Inf", (double)sum);
    }
    histogram_line(m, h, "sum", NULL, h->sum);
    histogram_line(m, h, "count", NULL, (double)sum);
}

void metrics_value(struct metrics *m, const char *name, const char *value, double v)
{
    metrics_value2(m, name, value, NULL, NULL, v);
}

void metrics_end(struct metrics *m)
{
    if (m->openmetrics)
        buf_str(m->out, "# EOF\n");
}
