#include "events/events.h"
#include "base/test.h"

TEST(event_tags_are_each_listed_once)
{
    CHECK_STR(event_tag(0), "file");
    CHECK_STR(event_tag(1), "peer");
    CHECK(!event_tag(2));
    CHECK(event_is_tag("peer") && !event_is_tag("pid"));
    CHECK_STR(event_kind_with_tag("peer")->name, "net");
}

TEST(event_tags_go_to_the_kinds_that_have_them)
{
    const char *const names[] = {"file", "cpu", "net"}, *const labels[] = {"peer"};
    const struct event_kind *kinds[XP_MAX_EVENTS];
    struct probe_event probes[XP_MAX_EVENTS];
    size_t n;
    CHECK_EQ(events_choose(&(struct events_wanted){names, 3, 0, NULL, NULL}, kinds, probes, &n), 0);
    events_tag(labels, 1, kinds, probes, n);
    CHECK(!probes[0].tagged && !probes[1].tagged && probes[2].tagged);
}
