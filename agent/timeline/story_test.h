/* A short story for tests: events of two CPUs, by thread IDs and us. */
#pragma once
#include "base/test.h"
#include "timeline/store.h"

#define STORY_BEGIN 1000000u /* ns */
#define STORY_END   (STORY_BEGIN + 100000u)

static inline void story_event(struct tl_store *s, u8 type, u32 cpu, u64 us, u32 thread, u32 other, u8 flags)
{
    struct xp_tl_event e = {.type = type,
                            .flags = flags,
                            .running = 1,
                            .cpu = cpu,
                            .time = STORY_BEGIN + us * 1000,
                            .thread = thread,
                            .other = other,
                            .stack = type == XP_TL_SWITCH ? 3 : -1,
                            .ran = UINT32_MAX};
    store_event(s, &e);
}

static inline void story_thread(struct tl_store *s, u32 tid, u32 tgid, const char *comm, bool running)
{
    struct xp_tl_listed l = {.on_cpu = running, .nframes = 1, .frames = {1}};
    u32 row = store_thread(s, tid, STORY_BEGIN);
    struct tl_thread *t = store_row(s, row);
    t->tgid = tgid;
    t->wanted = 1;
    snprintf(t->comm, sizeof(t->comm), "%s", comm);
    snprintf(t->process, sizeof(t->process), "server");
    store_listed(s, row, &l);
}

/* 10 runs on CPU 0 until 20 us, when it wakes up 11, waits for a disk, and 11 gets the CPU; at 50 us, an interrupt on
 * CPU 1 wakes up 10, which runs there from 60 us on. 12 sleeps all the time. 10 ends at 90 us. */
static inline struct tl_store *story(void)
{
    struct tl_store *s = NULL;
    if (store_new(&s, 2, STORY_BEGIN, 1 << 20))
        return NULL;
    story_thread(s, 10, 10, "server", true);
    story_thread(s, 11, 10, "worker", false);
    story_thread(s, 12, 12, "sleeper", false);
    store_all_listed(s);
    story_event(s, XP_TL_WAKING, 0, 15, 11, 10, 0);
    story_event(s, XP_TL_WAKEUP, 0, 16, 11, 0, 0);
    story_event(s, XP_TL_SWITCH, 0, 20, 10, 11, XP_TL_DEEP | XP_TL_IO);
    story_event(s, XP_TL_WAKING, 1, 50, 10, 0, XP_TL_INTERRUPT);
    story_event(s, XP_TL_WAKEUP, 1, 51, 10, 1, 0);
    story_event(s, XP_TL_SWITCH, 1, 60, 0, 10, XP_TL_RUNNABLE);
    story_event(s, XP_TL_SWITCH, 1, 90, 10, 0, XP_TL_DEAD);
    return s;
}
