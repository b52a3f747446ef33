#include "container/containers_bench_test.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(containers_named_by_the_runtime)
{
    BENCH(true);
    b.fake = (struct fake_runtime){.lists_sandbox = true, .lists_container = true, .image = "sha256:aa"};
    containers_cgroup_made(b.c, 0, 10, POD, 2 * SEC);
    containers_cgroup_made(b.c, 0, 11, POD "/" C2, 2 * SEC);
    containers_cgroup_made(b.c, 0, 12, POD "/" C1, 2 * SEC);
    CHECK_EQ(b.seen.changed, 3);
    CHECK_EQ(b.seen.state, CONTAINER_NEW);
    containers_tick(b.c, 2 * SEC + 50 * MS);
    CHECK_EQ(b.fake.fetches, 1); /* one list for all */
    const struct container *pod = containers_find(b.c, 10), *pause = containers_find(b.c, 11),
                           *c = containers_find(b.c, 12);
    CHECK(pod && pause && c);
    CHECK(c->state == CONTAINER_KNOWN && c->told == TOLD_BY_RUNTIME && !c->sandbox);
    CHECK_STR(c->name, "main");
    CHECK_STR(c->pod, "web-0");
    CHECK_STR(c->namespace_, "prod");
    CHECK_STR(c->image, "web:1.2");
    CHECK_STR(c->image_id, "sha256:aa");
    CHECK_STR(c->is.pod, UID);
    CHECK_EQ(c->is.runtime, RUNTIME_CONTAINERD);
    CHECK_STR(container_pair(&c->labels, "tier"), "front");
    CHECK_STR(container_pair(&c->pod_annotations, KEY), "true");
    CHECK_STR(container_pair(&c->pod_labels, "app"), "web");
    CHECK(pause->sandbox && pause->state == CONTAINER_KNOWN);
    CHECK(pod->is.kind == CGROUP_POD && !pod->sandbox);
    CHECK_STR(container_pair(&pod->pod_annotations, KEY), "true");
    containers_tick(b.c, 3 * SEC);
    CHECK_EQ(b.fake.fetches, 1); /* all are named */
    containers_stats(b.c, &st);
    CHECK(st.containers == 2 && st.pods == 1 && st.unnamed == 0 && st.last_ok_ns);
    CHECK_STR(st.runtime, "containerd 9.9");
}

TEST(containers_runtime_is_asked_with_each_scan)
{
    BENCH(true);
    CHECK_EQ(b.fake.fetches, 1); /* nobody waits for it */
    containers_tick(b.c, 30 * SEC);
    CHECK_EQ(b.fake.fetches, 1);
    containers_tick(b.c, 62 * SEC);
    containers_stats(b.c, &st);
    CHECK(b.fake.fetches == 2 && st.last_ok_ns == 62 * SEC);
}

TEST(containers_nested_groups)
{
    BENCH(true);
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_cgroup_made(b.c, 0, 13, "/docker/" C1 "/init.scope", 2 * SEC);
    containers_cgroup_made(b.c, 0, 14, "/system.slice/x.service", 2 * SEC);
    containers_cgroup_made(b.c, 0, 15, "/system.slice/x.service/worker", 2 * SEC);
    containers_cgroup_made(b.c, 0, 16, "/system.slice", 2 * SEC);
    CHECK(containers_find(b.c, 13) == containers_find(b.c, 12));
    CHECK(containers_find(b.c, 15) == containers_find(b.c, 14));
    CHECK_STR(containers_find(b.c, 15)->is.unit, "x.service");
    CHECK(!containers_find(b.c, 16));
    containers_cgroup_removed(b.c, 0, 13, 3 * SEC);
    CHECK(!containers_find(b.c, 13));
    CHECK_EQ(containers_find(b.c, 12)->ended_ns, 0);
    containers_cgroup_made(b.c, 3, 99, "/docker/" C2, 3 * SEC); /* another hierarchy */
    CHECK(!containers_find(b.c, 99));
    CHECK_EQ(containers_find(b.c, 14)->state, CONTAINER_KNOWN);
    containers_stats(b.c, &st);
    CHECK(st.containers == 1 && st.units == 1 && st.cgroups == 3 && st.foreign == 1);
}

