#include "serve/metrics.h"
#include "base/test.h"

static void write_all(struct metrics *m)
{
    metrics_counter(m, "events", "what happened");
    metrics_value(m, NULL, NULL, 3);
    metrics_value2(m, "kind", "a\\b\"c\nd", "of", "x", 1e15);
    metrics_gauge(m, "share", "of one");
    metrics_value(m, "who", "me", 0.25);
    metrics_value2(m, NULL, NULL, "second", "alone", -2);
    metrics_end(m);
    buf_char(m->out, 0);
}

/* A counter's family is called as its samples; labels are escaped; whole numbers stay exact. */
TEST(metrics_as_prometheus_text)
{
    AUTO_BUF struct buf out = {0};
    write_all(&(struct metrics){.out = &out});
    CHECK_STR(out.data,
              "# HELP events_total what happened\n"
              "# TYPE events_total counter\n"
              "events_total 3\n"
              "events_total{kind=\"a\\\\b\\\"c\\nd\",of=\"x\"} 1e+15\n"
              "# HELP share of one\n"
              "# TYPE share gauge\n"
              "share{who=\"me\"} 0.25\n"
              "share{second=\"alone\"} -2\n");
}

/* A counter's family has no suffix, but its samples do; the last line is an end mark. */
TEST(metrics_as_openmetrics)
{
    AUTO_BUF struct buf out = {0};
    write_all(&(struct metrics){.out = &out, .openmetrics = true});
    CHECK_STR(out.data,
              "# HELP events what happened\n"
              "# TYPE events counter\n"
              "events_total 3\n"
              "events_total{kind=\"a\\\\b\\\"c\\nd\",of=\"x\"} 1e+15\n"
              "# HELP share of one\n"
              "# TYPE share gauge\n"
              "share{who=\"me\"} 0.25\n"
              "share{second=\"alone\"} -2\n"
              "# EOF\n");
}

/* Buckets have what is in those before; whole and broken numbers; the last one has no bound. */
TEST(metrics_of_histograms_add_up)
{
    AUTO_BUF struct buf out = {0};
    struct metrics m = {.out = &out};
    const uint64_t counts[] = {2, 0, 3};
    const double bounds[] = {0.000016, 0.5};
    metrics_histogram(&m, "took", "how long");
    metrics_buckets(&m, &(struct metrics_histogram){.labels = {"a", "b"},
                                                    .values = {"x", "y\""},
                                                    .counts = counts,
                                                    .bounds = bounds,
                                                    .buckets = 2,
                                                    .sum = 7.5});
    buf_char(&out, 0);
    CHECK_STR(out.data,
              "# HELP took how long\n"
              "# TYPE took histogram\n"
              "took_bucket{a=\"x\",b=\"y\\\"\",le=\"1.6e-05\"} 2\n"
              "took_bucket{a=\"x\",b=\"y\\\"\",le=\"0.5\"} 2\n"
              "took_bucket{a=\"x\",b=\"y\\\"\",le=\"+Inf\"} 5\n"
              "took_sum{a=\"x\",b=\"y\\\"\"} 7.5\n"
              "took_count{a=\"x\",b=\"y\\\"\"} 5\n");
}
