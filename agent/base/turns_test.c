#include "base/turns.h"
#include "base/cleanup.h"
#include "base/test.h"

#define MS 1000000ull

TEST(turns_leave_time_to_whoever_comes_next)
{
    CLEANUP(turns_free) struct turns t = {0};
    unsigned first = 0, second = 0, third = 0;
    turns_begin(&t, 1000 * MS);
    for (; turns_may(&t, 1); first++)
        turns_spend(&t, 1, MS);
    for (; turns_may(&t, 2); second++)
        turns_spend(&t, 2, MS);
    for (; turns_may(&t, 3); third++)
        turns_spend(&t, 3, MS);
    CHECK_EQ(first, 800);
    CHECK_EQ(second, 160);
    CHECK_EQ(third, 32);
    CHECK(!turns_may(&t, 1)); /* and so it stays */
}

TEST(turns_end_with_work_that_takes_longer_than_there_was)
{
    CLEANUP(turns_free) struct turns t = {0};
    turns_begin(&t, 10 * MS);
    turns_spend(&t, 1, 50 * MS);
    CHECK(!turns_may(&t, 1));
    CHECK(!turns_may(&t, 2));
    turns_begin(&t, 10 * MS);
    CHECK(turns_may(&t, 1));
}

TEST(turns_without_a_limit_have_no_end)
{
    CLEANUP(turns_free) struct turns t = {0};
    turns_spend(&t, 1, UINT64_MAX / 2);
    CHECK(turns_may(&t, 1));
    CHECK_EQ(turns_spent(&t, 1), 0);
}

TEST(turns_forget_in_halves)
{
    CLEANUP(turns_free) struct turns t = {0};
    turns_begin(&t, 1000 * MS);
    turns_spend(&t, 1, 400 * MS);
    CHECK_EQ(turns_spent(&t, 1), 400 * MS);
    turns_begin(&t, 1000 * MS);
    CHECK_EQ(turns_spent(&t, 1), 200 * MS);
    turns_spend(&t, 1, 100 * MS);
    turns_begin(&t, 1000 * MS);
    CHECK_EQ(turns_spent(&t, 1), 150 * MS);
    CHECK_EQ(turns_spent(&t, 2), 0);
    for (int i = 0; i < 64; i++)
        turns_begin(&t, 1000 * MS);
    CHECK_EQ(turns_spent(&t, 1), 0);
    CHECK_EQ(t.past.n, 0);
}
