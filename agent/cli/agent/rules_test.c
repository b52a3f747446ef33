#include "cli/agent/rules.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "events/events.h"
#include <string.h>

/* What is recorded comes first, in the order of its bits; all other kinds of events are known. */
TEST(rules_types_are_the_kinds_of_events)
{
    char name[] = "agent", option[] = "--events", list[] = "page-faults,off-cpu";
    char *argv[] = {name, option, list, NULL};
    AUTO_BUF struct buf message = {0};
    struct agent_options o = {0};
    struct config_file *file = NULL;
    struct discover_rules rules;
    CHECK_EQ(agent_options_parse(3, argv, &o, &file, &message), 0);
    CLEANUP(agent_events_free) struct agent_events events = {.n = 0};
    CHECK_EQ(agent_events_make(&events, &o, file, &message), 0);
    CHECK_EQ(agent_rules_make(&rules, &o, &file, &events, false, "node", &message), 0);
    const struct policy_type *t = rules.policy.types;
    CHECK_STR(t[0].name, "page-faults");
    CHECK_STR(t[1].name, "offcpu");
    CHECK_STR(t[1].aliases[0], "off-cpu");
    CHECK(t[0].built && t[0].usual && t[1].built && t[1].usual);
    CHECK_STR(t[2].name, "runqueue"); /* costs nothing until a pod asks for it */
    CHECK(t[2].built && !t[2].usual);
    CHECK_STR(t[3].name, "wakeup"); /* the same */
    CHECK_STR(t[4].name, "lock");
    CHECK(t[3].built && !t[3].usual && t[4].built && !t[4].usual);
    for (size_t k = 0; event_name(k); k++) {
        size_t n = 0;
        for (size_t i = 0; i < rules.policy.ntypes; i++)
            n += !strcmp(t[i].name, event_name(k));
        CHECK_EQ(n, 1);
    }
    size_t built = 0, n;
    const struct event_kind *kinds = event_kinds(&n);
    for (size_t k = 0; k < n; k++)
        built += kinds[k].probe.how != PROBE_PERF || !strcmp(kinds[k].name, "page-faults");
    CHECK(t[built - 1].built && !t[built].built);
    rules.release(rules.owner);
}
