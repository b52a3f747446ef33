#include "probe/rules.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct book {
    struct rules rules;
    struct xp_rule array[XP_MAX_RULES];
    struct xp_rule file[PROBE_FILE_RULES + 1]; /* what is taken */
    u16 numbers[PROBE_FILE_RULES + 1];
};

static struct book *book_new(void)
{
    struct book *b = calloc(1, sizeof(*b));
    return b && rules_init(&b->rules, b->array) ? NULL : b;
}

static void book_free(struct book **b)
{
    if (*b)
        rules_fini(&(*b)->rules);
    free(*b);
}
#define AUTO_BOOK CLEANUP(book_free) struct book

/* The rules of a file that begin with `first`, for an owner; 0 is the empty rule. */
static int take(struct book *b, u64 owner, s32 first, u32 n)
{
    for (u32 i = 0; i < n; i++)
        b->file[i] = (struct xp_rule){.cfa_off = first + (s32)i};
    return rules_take(&b->rules, owner, b->file, n, b->numbers);
}

static void let_numbers_rest(struct book *b)
{
    for (u32 i = b->rules.oldest; i; i = b->rules.uses[i].next)
        b->rules.uses[i].since_ns -= PROBE_GRACE_NS;
}

TEST(rules_have_a_number_each)
{
    AUTO_BOOK *b = book_new();
    CHECK(b != NULL);
    CHECK_EQ(take(b, 1, 0, 3), 0);
    CHECK_EQ(b->numbers[0], 0); /* no unwind information */
    CHECK_EQ(b->array[b->numbers[1]].cfa_off, 1);
    CHECK_EQ(b->array[b->numbers[2]].cfa_off, 2);
    u16 second = b->numbers[2];
    CHECK_EQ(take(b, 2, 2, 2), 0); /* one of them is known */
    CHECK_EQ(b->numbers[0], second);
    CHECK_EQ(b->rules.n, 1 + 3);
    CHECK_EQ(shares_held(&b->rules.shares, 1), 2);
    CHECK_EQ(shares_held(&b->rules.shares, 2), 1);
}

TEST(rules_come_free_with_their_last_table)
{
    AUTO_BOOK *b = book_new();
    u16 first[2];
    CHECK(b != NULL);
    CHECK_EQ(take(b, 1, 1, 2), 0);
    memcpy(first, b->numbers, sizeof(first));
    CHECK_EQ(take(b, 2, 2, 2), 0);
    rules_give(&b->rules, first, 2);
    CHECK_EQ(b->rules.oldest, first[0]); /* the other one has a table left */
    CHECK_EQ(b->rules.youngest, first[0]);
    CHECK_EQ(shares_held(&b->rules.shares, 1), 1);
    rules_give(&b->rules, b->numbers, 2);
    CHECK_EQ(b->rules.shares.used, 0);
    CHECK_EQ(b->rules.ids.n, 0);
}

TEST(rules_use_numbers_again_when_none_is_left_and_they_have_rested)
{
    AUTO_BOOK *b = book_new();
    CHECK(b != NULL);
    b->rules.n = XP_MAX_RULES - 4;
    CHECK_EQ(take(b, SHARES_ALL, 1, 3), 0);
    u16 first = b->numbers[0];
    rules_give(&b->rules, b->numbers, 3);
    CHECK_EQ(take(b, SHARES_ALL, 11, 1), 0);
    CHECK_EQ(b->numbers[0], XP_MAX_RULES - 1); /* the last one that nobody had */
    CHECK_EQ(take(b, SHARES_ALL, 12, 1), -ENOSPC);
    let_numbers_rest(b);
    CHECK_EQ(take(b, SHARES_ALL, 12, 4), -ENOSPC);
    CHECK_EQ(take(b, SHARES_ALL, 12, 3), 0);
    CHECK_EQ(b->numbers[0], first); /* what rests longest */
    CHECK_EQ(b->array[first].cfa_off, 12);
    CHECK_EQ(b->rules.oldest, 0);
    rules_give(&b->rules, b->numbers, 3);
    CHECK_EQ(b->rules.oldest, first);
}

TEST(rules_of_a_file_that_has_too_many_leave_nothing)
{
    AUTO_BOOK *b = book_new();
    CHECK(b != NULL);
    CHECK_EQ(take(b, SHARES_ALL, 1, PROBE_FILE_RULES + 1), -EOVERFLOW);
    CHECK_EQ(b->rules.n, 1);
    CHECK_EQ(b->rules.ids.n, 0);
    CHECK_EQ(take(b, SHARES_ALL, 1, PROBE_FILE_RULES), 0);
    CHECK_EQ(b->rules.n, 1 + PROBE_FILE_RULES);
    CHECK_EQ(b->rules.shares.used, PROBE_FILE_RULES);
}

/* As many crafted files as one likes: the next owner's rules fit, and its neighbour's come free again. */
TEST(rules_of_one_owner_leave_room_for_the_next)
{
    AUTO_BOOK *b = book_new();
    CHECK(b != NULL);
    s32 files = 0;
    while (!take(b, 7, 1 + files * PROBE_FILE_RULES, PROBE_FILE_RULES))
        files++;
    CHECK_EQ(files, 6);
    CHECK_EQ(take(b, 7, 1 << 20, PROBE_FILE_RULES), -EUSERS);
    CHECK_EQ(b->rules.shares.used, 6 * PROBE_FILE_RULES);
    CHECK_EQ(take(b, 8, 1 << 24, PROBE_FILE_RULES), 0);
    CHECK(shares_over(&b->rules.shares, 7));
    CHECK(!shares_over(&b->rules.shares, 8));
}

TEST(rules_that_stand_twice_in_a_table_count_once)
{
    AUTO_BOOK *b = book_new();
    CHECK(b != NULL);
    b->file[0] = b->file[1] = (struct xp_rule){.cfa_off = 5};
    CHECK_EQ(rules_take(&b->rules, 3, b->file, 2, b->numbers), 0);
    CHECK_EQ(b->numbers[0], b->numbers[1]);
    CHECK_EQ(shares_held(&b->rules.shares, 3), 1);
    rules_give(&b->rules, b->numbers, 2);
    CHECK_EQ(b->rules.shares.used, 0);
}
