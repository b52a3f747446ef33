#include "pipeline/askers.h"
#include "base/cleanup.h"
#include "base/test.h"

#define HOG    7
#define VICTIM 8
#define LIBC   100

struct stack {
    struct xp_sample s;
    u64 words[4];
};

static u64 word(u32 file, u64 offset)
{
    return (u64)XP_WORD_CFI << 60 | (u64)file << XP_OFFSET_BITS | offset;
}

/* A stack of a process: `file` twice, what it made itself, then the library. */
static int add(struct aggregate *a, u64 cgroup, u32 tgid, u32 file)
{
    struct stack st = {.s = {.cgroup = cgroup, .tgid = tgid, .nuser = 4, .count = 1, .weight = 1},
                       .words = {word(file, 1), word(file, 2), XP_WORD_ADDR(0x5000), word(LIBC, 3)}};
    return aggregate_add(a, &st.s);
}

static bool is(const struct askers *a, size_t i, u32 file, u64 cgroup)
{
    return i < a->all.n && a->all.v[i].file == file && a->processes[a->all.v[i].process].cgroup == cgroup;
}

TEST(askers_are_listed_once_and_those_first_who_used_least)
{
    CLEANUP(aggregate_free) struct aggregate *stacks = NULL;
    CLEANUP(turns_free) struct turns turns = {0};
    CLEANUP(askers_free) struct askers a = {0};
    CHECK_EQ(aggregate_new(&stacks, 1, 1 << 20), 0);
    CHECK_EQ(add(stacks, HOG, 70, 1), 0);
    CHECK_EQ(add(stacks, HOG, 71, 2), 0);
    CHECK_EQ(add(stacks, HOG, 70, 2), 0);
    CHECK_EQ(add(stacks, VICTIM, 80, 3), 0);
    turns_begin(&turns, 1000);
    turns_spend(&turns, HOG, 10);
    CHECK_EQ(askers_find(&a, stacks, &turns), 0);
    CHECK_EQ(a.all.n, 5);
    CHECK(is(&a, 0, 3, VICTIM));
    CHECK(is(&a, 1, LIBC, VICTIM));
    CHECK(is(&a, 2, 1, HOG));
    CHECK(is(&a, 3, 2, HOG));
    CHECK(is(&a, 4, LIBC, HOG));
    CHECK_EQ(askers_payer(&a, 1), HOG);
    CHECK_EQ(askers_payer(&a, LIBC), VICTIM);
    CHECK_EQ(askers_payer(&a, 9), 0);
}

TEST(askers_of_nothing)
{
    CLEANUP(aggregate_free) struct aggregate *stacks = NULL;
    CLEANUP(askers_free) struct askers a = {0};
    struct turns turns = {0};
    CHECK_EQ(aggregate_new(&stacks, 1, 1 << 20), 0);
    CHECK_EQ(askers_find(&a, stacks, &turns), 0);
    CHECK_EQ(a.all.n, 0);
}
