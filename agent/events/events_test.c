#include "events/events.h"
#include "base/test.h"
#include <errno.h>
#include <linux/perf_event.h>

TEST(events_are_found_by_name)
{
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    CHECK(n >= 8);
    for (size_t i = 0; i < n; i++)
        CHECK(event_kind_find(k[i].name) == &k[i]);
    CHECK(event_kind_find("cpu")->probe.time);
    CHECK_STR(event_kind_find("cpu")->unit, "nanoseconds");
    CHECK(!event_kind_find("nonsense"));
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

TEST(events_that_cannot_be_chosen_are_pointed_at)
{
    const char *const unknown[] = {"cpu", "nonsense", "cpu"};
    const char *const many[] = {"cpu", "cpu", "cpu", "cpu", "cpu"};
    const struct event_kind *kinds[XP_MAX_EVENTS];
    struct probe_event probes[XP_MAX_EVENTS];
    size_t n;
    CHECK_EQ(events_choose(unknown, 3, 0, kinds, probes, &n), -EINVAL);
    CHECK_EQ(n, 1);
    CHECK_EQ(events_choose(many, XP_MAX_EVENTS + 1, 0, kinds, probes, &n), -E2BIG);
    CHECK_EQ(n, XP_MAX_EVENTS);
}