TEST(containers_that_give_groups_the_names_of_others)
{
    BENCH(true);
    b.fake = (struct fake_runtime){.lists_sandbox = true, .lists_container = true, .image = "web"};
    containers_cgroup_made(b.c, 0, 10, POD, 2 * SEC);
    containers_cgroup_made(b.c, 0, 12, POD "/" C1, 2 * SEC);
    containers_cgroup_made(b.c, 0, 20, "/kubepods/pod" OTHER, 2 * SEC);
    containers_cgroup_made(b.c, 0, 21, "/kubepods/pod" OTHER "/" HEX "0007", 2 * SEC);
    containers_cgroup_made(b.c, 0, 30, "/kubepods/pod" OTHER "/" HEX "0007/" C1, 3 * SEC);
    containers_cgroup_made(b.c, 0, 31, "/kubepods/pod" OTHER "/" HEX "0007/pod" UID, 3 * SEC);
    containers_cgroup_made(b.c, 0, 32, "/kubepods/pod" OTHER "/" HEX "0007/pod" UID "/" C1 "/deep", 3 * SEC);
    CHECK(containers_find(b.c, 10)->state != CONTAINER_ENDED && containers_find(b.c, 12)->state != CONTAINER_ENDED);
    containers_cgroup_made(b.c, 0, 30, "/kubepods/pod" OTHER "/" HEX "0007/" C1, 4 * SEC); /* as a scan does */
    CHECK_EQ(containers_find(b.c, 30)->cgroup, 21);
    CHECK_EQ(containers_find(b.c, 31)->cgroup, 21);
    CHECK_STR(containers_find(b.c, 12)->is.pod, UID);
    CHECK_EQ(containers_find(b.c, 32)->cgroup, 21);
    containers_stats(b.c, &st);
    CHECK(st.containers == 2 && st.pods == 2 && !st.ended);
}

TEST(containers_ended_stay_for_a_while)
{
    BENCH(true);
    b.fake = (struct fake_runtime){.lists_container = true, .image = "web"};
    containers_cgroup_made(b.c, 0, 12, POD "/" C1, 2 * SEC);
    containers_cgroup_removed(b.c, 0, 12, 2 * SEC + 5 * MS); /* before anybody was asked */
    CHECK_EQ(b.seen.state, CONTAINER_ENDED);
    containers_tick(b.c, 2 * SEC + 100 * MS);
    CHECK_STR(containers_find(b.c, 12)->name, "main"); /* the runtime still knows it */
    CHECK_EQ(containers_find(b.c, 12)->state, CONTAINER_ENDED);
    containers_tick(b.c, 61 * SEC);
    CHECK(containers_find(b.c, 12) && b.seen.gone == 0);
    containers_tick(b.c, 63 * SEC);
    CHECK(!containers_find(b.c, 12) && b.seen.gone == 1);
    containers_stats(b.c, &st);
    CHECK(st.cgroups == 0 && st.ended == 0 && st.containers == 0);
}

TEST(containers_ids_come_back)
{
    BENCH(true);
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_cgroup_removed(b.c, 0, 12, 3 * SEC);
    containers_cgroup_made(b.c, 0, 20, "/docker/" C1, 4 * SEC); /* docker restart: the same container, a new group */
    CHECK(containers_find(b.c, 12) && containers_find(b.c, 12) != containers_find(b.c, 20));
    CHECK_EQ(containers_find(b.c, 20)->ended_ns, 0);
    containers_cgroup_made(b.c, 0, 21, "/docker/" C1, 5 * SEC); /* again, and the removal was missed */
    CHECK(containers_find(b.c, 20)->ended_ns && !containers_find(b.c, 21)->ended_ns);
    containers_cgroup_made(b.c, 0, 21, "/docker/" C2, 6 * SEC); /* the kernel gives an id again */
    CHECK_STR(containers_find(b.c, 21)->is.id, C2);
    CHECK_EQ(b.seen.gone, 1);
    containers_stats(b.c, &st);
    CHECK(st.containers == 1 && st.ended == 2);
}

TEST(containers_runtime_is_late_and_fails)
{
    BENCH(true);
    u64 now = 2 * SEC;
    b.fake = (struct fake_runtime){.rc = -ETIMEDOUT, .image = ""};
    containers_cgroup_made(b.c, 0, 12, POD "/" C1, now);
    for (int i = 0; i < 100; i++)
        containers_tick(b.c, now += 100 * MS);
    containers_stats(b.c, &st);
    CHECK_EQ(st.timeouts, b.fake.fetches);
    CHECK(b.fake.fetches >= 3 && b.fake.fetches <= 7); /* in 10 s: the pause doubles */
    CHECK_STR(st.why, "the fake fails");
    CHECK_EQ(st.unnamed, 1);
    u64 answered = st.answered; /* before the fake failed */
    b.fake.rc = 0;
    for (int i = 0; i < 200; i++)
        containers_tick(b.c, now += 100 * MS);
    CHECK_EQ(containers_find(b.c, 12)->state, CONTAINER_NEW);
    b.fake.lists_container = true;
    for (int i = 0; i < 100; i++)
        containers_tick(b.c, now += 100 * MS);
    CHECK_STR(containers_find(b.c, 12)->name, "main");
    containers_stats(b.c, &st);
    CHECK_STR(st.why, "");
    CHECK(st.answered > answered);
    CHECK_EQ(st.answered - answered + st.timeouts, b.fake.fetches); /* each call has one outcome */
}

