/* What paths hold at looks, by the second: which of them leak. */
#include "base/cleanup.h"
#include "base/test.h"
#include "profile/leaks.h"
#include <stdlib.h>

#define SECOND 1000000000ull
enum { LEAK = 7, OTHER = 8 };

typedef u64 holds(unsigned second);

/* Looks once per second, for so long, at a path. */
static struct leaks *look_at(unsigned seconds, holds *path)
{
    struct leaks *l = NULL;
    if (leaks_new(&l))
        return NULL;
    for (unsigned t = 0; t < seconds; t++) {
        u64 now = 1000 * SECOND + t * SECOND, held = path(t);
        if (!leaks_due(l, now) && t + 1 < seconds)
            continue;
        leaks_look(l, now);
        if (held)
            leaks_hold(l, LEAK, (struct xp_amount){held / 100, held});
    }
    return l;
}

/* Returns by how much it grows if it leaks; 0: it does not. */
static u64 leaked(unsigned seconds, holds *path)
{
    CLEANUP(leaks_free) struct leaks *l = look_at(seconds, path);
    leaks_list found = {0};
    u64 grown = 0;
    if (l && !leaks_find(l, &found) && found.n == 1 && found.v[0].stack == LEAK)
        grown = found.v[0].grown.value;
    vec_free(&found);
    return grown;
}

static u64 steady(unsigned t)
{
    return 100000ull * t;
}
static u64 slow_and_unsteady(unsigned t) /* a block of 64 KB each 3 seconds or so */
{
    return 65536ull * ((t + t / 7) / 3);
}
static u64 with_sessions(unsigned t) /* most of it goes again */
{
    return 100000ull * t + 3000000 * (t % 10);
}
static u64 constant(unsigned t)
{
    return 500000000;
}
static u64 at_the_start(unsigned t)
{
    return t < 5 ? 10000000ull * t : 50000000;
}
static u64 saw(unsigned t)
{
    return 1000000ull * (t % 12);
}
static u64 slow_saw(unsigned t)
{
    return 1000000ull * ((t + 5) % 30);
}
static u64 up_and_down(unsigned t)
{
    return 1000000ull * (t < 25 ? t : t < 50 ? 50 - t : 0);
}
static u64 steps(unsigned t) /* tables that double */
{
    return 1000000ull << t / 16;
}
static u64 two_steps(unsigned t)
{
    return t < 15 ? 0 : t < 45 ? 50000000 : 100000000;
}
static u64 fills_up(unsigned t) /* what lives for 40 seconds */
{
    return 1000000ull * (t < 30 ? t : 30 + t % 2);
}
static u64 nothing(unsigned t)
{
    return 0;
}

TEST(leaks_are_what_grows_all_the_time)
{
    CHECK_EQ(leaked(50, steady), 4900000);
    CHECK(leaked(50, slow_and_unsteady) > 900000);
    CHECK(leaked(50, with_sessions) > 3500000 && leaked(50, with_sessions) < 6000000);
    CHECK(leaked(15, steady) > 0);
}

TEST(leaks_are_not_what_is_large_or_shrinks_or_comes_at_once)
{
    static holds *const none[] = {constant, at_the_start, saw,      slow_saw, up_and_down,
                                  steps,    two_steps,    fills_up, nothing};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        if (leaked(50, none[i])) {
            test_fail(__FILE__, __LINE__, "path %zu is called a leak", i);
            return;
        }
}

TEST(leaks_take_time_to_be_told)
{
    CLEANUP(leaks_free) struct leaks *l = look_at(7, steady), *longer = look_at(8, steady);
    CHECK(l && longer && !leaks_can_tell(l) && leaks_can_tell(longer));
    CHECK(!leaked(7, steady) && leaked(8, steady));
    CHECK_EQ(leaks_span_ns(longer), 7 * SECOND);
}

TEST(leaks_of_hours_are_found_with_the_same_number_of_looks)
{
    CHECK(leaked(7200, steady) > 100000ull * 7000);
    CHECK_EQ(leaked(7200, saw), 0);
    CHECK_EQ(leaked(7200, at_the_start), 0);
}

TEST(leaks_are_ranked_by_growth_not_by_size)
{
    CLEANUP(leaks_free) struct leaks *l = NULL;
    leaks_list found = {0};
    CHECK_EQ(leaks_new(&l), 0);
    for (unsigned t = 0; t < 20; t++) {
        leaks_look(l, t * SECOND);
        leaks_hold(l, OTHER, (struct xp_amount){1000 + t, 1000000000 + 1000 * t});
        leaks_hold(l, LEAK, (struct xp_amount){1 + t, 1 + 2000 * t});
    }
    CHECK_EQ(leaks_find(l, &found), 0);
    CHECK(found.n == 2 && found.v[0].stack == LEAK && found.v[1].stack == OTHER);
    CHECK(found.v[0].grown.value == 38000 && found.v[0].grown.count == 20);
    vec_free(&found);
}

TEST(leaks_follow_only_so_many_stacks)
{
    CLEANUP(leaks_free) struct leaks *l = NULL;
    leaks_list found = {0};
    CHECK_EQ(leaks_new(&l), 0);
    for (u64 t = 0; t < 10; t++) {
        leaks_look(l, t * SECOND);
        for (u64 stack = 1; stack <= LEAKS_STACKS + 10; stack++)
            leaks_hold(l, stack, (struct xp_amount){t, 100 * t});
    }
    CHECK_EQ(leaks_find(l, &found), 0);
    CHECK_EQ(found.n, LEAKS_STACKS);
    vec_free(&found);
}
