#include "base/shares.h"
#include "base/test.h"

/* As much as an owner gets, one by one. */
static uint64_t fill(struct shares *s, uint64_t owner)
{
    uint64_t n = 0;
    while (shares_take(s, owner, 1))
        n++;
    return n;
}

TEST(shares_leave_some_for_every_newcomer)
{
    struct shares s = {.limit = 1000};
    CHECK_EQ(fill(&s, 7), 800);
    shares_free(&s);
    s.limit = 100000;
    uint64_t left = s.limit;
    for (uint64_t owner = 0; owner < 5; owner++) {
        uint64_t got = fill(&s, owner);
        CHECK(got >= left * 4 / 5 - 4 && got <= left * 4 / 5 + 4);
        CHECK_EQ(shares_held(&s, owner), got);
        left -= got;
        CHECK_EQ(s.limit - s.used, left);
    }
    CHECK(left >= 30);
    shares_free(&s);
}

TEST(shares_take_all_or_nothing)
{
    struct shares s = {.limit = 100};
    CHECK(!shares_take(&s, 1, 90));
    CHECK_EQ(s.used, 0);
    CHECK_EQ(s.held.n, 0);
    CHECK(shares_take(&s, 1, 80));
    CHECK(!shares_take(&s, 1, 10));
    CHECK(shares_take(&s, 2, 10));
    CHECK(!shares_take(&s, 2, 11)); /* more than there is */
    CHECK(shares_take(&s, 1, 0));
    CHECK_EQ(s.used, 90);
    shares_free(&s);
}

TEST(shares_tell_who_holds_too_much_since_others_came)
{
    struct shares s = {.limit = 100};
    CHECK(shares_take(&s, 1, 80));
    CHECK(!shares_over(&s, 1));
    CHECK(shares_take(&s, 2, 10));
    CHECK(shares_over(&s, 1));
    CHECK(!shares_over(&s, 2));
    CHECK(!shares_over(&s, 3)); /* who holds nothing */
    shares_give(&s, 1, 40);
    CHECK(!shares_over(&s, 1));
    CHECK_EQ(shares_held(&s, 1), 40);
    shares_free(&s);
}

TEST(shares_have_an_owner_that_may_hold_everything)
{
    struct shares s = {.limit = 100};
    CHECK(shares_take(&s, SHARES_ALL, 100));
    CHECK(!shares_over(&s, SHARES_ALL));
    CHECK(!shares_take(&s, SHARES_ALL, 1));
    CHECK(!shares_take(&s, 1, 1));
    shares_free(&s);
}

TEST(shares_forget_who_holds_nothing)
{
    struct shares s = {.limit = 1000};
    for (uint64_t owner = 0; owner < 10000; owner++) {
        CHECK(shares_take(&s, owner, 3));
        shares_give(&s, owner, 3);
    }
    CHECK_EQ(s.held.n, 0);
    CHECK(s.held.cap <= 16);
    CHECK_EQ(s.used, 0);
    CHECK(shares_take(&s, 1, 5));
    shares_give(&s, 1, 9); /* more than it holds: what it holds */
    shares_give(&s, 2, 9);
    CHECK_EQ(s.used, 0);
    shares_free(&s);
}