TEST(containers_given_up_and_repaired)
{
    BENCH(true);
    u64 now = 2 * SEC;
    char path[128];
    b.fake = (struct fake_runtime){.image = "web"};
    containers_cgroup_made(b.c, 0, 12, POD "/" C1, now);
    for (int i = 0; i < 500; i++)
        containers_tick(b.c, now += 100 * MS);
    containers_stats(b.c, &st);
    CHECK(st.given_up == 1 && b.fake.fetches == 12);
    CHECK_EQ(containers_find(b.c, 12)->ended_ns, 0);
    containers_tick(b.c, now = 62 * SEC); /* the re-scan finds no directory of it: this removal was missed */
    containers_stats(b.c, &st);
    CHECK(st.lost_late == 1 && containers_find(b.c, 12)->ended_ns);
    snprintf(path, sizeof(path), "%s/%s", b.dir, C2);
    CHECK_EQ(mkdir(path, 0700), 0); /* this birth, too */
    b.fake.lists_sandbox = true;
    containers_tick(b.c, now += 60 * SEC);
    rmdir(path);
    containers_stats(b.c, &st);
    CHECK(st.found_late == 1 && st.containers == 1 && st.rescans == 3);
    containers_tick(b.c, now += 100 * MS);
    containers_stats(b.c, &st);
    CHECK_EQ(st.unnamed, 0);
}

/* Details are calls of their own: one that hangs must not be followed by others. */
TEST(containers_images_that_fail)
{
    BENCH(true);
    b.fake = (struct fake_runtime){.lists_container = true, .image = "sha256:aa", .image_rc = -ETIMEDOUT};
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_cgroup_removed(b.c, 0, 12, 2 * SEC);
    containers_cgroup_made(b.c, 0, 13, "/docker/" C1, 2 * SEC);
    containers_tick(b.c, 3 * SEC);
    CHECK_EQ(b.fake.images, 1);
    CHECK_STR(containers_find(b.c, 12)->image, "sha256:aa");
    CHECK_STR(containers_find(b.c, 13)->image, "sha256:aa");
    containers_stats(b.c, &st);
    CHECK_EQ(st.unnamed, 0);
}

static bool count(void *ctx, const struct container *c)
{
    ++*(int *)ctx;
    return true;
}

TEST(containers_bounds)
{
    BENCH(false);
    char path[CONTAINERS_PATH_MAX + 8];
    int n = 0;
    for (u64 i = 0; i < CONTAINERS_MAX + 7; i++) {
        snprintf(path, sizeof(path), "/docker/%064llx", (unsigned long long)i);
        containers_cgroup_made(b.c, 0, 1000 + i, path, 2 * SEC);
    }
    containers_stats(b.c, &st);
    CHECK(st.cgroups == CONTAINERS_MAX && st.full == 7);
    containers_all(b.c, count, &n);
    CHECK_EQ(n, CONTAINERS_MAX);
    memset(path, 'x', CONTAINERS_PATH_MAX - 1);
    path[CONTAINERS_PATH_MAX - 1] = 0;
    containers_cgroup_made(b.c, 0, 5, path, 2 * SEC);
    containers_stats(b.c, &st);
    CHECK_EQ(st.cut, 1);
}

/* One container's groups leave room for those of others, and are still its own. */
TEST(containers_groups_below_one_are_bounded)
{
    BENCH(false);
    char path[CONTAINERS_PATH_MAX];
    containers_cgroup_made(b.c, 0, 10, "/docker/" C1, 2 * SEC);
    for (u64 i = 0; i < CONTAINERS_BELOW_MAX + 9; i++) {
        snprintf(path, sizeof(path), "/docker/" C1 "/%llu", (unsigned long long)i);
        containers_cgroup_made(b.c, 0, 1000 + i, path, 2 * SEC);
    }
    containers_stats(b.c, &st);
    CHECK_EQ(st.cgroups, CONTAINERS_BELOW_MAX + 1);
    CHECK_EQ(st.full, 9);
    CHECK(!containers_find(b.c, 1000 + CONTAINERS_BELOW_MAX));
    containers_cgroup_removed(b.c, 0, 1000, 2 * SEC);
    containers_cgroup_made(b.c, 0, 1000 + CONTAINERS_BELOW_MAX, path, 2 * SEC);
    CHECK(containers_find(b.c, 1000 + CONTAINERS_BELOW_MAX));
}

