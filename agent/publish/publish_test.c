#include "base/hash.h"
#include "base/test.h"
#include "profile/fixture_test.h"
#include "publish/publish.h"
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static const struct fixture_sample samples[] = {
    {"one", 10, 0, XP_CAUSE_END, 100, 0, 2, {W_LEAF(2, 0x3000), W(2, 0x1000)}},
    {"two", 20, 0, XP_CAUSE_END, 7, 0, 2, {W_LEAF(3, 0x1010), W(3, 0x2010)}},
};

struct place { /* exports into a folder */
    char dir[64], spool[80], out[80];
    struct exports *exports;
    struct publisher *publisher;
    u64 unknown; /* the cgroup that was asked for */
    u64 rounds;
};

static void on_unknown(void *ctx, u64 cgroup, u32 tgid)
{
    ((struct place *)ctx)->unknown = cgroup;
}

static int open_place(struct place *p)
{
    char why[256];
    *p = (struct place){.dir = "/tmp/xprof-publish-XXXXXX"};
    if (!mkdtemp(p->dir))
        return -1;
    snprintf(p->spool, sizeof(p->spool), "%s/s", p->dir);
    snprintf(p->out, sizeof(p->out), "%s/o", p->dir);
    struct export_target target = {.kind = EXPORT_DIRECTORY, .name = "d", .path = p->out};
    struct export_config c = {.targets = &target, .ntargets = 1, .spool_dir = p->spool};
    struct publisher_config pc = {.unknown = on_unknown, .ctx = p};
    int rc = exports_new(&p->exports, &c, why, sizeof(why));
    pc.exports = p->exports;
    return rc ? rc : publisher_new(&p->publisher, &pc);
}

static void close_place(struct place *p)
{
    char command[128];
    publisher_free(&p->publisher);
    exports_free(&p->exports);
    snprintf(command, sizeof(command), "rm -rf %s", p->dir);
    if (system(command))
        test_fail(__FILE__, __LINE__, "%s stays", p->dir);
}

/* An interval in which the two programs run in these cgroups. */
static void run(struct place *p, u64 one, u64 two)
{
    struct profile all;
    if (fixture_profile(samples, 2, &all))
        return;
    for (size_t i = 0; i < all.processes.n; i++)
        all.processes.v[i].cgroup = all.processes.v[i].tgid == 10 ? one : two;
    all.time_ns += p->rounds++ * 1000000000;
    publisher_publish(p->publisher, &all);
    profile_free(&all);
}

static void know(struct place *p, u64 cgroup, const char *service, bool unwanted, bool pending)
{
    struct identity *i = calloc(1, sizeof(*i));
    i->cgroup = cgroup;
    i->unwanted = unwanted;
    i->pending = pending;
    labels_set(&i->labels, "unit", service);
    labels_set(&i->labels, "service_name", service);
    publisher_know(p->publisher, i);
}

/* Profiles in the folder of a service. */
static unsigned files(struct place *p, const char *service)
{
    char path[256];
    unsigned n = 0;
    exports_flush(p->exports, 5000);
    snprintf(path, sizeof(path), "%s/host/%s", p->out, service);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strstr(e->d_name, ".pb.gz") != NULL;
    if (dir)
        closedir(dir);
    return n;
}

/* Is it in the spool? (What is sent stays in its last segment.) */
static bool spooled(const struct place *p, const char *text)
{
    char command[256];
    snprintf(command, sizeof(command), "grep -qaF %s %s/*.seg", text, p->spool);
    return system(command) == 0;
}

static struct publisher_stats stats(const struct place *p)
{
    struct publisher_stats s;
    publisher_stats(p->publisher, &s);
    return s;
}

TEST(publish_takes_an_interval_apart)
{
    struct place p;
    CHECK_EQ(open_place(&p), 0);
    know(&p, 1, "a", false, false);
    know(&p, 2, "b", false, false);
    run(&p, 1, 2);
    CHECK_EQ(files(&p, "a"), 1);
    CHECK_EQ(files(&p, "b"), 1);
    run(&p, 1, 1); /* together */
    CHECK_EQ(files(&p, "a"), 2);
    CHECK_EQ(stats(&p).samples, 4);
    CHECK_EQ(stats(&p).profiles, 3);
    close_place(&p);
}

static u64 seed_of_unit(const char *service)
{
    u64 h = hash_bytes("service_name", 12, 2);
    h = hash_bytes(service, strlen(service), h);
    return hash_bytes("unit", 4, h);
}

static void know_unit(struct place *p, u64 cgroup, const char *service, const char *unit)
{
    struct identity *i = calloc(1, sizeof(*i));
    i->cgroup = cgroup;
    labels_set(&i->labels, "service_name", service);
    labels_set(&i->labels, "unit", unit);
    publisher_know(p->publisher, i);
}

