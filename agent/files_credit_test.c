#include "files_credit.h"
#include "base/test.h"

#define SEC ((u64)NS_PER_SEC)

TEST(files_credit_is_a_tenth_of_the_time)
{
    struct files_credit c = {0};
    u64 now = 1000 * SEC, began = now, spent = 0;
    for (; now < began + 10000 * SEC; now += SEC / 50) /* asked often, by somebody who always takes eight seconds */
        if (files_credit_left(&c, now)) {
            files_credit_spend(&c, 8 * SEC);
            spent += 8 * SEC;
            now += 8 * SEC;
        }
    CHECK(spent <= 1000 * SEC + 16 * SEC);
    CHECK(spent >= 1000 * SEC - 16 * SEC);
}

TEST(files_credit_is_paid_back_first)
{
    struct files_credit c = {0};
    u64 now = SEC;
    CHECK(files_credit_left(&c, now));
    files_credit_spend(&c, 6 * SEC);
    CHECK(!files_credit_left(&c, now));
    CHECK(!files_credit_left(&c, now + 1));
    CHECK(!files_credit_left(&c, now + 10 * SEC));
    CHECK(files_credit_left(&c, now + 11 * SEC));
}

TEST(files_credit_has_bounds)
{
    struct files_credit c = {0};
    CHECK(files_credit_left(&c, 1));
    CHECK(files_credit_left(&c, UINT64_MAX));
    CHECK_EQ(c.ns, FILES_CREDIT_NS);
    files_credit_spend(&c, UINT64_MAX);
    CHECK_EQ(c.ns, -FILES_DEBT_NS);
    files_credit_spend(&c, UINT64_MAX);
    CHECK_EQ(c.ns, -FILES_DEBT_NS);
    CHECK(!files_credit_left(&c, 5)); /* a clock that went back earns nothing */
    CHECK_EQ(c.ns, -FILES_DEBT_NS);
}

/* What is asked too often to earn a whole nanosecond is not lost. */
TEST(files_credit_counts_small_times)
{
    struct files_credit c = {0};
    u64 now = SEC;
    files_credit_left(&c, now);
    files_credit_spend(&c, (u64)FILES_CREDIT_NS + 99);
    for (u64 i = 1; i < 1000; i++)
        CHECK(!files_credit_left(&c, now + i));
    CHECK(files_credit_left(&c, now + 1000));
}