static bool count_starved(void *ctx, const struct container *c)
{
    bool known = container_pair(&c->pod_annotations, KEY);
    ((int *)ctx)[c->starved ? 0 : known ? 1 : 2]++;
    return true;
}

/* What they say has no room in the end: then it is not known, instead of taken for nothing. */
TEST(containers_pairs_of_all_are_bounded)
{
    BENCH(true);
    AUTO_FREE char *value = calloc(1, CONTAINERS_VALUE_MAX + 1);
    AUTO_FREE uid_text *uids = calloc(MANY, sizeof(*uids));
    char path[CONTAINERS_PATH_MAX];
    int starved[3] = {0}; /* starved, known, neither */
    CHECK(value && uids);
    memset(value, 'v', CONTAINERS_VALUE_MAX);
    b.fake = (struct fake_runtime){.annotation = value, .many = uids};
    for (u64 i = 0; i < MANY; i++) {
        snprintf(uids[i], sizeof(uids[i]), "%08llx-2222-3333-4444-555555555555", (unsigned long long)i);
        snprintf(path, sizeof(path), "/kubepods/pod%s", uids[i]);
        containers_cgroup_made(b.c, 0, 1000 + i, path, 2 * SEC);
    }
    containers_tick(b.c, 3 * SEC);
    containers_all(b.c, count_starved, starved);
    containers_stats(b.c, &st);
    CHECK_EQ(st.fields_dropped, (u64)starved[0]);
    CHECK_EQ(starved[0] + starved[1], MANY);
    CHECK(starved[0] > 0 && starved[1] > MANY / 2);
    for (u64 i = 0; i < MANY; i++)
        containers_cgroup_removed(b.c, 0, 1000 + i, 4 * SEC);
    containers_tick(b.c, 100 * SEC);
    containers_cgroup_made(b.c, 0, 10, "/kubepods/pod00000001-2222-3333-4444-555555555555", 101 * SEC);
    containers_tick(b.c, 102 * SEC);
    CHECK(container_pair(&containers_find(b.c, 10)->pod_annotations, KEY)); /* there is room again */
}

/* What is too long for us is there, cut between two characters, so that somebody can complain about it. */
TEST(containers_long_values_are_cut)
{
    BENCH(true);
    static char big[256 * 1024];
    for (size_t i = 0; i < sizeof(big) / 3 * 3; i++)
        big[i] = "\u20ac"[i % 3];
    b.fake = (struct fake_runtime){.lists_sandbox = true, .annotation = big};
    containers_cgroup_made(b.c, 0, 10, POD, 2 * SEC);
    containers_tick(b.c, 2 * SEC + 50 * MS);
    const struct container *pod = containers_find(b.c, 10);
    const char *value = pod ? container_pair(&pod->pod_annotations, KEY) : NULL;
    CHECK(value);
    CHECK_EQ(strlen(value), CONTAINERS_VALUE_MAX / 3 * 3);
    containers_stats(b.c, &st);
    CHECK_EQ(st.fields_dropped, 0);
}

/* One pod has room for so many bytes, whatever others need; what does not fit is left out and counted. */
TEST(containers_pairs_of_one_are_bounded)
{
    BENCH(true);
    AUTO_FREE char *value = calloc(1, CONTAINERS_VALUE_MAX + 1);
    CHECK(value);
    memset(value, 'v', CONTAINERS_VALUE_MAX);
    b.fake = (struct fake_runtime){.lists_sandbox = true, .annotation = value, .annotations = 40};
    containers_cgroup_made(b.c, 0, 10, POD, 2 * SEC);
    containers_tick(b.c, 3 * SEC);
    const struct container *pod = containers_find(b.c, 10);
    CHECK_EQ(pod->pod_annotations.n, CONTAINERS_PAIRS_BYTES / CONTAINERS_VALUE_MAX - 1); /* keys need room, too */
    CHECK(!pod->starved);
    containers_stats(b.c, &st);
    CHECK_EQ(st.fields_dropped, 41 - pod->pod_annotations.n);
    CHECK_STR(container_pair(&pod->pod_labels, "app"), "web");
    CHECK_EQ(strlen(container_pair(&pod->pod_annotations, KEY)), CONTAINERS_VALUE_MAX); /* whole */
}

