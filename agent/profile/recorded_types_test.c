/* Sample types as our own encoders and others write them. */
#include "profile/recorded_types.h"
#include "base/test.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

TEST(recorded_types_of_several_kinds)
{
    static const char *const names[] = {"samples",    "cpu",       "contentions", "delay",     "read",       "written",
                                        "file_calls", "file_time", "fetched",     "something", "page_faults"};
    struct recorded_place places[RECORDED_TYPES];
    const struct event_kind *kinds[XP_MAX_EVENTS];
    CHECK_EQ(recorded_types(names, COUNT(names), places, kinds), 4);
    CHECK_STR(kinds[0]->name, "cpu");
    CHECK_STR(kinds[1]->name, "lock");
    CHECK_STR(kinds[2]->name, "file");
    CHECK_STR(kinds[3]->name, "page-faults");
    CHECK(places[0].what == PLACE_SAMPLES && places[1].what == PLACE_SUM && places[2].what == PLACE_COUNT);
    CHECK(places[2].event == 1 && places[3].event == 1 && places[3].what == PLACE_SUM);
    CHECK(places[5].event == 2 && places[5].value == 1 && places[5].what == PLACE_SUM);
    CHECK(places[6].event == 2 && places[6].value == 2 && places[6].what == PLACE_COUNT);
    CHECK(places[8].event == 2 && places[9].what == PLACE_NOTHING && places[10].event == 3);
}

/* What is more of a kind is another one. */
TEST(recorded_types_of_leaks)
{
    static const char *const names[] = {"alloc_objects", "alloc_space",    "inuse_objects",
                                        "inuse_space",   "leaked_objects", "leaked_space"};
    struct recorded_place places[RECORDED_TYPES];
    const struct event_kind *kinds[XP_MAX_EVENTS];
    CHECK_EQ(recorded_types(names, COUNT(names), places, kinds), 1);
    CHECK(kinds[0] == event_kind_leaks() && places[5].value == 2 && places[5].what == PLACE_SUM);
    CHECK_EQ(recorded_types(names, 4, places, kinds), 1);
    CHECK(kinds[0] == event_kind_find("memory"));
}

/* A kind is there as a whole, or not. */
TEST(recorded_types_that_are_not_a_kind)
{
    static const char *const names[] = {"read", "written", "delay", "contentions", "samples"};
    struct recorded_place places[RECORDED_TYPES];
    const struct event_kind *kinds[XP_MAX_EVENTS];
    CHECK_EQ(recorded_types(names, COUNT(names), places, kinds), 0);
    CHECK(places[0].what == PLACE_NOTHING && places[4].what == PLACE_SAMPLES);
}

TEST(recorded_types_are_bounded)
{
    static const char *names[2 * RECORDED_TYPES];
    struct recorded_place places[RECORDED_TYPES];
    const struct event_kind *kinds[XP_MAX_EVENTS];
    for (size_t i = 0; i < COUNT(names); i++)
        names[i] = "cpu";
    CHECK_EQ(recorded_types(names, COUNT(names), places, kinds), XP_MAX_EVENTS);
    CHECK(places[XP_MAX_EVENTS].what == PLACE_NOTHING);
}

/* What is no kind of the table becomes one of the profile. */
TEST(recorded_types_of_others)
{
    static const char *const names[] = {"samples", "cpu", "weigh", "arg2", "", "goroutine"};
    static const char *const units[] = {"count", "nanoseconds", "count", "bytes", "count", "count"};
    struct recorded_place places[RECORDED_TYPES];
    __attribute__((cleanup(profile_free))) struct profile p = {0};
    CHECK_EQ(profile_init(&p), 0);
    p.nevents = recorded_types(names, COUNT(names), places, p.events);
    CHECK_EQ(p.nevents, 1);
    CHECK_EQ(recorded_other_types(&p, names, units, COUNT(names), places), 0);
    CHECK_EQ(p.nevents, 3);
    CHECK(places[2].what == PLACE_COUNT && places[2].event == 1 && places[3].what == PLACE_SUM && places[3].event == 1);
    CHECK(places[4].what == PLACE_NOTHING && places[5].what == PLACE_SUM && places[5].event == 2);
    CHECK_STR(p.events[1]->values[0].type, "arg2");
    CHECK_STR(p.events[1]->values[0].unit, "bytes");
    CHECK_STR(p.events[1]->values[0].count, "weigh");
    CHECK_STR(p.events[2]->name, "goroutine");
    CHECK_STR(p.events[2]->values[0].count, "");
}

TEST(recorded_periods_are_what_samples_stand_for)
{
    struct profile p;
    CHECK_EQ(profile_init(&p), 0);
    p.events[0] = event_kind_find("offcpu");
    p.events[1] = event_kind_find("cpu");
    p.nevents = 2;
    p.period[0] = p.period[1] = 1;
    *VEC_PUSH(&p.stacks) = (struct prof_stack){.event = 0, .count = {2}, .value = {600}};
    *VEC_PUSH(&p.stacks) = (struct prof_stack){.event = 1, .count = {3}, .value = {30030030}};
    recorded_periods(&p);
    CHECK_EQ(p.period[0], 1);
    CHECK_EQ(p.period[1], 10010010);
    p.period[1] = 7;
    recorded_periods(&p);
    CHECK_EQ(p.period[1], 7);
    profile_free(&p);
}
