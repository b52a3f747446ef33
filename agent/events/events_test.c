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
    CHECK_STR(event_kind_find("cpu")->unit, "nanoseconds");
    CHECK(!event_kind_find("nonsense"));
    CHECK(!event_kind_find(""));
}

TEST(events_have_aliases)
{
    static const struct {
        const char *alias, *name;
    } cases[] = {
        {"off-cpu", "offcpu"},
        {"off_cpu", "offcpu"},
        {"run-queue", "runqueue"},
        {"runq", "runqueue"},
        {"cs", "context-switches"},
        {"faults", "page-faults"},
        {"migrations", "cpu-migrations"},
        {"locks", "lock"},
        {"futex", "lock"},
        {"mutex", "lock"},
        {"waker", "wakeup"},
        {"wake", "wakeup"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct event_kind *kind = event_kind_find(cases[i].alias);
        CHECK(kind);
        CHECK_STR(kind->name, cases[i].name);
        CHECK_STR(event_name_of(cases[i].alias), cases[i].name);
    }
    CHECK(!event_name_of("nonsense"));
}

/* What reads the rows relies on this: every name means one kind, every pprof type is one kind's. */
TEST(events_rows_are_complete_and_distinct)
{
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    for (size_t i = 0; i < n; i++) {
        CHECK(k[i].unit && k[i].type && k[i].series && k[i].needs && k[i].help);
        CHECK(!strcmp(k[i].unit, "nanoseconds") || !strcmp(k[i].unit, "count"));
        CHECK(!strpbrk(k[i].type, "-:") && !strpbrk(k[i].series, "-:")); /* they become parts of type IDs */
        CHECK((k[i].default_hz > 0) == (k[i].probe.how == PROBE_PERF));
        for (size_t a = 0; k[i].aliases[a]; a++)
            CHECK(event_kind_find(k[i].aliases[a]) == &k[i]);
        for (size_t o = 0; o < i; o++)
            CHECK(strcmp(k[i].type, k[o].type) && strcmp(k[i].series, k[o].series));
    }
    CHECK_STR(event_kind_find("offcpu")->series, "off_cpu");
    CHECK_STR(event_kind_find("offcpu")->unit, "nanoseconds");
    CHECK_STR(event_kind_find("runqueue")->type, "run_queue");
    CHECK_STR(event_kind_find("lock")->type, "delay"); /* with its series, what servers know as time on mutexes */
    CHECK_STR(event_kind_find("lock")->series, "mutex");
    CHECK(event_kind_find("lock")->probe.how == PROBE_LOCK);
    CHECK_STR(event_cost_name(event_kind_find("cpu")->cost), "low");
    CHECK_STR(event_cost_name(EVENT_COST_HIGH), "high");
    CHECK_STR(event_hideable(0), "idle");
    CHECK(!event_hideable(1));
}

TEST(events_are_chosen_in_the_order_of_their_names)
{
    const char *const names[] = {"page-faults", "cpu"};
    const struct event_kind *kinds[XP_MAX_EVENTS];
    struct probe_event probes[XP_MAX_EVENTS];
    size_t n;
    CHECK_EQ(events_choose(names, 2, 0, kinds, probes, &n), 0);
    CHECK_EQ(n, 2);
    CHECK_STR(kinds[0]->name, "page-faults");
    CHECK_EQ(probes[0].perf_config, PERF_COUNT_SW_PAGE_FAULTS);
    CHECK(!probes[0].time);
    CHECK_EQ(probes[1].perf_config, PERF_COUNT_SW_CPU_CLOCK);
    CHECK(probes[1].time);
    CHECK_EQ(probes[0].hz, 99);
    CHECK_EQ(events_choose(names, 2, 49, kinds, probes, &n), 0);
    CHECK_EQ(probes[0].hz, 49);
    CHECK_EQ(probes[1].hz, 49);
}

TEST(events_without_a_rate_are_given_none)
{
    const char *const names[] = {"runq", "off-cpu", "cpu"};
    const struct event_kind *kinds[XP_MAX_EVENTS];
    struct probe_event probes[XP_MAX_EVENTS];
    size_t n;
    CHECK_EQ(events_choose(names, 3, 49, kinds, probes, &n), 0);
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
    CHECK_EQ(events_choose(unknown, 3, 0, kinds, probes, &n), -EINVAL);
    CHECK_EQ(n, 1);
    CHECK_EQ(events_choose(twice, 3, 0, kinds, probes, &n), -EEXIST);
    CHECK_EQ(n, 2);
    size_t nkinds;
    const struct event_kind *all = event_kinds(&nkinds);
    CHECK(nkinds > XP_MAX_EVENTS);
    for (size_t i = 0; i <= XP_MAX_EVENTS; i++)
        many[i] = all[i].name;
    CHECK_EQ(events_choose(many, XP_MAX_EVENTS + 1, 0, kinds, probes, &n), -E2BIG);
    CHECK_EQ(n, XP_MAX_EVENTS);
}

TEST(events_agree_on_what_their_number_is_called)
{
    static const struct event_kind a = {.count = "contentions"}, b = {.count = "contentions"}, c = {.count = "calls"};
    const struct event_kind *cpu = event_kind_find("cpu");
    const struct event_kind *const same[] = {&a, &b, cpu}, *const other[] = {&a, &c}, *const first[] = {cpu, &a};
    CHECK_STR(event_count_name(same, 1), "contentions");
    CHECK_STR(event_count_name(same, 2), "contentions");
    CHECK_STR(event_count_name(same, 3), "samples");
    CHECK_STR(event_count_name(other, 2), "samples");
    CHECK_STR(event_count_name(first, 2), "samples");
    CHECK_STR(event_count_name(first, 0), "samples");
    const struct event_kind *offcpu = event_kind_find("offcpu");
    CHECK_STR(event_count_name(&offcpu, 1), "samples");
}
