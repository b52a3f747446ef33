/* The words of a reason, and how they are shown. */
#include "base/cleanup.h"
#include "base/test.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"
#include "profile/frames.h"
#include "profile/reason.h"
#include "profile/recorded.h"
#include "profile/wait_frames.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))
#define SCHEDULE     W_KERNEL(0x200010)
#define PIPE         W_KERNEL(0x201010)
#define VFS_READ     W_KERNEL(0x3010)
#define SYSCALL      W_KERNEL(0x10)
#define NAME(a, b)   (u64) XP_WORD_NAME << 60 | (a), (u64)XP_WORD_NAME << 60 | (b), (u64)XP_WORD_NAME << 60
#define WRITER       NAME(0x72657469727720ull >> 8, 0)              /* "writer" */
#define LONG_NAME    NAME(0x67666564636261ull, 0x6e6d6c6b6a6968ull) /* "abcdefghijklmn" */
#define MARK(m)      ((u64)XP_WORD_MARK << 60 | (m))
#define LOCK(a)      ((u64)XP_WORD_LOCK << 60 | (a))
#define WOKEN        XP_WAIT_WOKEN
#define LOCKED       XP_WAIT_LOCKED

static const struct fixture_sample REASONS[] = {
    {"a",
     20,
     0,
     XP_CAUSE_END,
     5,
     10,
     1,
     {XP_WAIT_WORD(WOKEN, 7), WRITER, W(2, 0x1010), W_LEAF(2, 0x3010), VFS_READ, SCHEDULE, PIPE, VFS_READ,
      W_LEAF(2, 0x1010)}},
    {"b",
     30,
     0,
     XP_CAUSE_END,
     6,
     6,
     1,
     {XP_WAIT_WORD(WOKEN, 6), LONG_NAME, MARK(XP_CAUSE_FP_BROKEN), W_LEAF(2, 0x1010), W_LEAF(2, 0x3010)}},
    {"c", 40, 0, XP_CAUSE_NOT_TAKEN, 7, 5, 0, {XP_WAIT_WORD(WOKEN, 5), WRITER, MARK(XP_CAUSE_NOT_TAKEN)}},
    {"d", 50, 0, XP_CAUSE_END, 8, 2, 1, {XP_WAIT_WORD(WOKEN, 2), MARK(XP_MARK_STILL), W_LEAF(2, 0x1010)}},
    {"e", 60, 0, XP_CAUSE_END, 9, 6, 1, {XP_WAIT_WORD(LOCKED, 5), LOCK(0x1234), WRITER, SCHEDULE, W_LEAF(2, 0x1010)}},
    {"f", 70, 0, XP_CAUSE_END, 1, 2, 1, {XP_WAIT_WORD(LOCKED, 2), LOCK(0x1234), W_LEAF(2, 0x1010)}},
    {"g",
     80,
     0,
     XP_CAUSE_END,
     2,
     9,
     1,
     {XP_WAIT_WORD(LOCKED | WOKEN, 9), LOCK(0x1234), LONG_NAME, WRITER, W_LEAF(2, 0x3010), W_LEAF(2, 0x1010)}},
};

static const char SHOWN[] =
    "a;main;vfs_read_[k];anon_pipe_read_[k];schedule_[k];[pipe];vfs_read_[k];leaf;main;writer 5\n"
    "b;leaf;[other];main;[cut: frame-pointer];abcdefghijklmn 6\n"
    "c;[stack not taken];[other];[stack not taken];writer 7\n"
    "d;main;[other];[still waiting] 8\n"
    "e;main;schedule_[k];[lock: heap] 9\n"
    "f;main;[lock: heap] 1\n"
    "g;main;[lock: heap];leaf;writer 2\n";

TEST(reasons_stand_above_what_was_waited_in)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(REASONS, COUNT(REASONS), &p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    buf_char(&b, 0);
    CHECK_STR(b.data, SHOWN);
}

static const char *module_of(const struct profile *p, const char *function)
{
    for (size_t i = 0; i < p->locations.n; i++)
        if (!strcmp(profile_text(p, p->functions.v[p->lines.v[p->locations.v[i].first_line].function].name), function))
            return profile_text(p, p->mappings.v[p->locations.v[i].mapping].name);
    return "";
}

/* A holder is no frame. */
TEST(reasons_keep_names_of_wakers_and_holders_apart)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(REASONS, 4, &p), 0);
    CHECK_STR(module_of(&p, "writer"), WAKER_MAPPING);
    CHECK_STR(module_of(&p, "[still waiting]"), WAKER_MAPPING);
    AUTO_PROFILE struct profile q = {0};
    CHECK_EQ(fixture_profile(REASONS + 4, 1, &q), 0);
    CHECK_STR(module_of(&q, "writer"), "");
    CHECK_STR(profile_text(&q, q.stacks.v[0].holder), "writer");
    CHECK_STR(module_of(&q, "[lock: heap]"), LOCK_MAPPING);
}

