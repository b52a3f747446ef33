#include "cli/record/summary.h"
#include "base/cleanup.h"
#include "base/test.h"

#define S(seconds) ((u64)(seconds)*1000000000)

TEST(summary_progress_shows_time_left_or_elapsed)
{
    AUTO_BUF struct buf left = {0}, elapsed = {0};
    const struct progress p = {.samples = 100, .lost = 1, .user = 50, .complete = 49};
    summary_progress(&p, S(10), S(12), S(20), &left);
    CHECK_STR(left.data, "8 s left  100 samples  1 lost  98.0 % of stacks complete");
    summary_progress(&p, S(10), S(12), 0, &elapsed);
    CHECK_STR(elapsed.data, "2 s  100 samples  1 lost  98.0 % of stacks complete");
}

TEST(summary_progress_after_the_end)
{
    AUTO_BUF struct buf line = {0};
    const struct progress p = {.samples = 100};
    summary_progress(&p, S(10), S(20) + 1, S(20), &line);
    CHECK_STR(line.data, "0 s left  100 samples  0 lost");
}
