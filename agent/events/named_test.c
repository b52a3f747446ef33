#include "base/cleanup.h"
#include "base/test.h"
#include "events/made.h"
#include <errno.h>
#include <string.h>

static char why[256];

static const struct event_kind *make(struct event_made *made, const char *as, const char *probe, const char *value)
{
    const struct event_choice choice = {
        .as = as, .value = value, .find = event_find_by_name, .find_usdt = event_find_usdt_by_name};
    return event_make(made, probe, &choice, why, sizeof(why));
}

TEST(named_probes_are_kinds_of_their_own)
{
    CLEANUP(event_made_free) struct event_made made = {.n = 0};
    const struct event_kind *k = make(&made, "tls-bytes", "uprobe:libssl.so.3:SSL_write", "arg3:bytes");
    CHECK(k && !strcmp(k->name, "tls-bytes") && !strcmp(k->series, "tls_bytes"));
    CHECK_STR(k->values[0].type, "tls_bytes");
    CHECK_STR(k->values[0].unit, "bytes");
    CHECK_STR(k->values[0].count, "tls_bytes_count");
    CHECK_STR(k->probe.object, "function");
    CHECK_STR(k->probe.places->file, "libssl.so.3");
    CHECK_STR(k->probe.places->function, "SSL_write");
    CHECK(event_made_find(&made, "tls-bytes") == k && !event_made_find(&made, "uprobe:libssl.so.3:SSL_write"));
    const struct event_kind *other = make(&made, "ends", "uretprobe:/usr/bin/x:stop*", NULL);
    CHECK(other && other->probe.places->when == PROBE_RETURNS);
    CHECK_STR(other->values[0].type, "ends");
    CHECK_STR(other->values[0].unit, "count");
    CHECK_STR(other->values[0].count, "");
}

TEST(named_probes_have_names_that_nobody_has)
{
    static const struct {
        const char *name;
        int rc;
    } rows[] = {
        {"opens", 0},
        {"a", 0},
        {"tls-2", 0},
        {"cpu", -EINVAL},         /* a kind, */
        {"heap", -EINVAL},        /* an alias, */
        {"process-cpu", -EINVAL}, /* a series, */
        {"file-calls", -EINVAL},  /* a type of pprof, */
        {"weighed", -EINVAL},     /* another probe, */
        {"weighed-count", -EINVAL},
        {"true", -EINVAL}, /* an answer of an annotation */
        {"false", -EINVAL},
        {"", -EINVAL},
        {"-a", -EINVAL},
        {"a-", -EINVAL},
        {"2a", -EINVAL},
        {"a_b", -EINVAL},
        {"A", -EINVAL},
        {"a,b", -EINVAL},
        {"a0123456789012345678901234567890123456789", -EINVAL},
    };
    CLEANUP(event_made_free) struct event_made made = {.n = 0};
    CHECK(make(&made, "weighed", "uprobe:x:y", "arg1:bytes") != NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (event_check_name(&made, rows[i].name, why, sizeof(why)) != rows[i].rc)
            test_fail(__FILE__, __LINE__, "\"%s\" is %s", rows[i].name, rows[i].rc ? "taken" : "refused");
}

/* Where its sites are, and what they have, is known later. */
TEST(named_usdt_probes_have_all_arguments)
{
    CLEANUP(event_made_free) struct event_made made = {.n = 0};
    const struct event_kind *k = make(&made, "swims", "usdt:libpond.so:pond:swim", "arg12:bytes");
    CHECK(k && k->probe.places->usdt);
    CHECK_STR(k->probe.object, "usdt");
    CHECK_STR(k->probe.places->file, "libpond.so");
    CHECK_STR(k->probe.places->function, "pond:swim");
    CHECK_EQ(k->probe.places->arguments, 1u << 11);
    CHECK_STR(k->values[0].count, "swims_count");
}

TEST(named_latencies_measure_time)
{
    CLEANUP(event_made_free) struct event_made made = {.n = 0};
    const struct event_kind *k = make(&made, "asks", "uprobe-latency:libc.so.6:getaddrinfo", NULL);
    CHECK(k && k->probe.places->when == PROBE_BOTH);
    CHECK_STR(k->probe.object, "function_latency");
    CHECK_STR(k->values[0].type, "asks");
    CHECK_STR(k->values[0].unit, "nanoseconds");
    CHECK_STR(k->values[0].count, "asks_count");
}

TEST(named_probes_mean_files_of_any_process)
{
    static const char *const bad[] = {"uprobe:lib/x.so:f", "uprobe:pid:1:/x.so:f", "uprobe:pod:a/b/c:/x.so:f",
                                      "uprobe:x.so:f+8",   "uprobe:x.so:0x10",     "uprobe:x.so",
                                      "usdt:lib/x.so:a:b", "usdt:x.so:a"};
    CLEANUP(event_made_free) struct event_made made = {.n = 0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (make(&made, "x", bad[i], NULL))
            test_fail(__FILE__, __LINE__, "%s is a probe", bad[i]);
    CHECK_EQ(made.n, 0);
}
