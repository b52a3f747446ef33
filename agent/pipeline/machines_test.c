#include "pipeline/machines.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "probe/fake_test.h"
#include <unistd.h>

static struct xp_process_key key_of(const struct code_owner *who)
{
    return (struct xp_process_key){.process = who->start, .stack = who->stack, .tgid = who->tgid};
}

TEST(machines_are_published_until_their_process_ends)
{
    CLEANUP(machines_free) struct machines *m = NULL;
    CLEANUP(probe_free) struct probe *probe = NULL;
    struct probe_config config = {0};
    char why[64];
    const struct code_owner here = {.tgid = (u32)getpid(), .start = 5, .stack = 7, .cgroup = 9};
    const struct code_owner gone = {.tgid = 1u << 30, .start = 6, .stack = 7, .cgroup = 9};
    struct xp_process_key here_key = key_of(&here), gone_key = key_of(&gone);
    CHECK_EQ(probe_new(&probe, &config, why, sizeof(why)), 0);
    CHECK_EQ(machines_new(&m, probe, true), 0);
    machines_put(m, &here, &(struct xp_machine){.jvm.low = 1});
    machines_put(m, &gone, &(struct xp_machine){.jvm.low = 2});
    CHECK_EQ(machines_stats(m).processes, 2);
    CHECK(fake_machine(&here_key) && fake_machine(&here_key)->value.jvm.low == 1 && fake_machine(&gone_key));
    CHECK(fake_changes(probe) >= 2); /* mappings that were remembered as ordinary memory */
    machines_age(m);
    CHECK_EQ(machines_stats(m).processes, 1);
    CHECK(fake_machine(&here_key) && !fake_machine(&gone_key));
    struct code_owner again = here; /* the process executed another program */
    again.stack = 8;
    struct xp_process_key again_key = key_of(&again);
    machines_put(m, &again, &(struct xp_machine){.jvm.low = 3});
    CHECK(!fake_machine(&here_key) && fake_machine(&again_key));
    CHECK_EQ(machines_stats(m).processes, 1);
    again.tgid = 1u << 30;
    probe_forget_machine(probe, &again_key);
}

TEST(machines_of_one_cgroup_leave_room_for_others)
{
    CLEANUP(machines_free) struct machines *m = NULL;
    CLEANUP(probe_free) struct probe *probe = NULL;
    struct probe_config config = {0};
    char why[64];
    CHECK_EQ(probe_new(&probe, &config, why, sizeof(why)), 0);
    CHECK_EQ(machines_new(&m, probe, true), 0);
    for (u32 i = 1; i <= 2 * XP_MAX_MACHINES; i++) /* the fake has room for few: the others are refused by it */
        machines_put(m, &(struct code_owner){.tgid = 1u << 30 | i, .start = i, .stack = 1, .cgroup = 1},
                     &(struct xp_machine){.jvm.low = 1});
    CHECK(machines_stats(m).refused > XP_MAX_MACHINES);
    machines_age(m);
    CHECK_EQ(machines_stats(m).processes, 0);
}
