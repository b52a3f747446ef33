#include "profile/fixture_test.h"

TEST(stacks_that_differ_by_time_only_are_added_up)
{
    const struct fixture_sample samples[] = {
        {"demo", 20, 0, XP_CAUSE_END, 5, 0, 2, {W_LEAF(2, 0x3000), W(2, 0x1000)}},
        {"demo", 20, 0, XP_CAUSE_END, 5, 0, 1, {W_LEAF(2, 0x3000)}},
    };
    struct profile p;
    CHECK_EQ(fixture_profile(samples, 2, &p), 0);
    struct prof_stack *twice = VEC_PUSH(&p.stacks);
    CHECK(twice);
    *twice = p.stacks.v[1]; /* the same frames, later */
    twice->time = 9;
    p.stacks.v[1].time = 7;
    p.stacks.v[0].time = 8;
    profile_forget_times(&p);
    CHECK_EQ(p.stacks.n, 2);
    CHECK_EQ(p.stacks.v[0].value[0], 5);
    CHECK_EQ(p.stacks.v[1].value[0], 10);
    CHECK(!p.stacks.v[0].time && !p.stacks.v[1].time);
    profile_free(&p);
}
