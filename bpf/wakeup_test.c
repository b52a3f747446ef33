/* Which samples wake up user space. */
#include "bpf/types.h"
#include "base/test.h"
#include "bpf/xprof.h"
#include "bpf/state.bpf.h"

/* As in an object. */
#define XP_INLINE static inline
static u64 xp_woken, xp_owed;
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
