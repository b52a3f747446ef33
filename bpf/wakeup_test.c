/* Which samples wake up user space. */
#include "bpf/types.h"
#include "base/test.h"
#include "bpf/xprof.h"
#include "bpf/state.bpf.h"

/* As in an object. */
#define XP_INLINE static inline
static u64 xp_woken, xp_owed;
#include "bpf/met.bpf.h"
#include "bpf/wakeup.bpf.h"

#define MS 1000000ull

static int wakes(u64 ms, u32 runtime, u32 cause)
{
    static struct xp_state s;
    s.sample.time = ms * MS;
    s.runtime = runtime;
    s.cause = cause;
    return xp_wakes_up(&s);
}

static void begin(void)
{
    xp_woken = 1000 * MS;
    xp_owed = 0;
}

TEST(wakeup_frames_without_name_wake_up)
{
    begin();
    CHECK_EQ(wakes(1100, 0, 0), 0);
    CHECK_EQ(wakes(1101, XP_RUNTIME_NEWS, 0), 1);
    CHECK_EQ(wakes(1102, 0, 0), 0);
    CHECK_EQ(wakes(1200, 0, 0), 0);
}

TEST(wakeup_is_owed_to_frames_that_come_too_soon)
{
    begin();
    CHECK_EQ(wakes(1100, XP_RUNTIME_NEWS, 0), 1);
    CHECK_EQ(wakes(1105, XP_RUNTIME_NEWS, 0), 0);
    CHECK_EQ(wakes(1110, 0, 0), 0);
    CHECK_EQ(wakes(1121, 0, 0), 1);
    CHECK_EQ(wakes(1150, 0, 0), 0);
}

TEST(wakeup_for_erlang_is_rarer)
{
    static struct xp_state s = {.runtime = XP_RUNTIME_NEWS | XP_HAS_SCRIPT, .script.language = XP_LANGUAGE_BEAM};
    begin();
    s.sample.time = 1200 * MS;
    CHECK_EQ(xp_wakes_up(&s), 0);
    s.sample.time = 1201 * MS;
    CHECK_EQ(xp_wakes_up(&s), 1);
    s.script.language = XP_LANGUAGE_DOTNET;
    s.sample.time = 1222 * MS;
    CHECK_EQ(xp_wakes_up(&s), 1);
}

TEST(wakeup_for_generated_code_is_rarer)
{
    begin();
    CHECK_EQ(wakes(1050, 0, XP_CAUSE_FP_ANON), 0);
    CHECK_EQ(wakes(1101, 0, XP_CAUSE_FP_ANON), 1);
    CHECK_EQ(wakes(1150, XP_SCANNED, 0), 0);
    CHECK_EQ(wakes(1202, XP_SCANNED, 0), 1);
    CHECK_EQ(wakes(1223, XP_RUNTIME_NEWS, 0), 1);
}

static bool is_news(struct xp_state *s, u64 frame)
{
    s->runtime = 0;
    xp_meet_frame(s, frame, 0);
    return s->runtime & XP_RUNTIME_NEWS;
}

static const u32 *place_of(u64 frame)
{
    static struct xp_state s;
    memset(s.met, 0, sizeof(s.met));
    xp_meet_frame(&s, frame, 0);
    for (u32 i = 0; i < XP_RUNTIME_MET; i++)
        if (s.met[i])
            return &s.met[i];
    return NULL;
}

/* A loop through them is not news all the time. */
TEST(wakeup_frames_may_share_a_place)
{
    static struct xp_state s;
    u64 one = 4096, two = one + 1;
    while (place_of(two) != place_of(one))
        two++;
    CHECK(is_news(&s, one) && is_news(&s, two));
    for (u32 i = 0; i < 4; i++)
        CHECK(!is_news(&s, one) && !is_news(&s, two));
    u64 three = two + 1;
    while (place_of(three) != place_of(one))
        three++;
    CHECK(is_news(&s, three) && !is_news(&s, two) && is_news(&s, one));
}