/* An hour of 1,000 starts and ends a minute: nothing is left of it. */
TEST(containers_churn)
{
    BENCH(false);
    u64 now = 2 * SEC;
    char path[128];
    for (u64 i = 0; i < 60000; i++, now += 60 * MS) {
        snprintf(path, sizeof(path), "/docker/%064llx", (unsigned long long)i);
        containers_cgroup_made(b.c, 0, 1000 + i, path, now);
        if (i >= 20)
            containers_cgroup_removed(b.c, 0, 1000 + i - 20, now);
        if (i % 8 == 0)
            containers_tick(b.c, now);
    }
    containers_stats(b.c, &st);
    CHECK_EQ(st.full, 0);
    CHECK(st.cgroups < 1100 && st.containers <= 20 && st.containers > 0 && b.seen.gone > 58000);
}

/* Each way in which a runtime fails has a counter of its own; the reason is kept until it answers again. */
TEST(containers_count_how_the_runtime_fails)
{
    static const struct {
        int rc;
        size_t counter;
    } cases[] = {
        {-ETIMEDOUT, offsetof(struct containers_stats, timeouts)},
        {-ENOENT, offsetof(struct containers_stats, unreachable)},
        {-ECONNREFUSED, offsetof(struct containers_stats, unreachable)},
        {-ECONNRESET, offsetof(struct containers_stats, unreachable)},
        {-ENOTSUP, offsetof(struct containers_stats, unsupported)},
        {-EBADMSG, offsetof(struct containers_stats, malformed)},
        {-EPROTO, offsetof(struct containers_stats, malformed)},
        {-EMSGSIZE, offsetof(struct containers_stats, malformed)},
        {-EIO, offsetof(struct containers_stats, failed)},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        BENCH(true);
        b.fake.rc = cases[i].rc;
        containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
        containers_tick(b.c, 3 * SEC);
        containers_stats(b.c, &st);
        CHECK_EQ(*(const u64 *)((const char *)&st + cases[i].counter), 1);
        CHECK_EQ(st.timeouts + st.unreachable + st.unsupported + st.malformed + st.failed, 1);
        CHECK(strstr(st.why, "the fake fails"));
        b.fake.rc = 0;
        containers_tick(b.c, 200 * SEC);
        containers_stats(b.c, &st);
        CHECK_STR(st.why, "");
        CHECK_EQ(st.last_ok_ns, 200 * SEC);
    }
}

/* Who sleeps until the next thing is due misses nothing: the scan, a name that is missing, the end of a grace period.
 */
TEST(containers_say_when_something_is_due)
{
    BENCH(true);
    CHECK_EQ(containers_due(b.c), 61 * SEC); /* the second scan */
    containers_cgroup_made(b.c, 0, 12, POD "/" C1, 2 * SEC);
    CHECK(containers_due(b.c) >= 2 * SEC && containers_due(b.c) < 3 * SEC); /* its name */
    b.fake = (struct fake_runtime){.lists_sandbox = true, .lists_container = true, .image = "web"};
    containers_tick(b.c, 3 * SEC);
    CHECK_EQ(containers_find(b.c, 12)->state, CONTAINER_KNOWN);
    u64 init = containers_due(b.c); /* its first process is still looked for: nothing is in this tree */
    CHECK(init > 3 * SEC && init < 61 * SEC);
    containers_cgroup_removed(b.c, 0, 12, 4 * SEC);
    containers_tick(b.c, 62 * SEC); /* the second scan is over */
    CHECK_EQ(containers_due(b.c), 64 * SEC);
    containers_tick(b.c, 63 * SEC);
    CHECK(containers_find(b.c, 12));
    containers_tick(b.c, containers_due(b.c));
    CHECK(!containers_find(b.c, 12));
    CHECK_EQ(containers_due(b.c), 122 * SEC); /* the third */
    containers_stats(b.c, &st);
    CHECK_EQ(st.rescans, 2);
}

static bool count_all(void *ctx, const struct container *one)
{
    return ++*(int *)ctx != 2;
}

TEST(containers_all_until_somebody_has_enough)
{
    BENCH(true);
    int n = 0;
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_all(b.c, count_all, &n);
    CHECK_EQ(n, 1);
    containers_cgroup_made(b.c, 0, 13, "/docker/" C2, 2 * SEC);
    containers_cgroup_made(b.c, 0, 14, "/system.slice/x.service", 2 * SEC);
    n = 0;
    containers_all(b.c, count_all, &n);
    CHECK_EQ(n, 2);
    containers_stats(b.c, &st);
    CHECK(st.containers == 2 && st.units == 1);
}