/* A service and a unit whose labels hash like those of service "a", unit "00000000": the hash of eight bytes can be
 * turned round. */
static bool find_twin(char service[16], char unit[9])
{
    for (unsigned i = 0; i < 1000000; i++) {
        u64 w, plain = 0;
        snprintf(service, 16, "b%u", i);
        memcpy(&w, "00000000", 8);
        w ^= seed_of_unit("a") ^ seed_of_unit(service);
        memcpy(unit, &w, 8);
        unit[8] = 0;
        while (plain < 8 && unit[plain] > ' ' && unit[plain] < 127)
            plain++;
        if (plain == 8)
            return true;
    }
    return false;
}

TEST(publish_tells_apart_what_hashes_alike)
{
    struct place p;
    char service[16], unit[9];
    CHECK_EQ(open_place(&p), 0);
    CHECK(find_twin(service, unit));
    know_unit(&p, 1, "a", "00000000");
    know_unit(&p, 2, service, unit);
    run(&p, 1, 2);
    CHECK_EQ(stats(&p).profiles, 2);
    CHECK_EQ(files(&p, "00000000"), 1);
    close_place(&p);
}

TEST(publish_waits_for_a_name)
{
    struct place p;
    CHECK_EQ(open_place(&p), 0);
    know(&p, 2, "b", false, true);
    run(&p, 1, 2);
    CHECK_EQ(p.unknown, 1);
    CHECK_EQ(stats(&p).profiles, 0);
    CHECK_EQ(stats(&p).waiting, 2);
    know(&p, 1, "a", false, false);
    know(&p, 2, "b", false, false);
    run(&p, 1, 2);
    CHECK_EQ(files(&p, "a"), 2);
    CHECK_EQ(files(&p, "b"), 2);
    CHECK_EQ(stats(&p).unknown, 0);
    CHECK_EQ(stats(&p).waiting, 0);
    close_place(&p);
}

TEST(publish_does_not_wait_for_ever)
{
    struct place p;
    CHECK_EQ(open_place(&p), 0);
    know(&p, 2, "b", false, false);
    for (int i = 0; i < 6; i++)
        run(&p, 1, 2);
    CHECK(stats(&p).unknown > 0);
    publisher_flush(p.publisher);
    CHECK_EQ(stats(&p).samples, 12);
    close_place(&p);
}

TEST(publish_drops_what_is_not_wanted)
{
    struct place p;
    CHECK_EQ(open_place(&p), 0);
    know(&p, 1, "a", true, false);
    know(&p, 2, "b", false, false);
    run(&p, 1, 2);
    CHECK_EQ(files(&p, "a"), 0);
    CHECK_EQ(files(&p, "b"), 1);
    CHECK_EQ(stats(&p).unwanted, 1);
    close_place(&p);
}

TEST(publish_knows_programs)
{
    struct place p;
    struct label_set labels = {0};
    CHECK_EQ(open_place(&p), 0);
    CHECK_EQ(labels_set(&labels, "unit", "mine"), 0);
    struct process_rule rule = {.comm = "on*", .labels = &labels};
    CHECK_EQ(publisher_set_rules(p.publisher, &rule, 1), 0);
    know(&p, 1, "a", false, false);
    run(&p, 1, 1);
    CHECK_EQ(files(&p, "mine"), 1);
    CHECK_EQ(files(&p, "a"), 1);
    labels_free(&labels);
    close_place(&p);
}

TEST(publish_names_the_series_however_many_labels_there_are)
{
    struct place p;
    struct identity *i = calloc(1, sizeof(*i));
    char name[8];
    CHECK_EQ(open_place(&p), 0);
    i->cgroup = 1;
    for (unsigned k = 0; k < LABELS_MAX; k++) {
        snprintf(name, sizeof(name), "l%02u", k);
        CHECK_EQ(labels_set(&i->labels, name, "x"), 0);
    }
    publisher_know(p.publisher, i);
    run(&p, 1, 1);
    CHECK_EQ(stats(&p).profiles, 1);
    CHECK(spooled(&p, "__name__"));
    CHECK(spooled(&p, "l28"));
    CHECK(!spooled(&p, "l29"));
    CHECK_EQ(stats(&p).labels_left_out, 2); /* and service_name */
    close_place(&p);
}

static void tell_gone(struct place *p, u64 cgroup)
{
    struct identity *i = calloc(1, sizeof(*i));
    i->cgroup = cgroup;
    i->gone = true;
    publisher_know(p->publisher, i);
}

