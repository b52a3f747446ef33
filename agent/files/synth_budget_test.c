#include "files/synth_budget.h"
#include "base/test.h"

#define SEC ((u64)NS_PER_SEC)

TEST(files_budget_is_a_tenth_of_the_time)
{
    struct files_budget c = {0};
    u64 now = 1000 * SEC, began = now, spent = 0;
    for (; now < began + 10000 * SEC; now += SEC / 50) /* asked often, by somebody who always takes eight seconds */
        if (files_budget_left(&c, now)) {
            files_budget_spend(&c, 8 * SEC);
            spent += 8 * SEC;
            now += 8 * SEC;
        }
    CHECK(spent <= 1000 * SEC + 16 * SEC);
    CHECK(spent >= 1000 * SEC - 16 * SEC);
}

TEST(files_budget_is_paid_back_first)
{
    struct files_budget c = {0};
    u64 now = SEC;
    CHECK(files_budget_left(&c, now));
    files_budget_spend(&c, 6 * SEC);
    CHECK(!files_budget_left(&c, now));
    CHECK(!files_budget_left(&c, now + 1));
    CHECK(!files_budget_left(&c, now + 10 * SEC));
    CHECK(files_budget_left(&c, now + 11 * SEC));
}

TEST(files_budget_has_bounds)
{
    struct files_budget c = {0};
    CHECK(files_budget_left(&c, 1));
    CHECK(files_budget_left(&c, UINT64_MAX));
    CHECK_EQ(c.ns, FILES_BUDGET_NS);
    files_budget_spend(&c, UINT64_MAX);
    CHECK_EQ(c.ns, -FILES_DEBT_NS);
    files_budget_spend(&c, UINT64_MAX);
    CHECK_EQ(c.ns, -FILES_DEBT_NS);
    CHECK(!files_budget_left(&c, 5)); /* a clock that went back earns nothing */
    CHECK_EQ(c.ns, -FILES_DEBT_NS);
}

/* What is asked too often to earn a whole nanosecond is not lost. */
TEST(files_budget_counts_small_times)
{
    struct files_budget c = {0};
    u64 now = SEC;
    files_budget_left(&c, now);
    files_budget_spend(&c, (u64)FILES_BUDGET_NS + 99);
    for (u64 i = 1; i < 1000; i++)
        CHECK(!files_budget_left(&c, now + i));
    CHECK(files_budget_left(&c, now + 1000));
}
