#include "events/events.h"
#include "base/test.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

TEST(events_are_found_by_name)
{
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    CHECK(n >= 8);
    for (size_t i = 0; i < n; i++)
        CHECK(event_kind_find(k[i].name) == &k[i] && event_name(i) == k[i].name);
    CHECK(!event_name(n));
    CHECK(event_kind_find("cpu")->probe.time);
    CHECK_STR(event_kind_find("cpu")->values[0].unit, "nanoseconds");
    CHECK(!event_kind_find("nonsense"));
    CHECK(!event_kind_find(""));
}

TEST(events_have_aliases)
{
    static const struct {
        const char *alias, *name;
    } cases[] = {
        {"off-cpu", "offcpu"},      {"off_cpu", "offcpu"},
        {"run-queue", "runqueue"},  {"runq", "runqueue"},
        {"cs", "context-switches"}, {"page_faults", "page-faults"},
        {"fault", "faults"},        {"migrations", "cpu-migrations"},
        {"locks", "lock"},          {"futex", "lock"},
        {"mutex", "lock"},          {"waker", "wakeup"},
        {"wake", "wakeup"},         {"block", "disk"},
        {"slab", "kmem"},           {"kernel-memory", "kmem"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct event_kind *kind = event_kind_find(cases[i].alias);
        CHECK(kind);
        CHECK_STR(kind->name, cases[i].name);
        CHECK_STR(event_name_of(cases[i].alias), cases[i].name);
    }
    CHECK(!event_name_of("nonsense"));
}

/* What reads the rows relies on this: every name means one kind, the first pprof type is one kind's. */
TEST(events_rows_are_complete_and_distinct)
{
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    for (size_t i = 0; i < n; i++) {
        CHECK(k[i].series && k[i].needs && k[i].help);
        for (size_t v = 0; v < event_width(&k[i]); v++) {
            const struct event_value *value = &k[i].values[v];
            CHECK(!strcmp(value->unit, "nanoseconds") || !strcmp(value->unit, "count") ||
                  !strcmp(value->unit, "bytes"));
            CHECK(!strpbrk(value->type, "-:")); /* it becomes part of type IDs */
        }
        CHECK(!strpbrk(k[i].series, "-:"));
        CHECK((k[i].default_hz > 0) == (k[i].probe.how == PROBE_PERF));
        CHECK((k[i].probe.object != NULL) == (k[i].probe.how == PROBE_KIND || k[i].probe.how == PROBE_LOCK));
        for (size_t a = 0; k[i].aliases[a]; a++)
            CHECK(event_kind_find(k[i].aliases[a]) == &k[i]);
        for (size_t o = 0; o < i; o++)
            CHECK(strcmp(k[i].values[0].type, k[o].values[0].type) && strcmp(k[i].series, k[o].series));
    }
    CHECK_STR(event_kind_find("offcpu")->series, "off_cpu");
    CHECK_STR(event_kind_find("offcpu")->values[0].unit, "nanoseconds");
    CHECK_STR(event_kind_find("runqueue")->values[0].type, "run_queue");
    CHECK_STR(event_kind_find("lock")->values[0].type,
              "delay"); /* with its series, what servers know as time on mutexes */
    CHECK_STR(event_kind_find("lock")->series, "mutex");
    CHECK(event_kind_find("lock")->probe.how == PROBE_LOCK);
    CHECK_STR(event_cost_name(event_kind_find("cpu")->cost), "low");
    CHECK_STR(event_cost_name(EVENT_COST_HIGH), "high");
    CHECK_STR(event_hideable(0), "idle");
    CHECK(!event_hideable(1));
}

TEST(events_have_periods)
{
    CHECK_EQ(event_period(event_kind_find("cpu"), 50, 0), 20000000);
    CHECK_EQ(event_period(event_kind_find("memory"), 50, 0), 524288);
    CHECK_EQ(event_period(event_kind_find("memory"), 50, 1), 1);
    CHECK_EQ(event_period(event_kind_find("kmem"), 50, 0), 524288);
    CHECK_EQ(event_period(event_kind_leaks(), 50, 65536), 65536);
    CHECK_EQ(event_period(event_kind_find("badfree"), 50, 0), 1);
}

TEST(events_are_chosen_in_the_order_of_their_names)
{
    const char *const names[] = {"page-faults", "cpu"};
    const struct event_kind *kinds[XP_MAX_EVENTS];
    struct probe_event probes[XP_MAX_EVENTS];
    size_t n;
    CHECK_EQ(events_choose(&(struct events_wanted){names, 2, 0, NULL, NULL}, kinds, probes, &n), 0);
    CHECK_EQ(n, 2);
    CHECK_STR(kinds[0]->name, "page-faults");
    CHECK_EQ(probes[0].perf_config, PERF_COUNT_SW_PAGE_FAULTS);
    CHECK(!probes[0].time);
    CHECK_EQ(probes[1].perf_config, PERF_COUNT_SW_CPU_CLOCK);
    CHECK(probes[1].time);
    CHECK_EQ(probes[0].hz, 99);
    CHECK_EQ(events_choose(&(struct events_wanted){names, 2, 49, NULL, NULL}, kinds, probes, &n), 0);
    CHECK_EQ(probes[0].hz, 49);
    CHECK_EQ(probes[1].hz, 49);
}

TEST(events_without_a_rate_are_given_none)
{
    const char *const names[] = {"runq", "off-cpu", "cpu"};
    const struct event_kind *kinds[XP_MAX_EVENTS];
    struct probe_event probes[XP_MAX_EVENTS];
    size_t n;
    CHECK_EQ(events_choose(&(struct events_wanted){names, 3, 49, NULL, NULL}, kinds, probes, &n), 0);
    CHECK(probes[0].how == PROBE_RUNQUEUE && probes[1].how == PROBE_OFFCPU && probes[2].how == PROBE_PERF);
    CHECK_EQ(probes[0].hz, 0);
    CHECK_EQ(probes[1].hz, 0);
    CHECK_EQ(probes[2].hz, 49);
    CHECK_STR(kinds[1]->name, "offcpu");
}

TEST(events_that_cannot_be_chosen_are_pointed_at)
{
    const char *const unknown[] = {"cpu", "nonsense", "cpu"};
    const char *const twice[] = {"offcpu", "cpu", "off_cpu"};
    const char *many[XP_MAX_EVENTS + 1];
    const struct event_kind *kinds[XP_MAX_EVENTS];
    struct probe_event probes[XP_MAX_EVENTS];
    size_t n;
    CHECK_EQ(events_choose(&(struct events_wanted){unknown, 3, 0, NULL, NULL}, kinds, probes, &n), -EINVAL);
    CHECK_EQ(n, 1);
    CHECK_EQ(events_choose(&(struct events_wanted){twice, 3, 0, NULL, NULL}, kinds, probes, &n), -EEXIST);
    CHECK_EQ(n, 2);
    size_t nkinds, counted = 0;
    const struct event_kind *all = event_kinds(&nkinds);
    for (size_t i = 0; i < nkinds && counted <= XP_MAX_PERF; i++)
        if (all[i].probe.how == PROBE_PERF)
            many[counted++] = all[i].name;
    if (counted > XP_MAX_PERF)
        CHECK_EQ(events_choose(&(struct events_wanted){many, counted, 0, NULL, NULL}, kinds, probes, &n), -E2BIG);
    CHECK_EQ(events_choose(&(struct events_wanted){many, XP_MAX_PERF, 0, NULL, NULL}, kinds, probes, &n), 0);
    CHECK_EQ(n, XP_MAX_PERF);
}

TEST(events_have_names_for_their_values)
{
    static const struct event_kind one = {.name = "one", .values = {{"a", "count", NULL}}};
    static const struct event_kind two = {.name = "two", .values = {{"a", "bytes", ""}, {"b", "bytes", "calls"}}};
    CHECK(event_width(&one) == 1 && event_width(&two) == 2);
    CHECK_STR(event_value_name(&one, 0), "one");
    CHECK_STR(event_value_name(&two, 1), "b");
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    for (size_t i = 0; i < n; i++)
        CHECK(k[i].values[0].type && k[i].main < event_width(&k[i]) && k[i].series);
}

TEST(events_know_the_means_by_which_stacks_of_waits_are_taken)
{
    CHECK_STR(event_wait_stacks(0), "auto");
    CHECK_EQ(event_wait_stacks_of(NULL), PROBE_STACKS_AUTO);
    CHECK_EQ(event_wait_stacks_of("finish"), PROBE_STACKS_FINISH);
    size_t n = 0;
    for (const char *name; (name = event_wait_stacks(n)); n++)
        CHECK_EQ(event_wait_stacks_of(name), (enum probe_wait_stacks)n);
    CHECK_EQ(n, PROBE_STACKS_FINISH + 1);
}
