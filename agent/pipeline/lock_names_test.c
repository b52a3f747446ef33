/* Locks from the ring to the profile: variables of this program, named by the parser. */
#include "pipeline/rig_test.h"
#include "profile/locks.h"
#include <string.h>

static int lock_of_the_rig[4] = {1};

/* By its name, what waits here waits for no lock. */
__attribute__((noinline)) static int rig_pthread_cond_wait(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static u64 lock_word(const void *lock)
{
    struct xp_mapping m = {0};
    if (!mapping_of((u64)(uintptr_t)lock, &m))
        return 0; /* no word of a lock: its sample is refused */
    return XP_FILE_WORD(XP_WORD_LOCK, FILE_ID, (u64)(uintptr_t)lock - m.start + m.pgoff) | XP_LOCK_IN_FILE;
}

static void push_wait(struct rig *r, const void *lock, u64 function, u64 ns)
{
    struct {
        struct xp_sample s;
        u64 words[3];
    } s = {.s = sample_of(r, 0, XP_CAUSE_END).s,
           .words = {XP_WAIT_WORD(XP_WAIT_LOCKED, 2), lock_word(lock), word_of(r, function + 1)}};
    s.s.nkernel = 2;
    s.s.weight = ns;
    fake_push(r->probe, &s, sizeof(s));
}

TEST(pipeline_names_locks_and_counts_what_is_none)
{
    AUTO_RIG r = {0};
    struct pipeline_report end;
    struct profile p;
    char why[256];
    BEGIN(r, false);
    lock_of_the_rig[2] += rig_pthread_cond_wait(1);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    push_wait(&r, lock_of_the_rig + 2, (u64)(uintptr_t)pipeline_leaf, 1000);
    push_wait(&r, lock_of_the_rig, (u64)(uintptr_t)rig_pthread_cond_wait, 300);
    POLL_UNTIL(r, fake_file(r.probe, &r.key).state == XP_FILE_READY);
    pipeline_stop(r.pipeline);
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(pipeline_profile(r.pipeline, &p), 0);
    pipeline_report(r.pipeline, &end);
    CHECK_EQ(p.stacks.n, 1);
    CHECK_STR(name_at(&p, &p.stacks.v[0], 0), "[lock: lock_of_the_rig+0x8]");
    CHECK_STR(name_at(&p, &p.stacks.v[0], 1), "pipeline_leaf");
    CHECK_EQ(end.left_out, 1);
    CHECK_EQ(end.left_out_ns, 300);
    profile_free(&p);
}
