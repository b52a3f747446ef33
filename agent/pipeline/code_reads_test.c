/* When a process is read, and what a cgroup may have of it. */
#include "pipeline/code_reads.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "generated/generated.h"
#include "generated/made_test.h"
#include "opener/opener.h"
#include "parser/parser.h"
#include "proc/proc.h"
#include <errno.h>
#include <unistd.h>

#define MS 1000000ull

static const struct code_job one = {.tgid = 1, .start = 5, .cgroup = 7}, other = {.tgid = 2, .start = 5, .cgroup = 7};

TEST(code_reads_become_rare_when_nothing_is_new)
{
    CLEANUP(code_reads_free) struct code_reads *r = NULL;
    u64 now = 1000 * MS, pause = CODE_READS_FIRST_NS;
    CHECK_EQ(code_reads_new(&r), 0);
    CHECK(code_reads_begin(r, &one, now));
    CHECK(code_reads_end(r, &one, 0, 11, 0, now)); /* something new */
    CHECK(!code_reads_begin(r, &one, now + pause - 1) && code_reads_begin(r, &one, now += pause));
    for (int i = 0; i < 20; i++) {
        CHECK(!code_reads_end(r, &one, 0, 11, 0, now)); /* the same */
        pause = 2 * pause < CODE_READS_LONGEST_NS ? 2 * pause : CODE_READS_LONGEST_NS;
        CHECK(!code_reads_begin(r, &one, now + pause - 1) && code_reads_begin(r, &one, now += pause));
    }
    CHECK_EQ(pause, CODE_READS_LONGEST_NS);
    CHECK(code_reads_end(r, &one, 0, 12, 0, now));
    CHECK(code_reads_begin(r, &one, now + CODE_READS_FIRST_NS));
    CHECK(!code_reads_end(r, &one, -ENODATA, 0, 0, now));
    CHECK(code_reads_begin(r, &one, now + 2 * CODE_READS_FIRST_NS));
    CHECK(!code_reads_end(r, &one, -ETIMEDOUT, 0, 0, now)); /* it hangs: not again soon */
    CHECK(!code_reads_begin(r, &one, now + CODE_READS_LONGEST_NS - 1));
}

TEST(code_reads_count_runtimes_that_are_not_understood)
{
    CLEANUP(code_reads_free) struct code_reads *r = NULL;
    CHECK_EQ(code_reads_new(&r), 0);
    for (u64 i = 1; i <= 8; i++) {
        CHECK(code_reads_begin(r, &one, i * CODE_READS_LONGEST_NS));
        CHECK(!code_reads_end(r, &one, -ENOTSUP, 0, 0, i * CODE_READS_LONGEST_NS));
        CHECK_EQ(code_reads_unknown(r), i >= 5);
    }
}

TEST(code_reads_share_the_time)
{
    CLEANUP(code_reads_free) struct code_reads *r = NULL;
    struct code_job neighbour = {.tgid = 3, .start = 5, .cgroup = 8};
    u64 now = 1000 * MS;
    CHECK_EQ(code_reads_new(&r), 0);
    CHECK(code_reads_begin(r, &one, now));
    CHECK(code_reads_end(r, &one, 0, 11, 100 * MS, now));
    CHECK(!code_reads_begin(r, &other, now + CODE_READS_PART * 100 * MS - 1)); /* of the same cgroup */
    CHECK(code_reads_begin(r, &neighbour, now));
    CHECK(code_reads_begin(r, &other, now + CODE_READS_PART * 100 * MS));
}

/* Others wait less where a runtime was found, or still starts. */
TEST(code_reads_of_runtimes_take_a_larger_part)
{
    for (int error = 0; error >= -EAGAIN; error -= EAGAIN) {
        CLEANUP(code_reads_free) struct code_reads *r = NULL;
        struct code_job found = one;
        u64 now = 1000 * MS;
        found.attached.len = error ? 0 : 1;
        CHECK_EQ(code_reads_new(&r), 0);
        CHECK(code_reads_begin(r, &found, now));
        CHECK_EQ(code_reads_end(r, &found, error, 11, 100 * MS, now), !error);
        CHECK(!code_reads_begin(r, &other, now + CODE_READS_RUNTIME_PART * 100 * MS - 1));
        CHECK(code_reads_begin(r, &other, now + CODE_READS_RUNTIME_PART * 100 * MS));
        CHECK(!code_reads_begin(r, &found, now + (error ? CODE_READS_AGAIN_NS : CODE_READS_FIRST_NS) - 1));
    }
}

/* More processes than are remembered: each may be read, and that is all. */
TEST(code_reads_remember_so_many)
{
    CLEANUP(code_reads_free) struct code_reads *r = NULL;
    CHECK_EQ(code_reads_new(&r), 0);
    for (u32 i = 0; i < 5000; i++) {
        struct code_job j = {.tgid = i, .start = 5, .cgroup = i};
        CHECK(code_reads_begin(r, &j, 1 + i));
        CHECK(code_reads_end(r, &j, 0, 11, 0, 1 + i));
    }
    struct code_job last = {.tgid = 4999, .start = 5, .cgroup = 1};
    CHECK(!code_reads_begin(r, &last, 6000));
}

/* This process, through opener and parser; and processes that are gone, or others. */
TEST(code_reads_bring_what_is_new)
{
    CLEANUP(code_reads_free) struct code_reads *r = NULL;
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(opener_free) struct opener *o = NULL;
    AUTO_MADE m = {0};
    AUTO_BUF struct buf b = {0};
    struct generated g;
    u64 tick = NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK), start = proc_start_ticks((u32)getpid()) * tick;
    CHECK_EQ(made_new(&m), 0);
    made_section(&b, (u64)m.data, m.code, 128);
    memcpy(m.data, b.data, b.len);
    CHECK_EQ(code_reads_new(&r), 0);
    CHECK_EQ(parser_new(&p, &(struct parser_limits)PARSER_LIMITS_DEFAULT), 0);
    CHECK_EQ(opener_new(&o, NULL), 0);
    struct code_job me = {.tgid = (u32)getpid(), .start = start, .cgroup = 1};
    bool fresh = code_reads_one(r, &me, o, p, NULL);
    int rc = fresh ? generated_open(me.reply.data, me.reply.len, &g) : -ENODATA;
    bool found = false;
    for (size_t i = 0; !rc && i < g.nregions; i++)
        found |= g.regions[i].start == (u64)m.code;
    parser_reply_free(&me.reply);
    bool soon = code_reads_one(r, &me, o, p, NULL);
    struct code_job later = {.tgid = (u32)getpid(), .start = start + 10 * tick, .cgroup = 2},
                    gone = {.tgid = 0x7fffffff};
    CHECK(fresh && found && !soon);
    CHECK_EQ(me.stack, proc_start_stack((u32)getpid()));
    CHECK(!code_reads_one(r, &later, o, p, NULL) && !code_reads_one(r, &gone, o, p, NULL));
}