TEST(reasons_leave_the_cause_to_its_label)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(REASONS, COUNT(REASONS), &p), 0);
    CHECK_STR(profile_text(&p, stack_wait(&p, &p.stacks.v[0])), "[pipe]");
    CHECK_STR(profile_text(&p, stack_wait(&p, &p.stacks.v[4])), ""); /* a lock is its own cause */
    AUTO_BUF struct buf b = {0}, again = {0};
    CHECK_EQ(encoder_by_name("pprof")->encode(&p, &b), 0);
    AUTO_PROFILE struct profile q = {0};
    struct recorded r CLEANUP(recorded_free) = {0};
    char why[128];
    CHECK_EQ(profile_init(&q), 0);
    CHECK_EQ(recorded_read(b.data, b.len, &q, &r, why, sizeof(why)), 0);
    CHECK_STR(profile_text(&q, stack_wait(&q, &q.stacks.v[0])), "[pipe]");
    CHECK_EQ(encoder_by_name("collapsed")->encode(&q, &again), 0);
    buf_char(&again, 0);
    CHECK_STR(again.data, SHOWN);
}

/* ---- Code of wakers ---------------------------------------------------------------------------------------------- */

struct asked {
    u32 anonymous, names; /* number of calls */
    u32 tgid;
};

static int anonymous(void *ctx, u32 tgid, u64 start, const u64 *addresses, size_t n,
                     void (*use)(void *arg, const struct names *names), void *arg)
{
    struct asked *a = ctx;
    a->anonymous++;
    a->tgid = tgid;
    return -ENODATA;
}

static u32 names_id(void *ctx, u32 file, const struct agg_process *who)
{
    struct asked *a = ctx;
    a->names++;
    return file;
}

/* One waker's stack of generated code and of a file. */
static void name_waker(u32 flags, struct asked *asked)
{
    AUTO_PROFILE struct profile p = {0};
    struct aggregate *a = NULL;
    const struct name_source source = {.ctx = asked, .anonymous = anonymous, .names_id = names_id};
    const struct fixture_sample s = {
        "a", 20, 0, XP_CAUSE_END, 5, 6, 0, {XP_WAIT_WORD(WOKEN | flags, 6), WRITER, W_ANON(0x7000), W(2, 0x1010)}};
    CHECK(!profile_init(&p) && !aggregate_new(&a, 1, 1 << 20));
    CHECK_EQ(fixture_add(a, &s), 0);
    CHECK_EQ(symbolize(a, &source, &p), 0);
    CHECK_EQ(p.stacks.v[0].n, 4);
    aggregate_free(&a);
}

TEST(reasons_ask_no_sleeper_for_names_of_its_wakers)
{
    struct asked other = {0}, own = {0};
    name_waker(0, &other);
    CHECK(!other.anonymous && !other.names);
    name_waker(XP_WAIT_OWN, &own);
    CHECK(own.anonymous == 1 && own.tgid == 20 && own.names == 1);
}

/* ---- What must not become a stack -------------------------------------------------------------------------------- */

TEST(reasons_are_checked)
{
    static const struct {
        bool valid;
        size_t n;
        u64 words[8];
    } cases[] = {
        {true, 0, {0}},
        {true, 1, {SCHEDULE}},
        {true, 1, {XP_WAIT_WORD(0, 1)}},
        {false, 1, {XP_WAIT_WORD(0, 0)}},
        {false, 1, {XP_WAIT_WORD(0, 2)}},
        {true, 2, {XP_WAIT_WORD(0, 2), SCHEDULE}},
        {true, 7, {XP_WAIT_WORD(0, 7), WRITER, WRITER}},
        {false, 6, {XP_WAIT_WORD(0, 6), WRITER, NAME(0, 0)}},
        {false, 3, {XP_WAIT_WORD(0, 3), WRITER}},
        {true, 5, {XP_WAIT_WORD(0, 5), LOCK(1), MARK(1), W(2, 1), W_ANON(1)}},
        {false, 2, {XP_WAIT_WORD(0, 2), XP_WAIT_WORD(0, 1)}},
        {false, 2, {XP_WAIT_WORD(0, 2), XP_FILE_WORD(XP_WORD_INFERRED + 1ull, 2, 0)}},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK_EQ(reason_valid(cases[i].words, cases[i].n), cases[i].valid);
}

TEST(reasons_are_limited_with_what_follows)
{
    struct aggregate *a = NULL;
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + sizeof(u64) * (XP_MAX_REASON + XP_MAX_USER + 1));
    CHECK(s && !aggregate_new(&a, 1, 1 << 20));
    for (size_t i = 0; i <= XP_MAX_REASON; i++)
        s->words[i] = SCHEDULE;
    s->words[0] = XP_WAIT_WORD(WOKEN, XP_MAX_REASON - XP_MAX_KERNEL);
    s->nkernel = XP_MAX_REASON;
    CHECK_EQ(aggregate_add(a, s), 0);
    s->words[0] = XP_WAIT_WORD(WOKEN, XP_MAX_REASON - XP_MAX_KERNEL - 1);
    CHECK_EQ(aggregate_add(a, s), -EBADMSG);
    s->words[0] = XP_WAIT_WORD(WOKEN, XP_MAX_REASON + 1 - XP_MAX_KERNEL);
    s->nkernel = XP_MAX_REASON + 1;
    CHECK_EQ(aggregate_add(a, s), -EBADMSG);
    s->words[0] = XP_WAIT_WORD(WOKEN, 3);
    s->nkernel = 3;
    s->words[1] = MARK(1);
    s->words[2] = W(2, 1);
    s->nuser = XP_MAX_USER;
    for (size_t i = 3; i < 3 + XP_MAX_USER; i++)
        s->words[i] = W(2, i);
    CHECK_EQ(aggregate_add(a, s), 0);
    aggregate_free(&a);
}