/* A name is kept for samples on their way, some intervals long. */
TEST(publish_remembers_for_a_while_who_is_gone)
{
    struct place p;
    CHECK_EQ(open_place(&p), 0);
    tell_gone(&p, 1); /* nobody knew it */
    know(&p, 2, "b", false, false);
    know(&p, 1, "a", false, false);
    know(&p, 3, "c", false, false);
    tell_gone(&p, 1);
    for (unsigned i = 0; i < 7; i++)
        run(&p, 1, 2);
    CHECK_EQ(p.unknown, 0);
    CHECK_EQ(files(&p, "a"), 7);
    run(&p, 1, 2);
    CHECK_EQ(p.unknown, 1);
    run(&p, 3, 2); /* the others are still found */
    CHECK_EQ(files(&p, "c"), 1);
    CHECK_EQ(files(&p, "b"), 9);
    know(&p, 1, "again", false, false);
    run(&p, 1, 2);
    CHECK(files(&p, "again") >= 1);
    tell_gone(&p, 1);
    know(&p, 1, "living", false, false); /* its id came back */
    for (unsigned i = 0; i < 9; i++)
        run(&p, 1, 2);
    CHECK_EQ(files(&p, "living"), 9);
    close_place(&p);
}

enum { MOST = 256 }; /* parts that wait */

/* So many programs in cgroups of their own, from number 1000 on. `events` of each. */
static int many(struct profile *all, u32 n, u32 events)
{
    static struct fixture_sample all_samples[2 * (MOST + 8)];
    for (u32 i = 0; i < n * events; i++)
        all_samples[i] = (struct fixture_sample){
            "many", 100 + i / events, (u8)(i % events), XP_CAUSE_END, 100, 0, 2, {W_LEAF(2, 0x3000), W(2, 0x1000)}};
    int rc = fixture_profile(all_samples, n * events, all);
    if (rc)
        return rc;
    all->nevents = events;
    all->events[1] = all->events[0];
    for (size_t i = 0; i < all->processes.n; i++)
        all->processes.v[i].cgroup = 1000 + i;
    for (size_t i = 0; i < all->stacks.n; i++)
        all->stacks.v[i].count[0] = all->stacks.v[i].value[0] = 1;
    return 0;
}

TEST(publish_lets_a_bounded_number_wait)
{
    struct place p;
    struct profile all;
    CHECK_EQ(open_place(&p), 0);
    CHECK_EQ(many(&all, MOST + 8, 1), 0);
    publisher_publish(p.publisher, &all);
    CHECK_EQ(stats(&p).waiting, MOST);
    CHECK_EQ(stats(&p).unknown, 8); /* these go out without a name */
    CHECK_EQ(stats(&p).samples, 8);
    profile_free(&all);
    close_place(&p); /* those that wait are freed */
}

/* Events of one stack are never torn apart: all of them wait or none. */
TEST(publish_lets_all_events_wait_or_none)
{
    struct place p;
    struct profile all;
    CHECK_EQ(open_place(&p), 0);
    CHECK_EQ(many(&all, MOST / 2 + 2, 2), 0);
    all.stacks.v[1].count[0] = all.stacks.v[1].value[0] = 0; /* one part for this one: the places end in the middle */
    publisher_publish(p.publisher, &all);
    CHECK_EQ(stats(&p).waiting, MOST - 1);
    CHECK_EQ(stats(&p).unknown, 4); /* two groups with both of their events */
    CHECK_EQ(stats(&p).samples, 2 + 2);
    profile_free(&all);
    CHECK_EQ(many(&all, 1, 1), 0);
    for (int i = 0; i < 4; i++)
        publisher_publish(p.publisher, &all); /* time passes */
    CHECK(stats(&p).samples > 2 * (MOST / 2));
    profile_free(&all);
    close_place(&p);
}

/* A group that is not wanted but for a program with a rule. */
TEST(publish_takes_programs_out_of_groups_that_are_not_wanted)
{
    struct place p;
    struct label_set labels = {0};
    CHECK_EQ(open_place(&p), 0);
    CHECK_EQ(labels_set(&labels, "unit", "mine"), 0);
    struct process_rule rules[] = {{.comm = "none*", .labels = &labels}, {.pid = 20, .labels = &labels}};
    CHECK_EQ(publisher_set_rules(p.publisher, rules, 2), 0);
    struct identity *i = calloc(1, sizeof(*i));
    i->cgroup = 1;
    i->by_rule = true;
    labels_set(&i->labels, "unit", "a");
    publisher_know(p.publisher, i);
    run(&p, 1, 1);
    CHECK_EQ(files(&p, "mine"), 1);
    CHECK_EQ(files(&p, "a"), 0);
    CHECK_EQ(stats(&p).unwanted, 1);
    CHECK_EQ(publisher_set_rules(p.publisher, NULL, 0), 0); /* instead of those before */
    run(&p, 1, 1);
    CHECK_EQ(files(&p, "mine"), 1);
    CHECK_EQ(stats(&p).unwanted, 3);
    labels_free(&labels);
    close_place(&p);
}
