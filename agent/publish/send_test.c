/* What goes out: how many profiles one becomes, with which labels, and whether processes are frames of it. */
#include "base/test.h"
#include "publish/publish_internal.h"
#include <stdlib.h>
#include <unistd.h>

static const struct event_kind *cpu(void)
{
    return event_kind_find("cpu");
}

struct place { /* exports into a folder */
    char dir[64], spool[80], out[80];
    struct exports *exports;
    struct publisher *publisher;
};

static int open_place(struct place *p, enum process_frames frames, const struct label_set *every)
{
    char why[256];
    *p = (struct place){.dir = "/tmp/xprof-publish-XXXXXX"};
    if (!mkdtemp(p->dir))
        return -1;
    snprintf(p->spool, sizeof(p->spool), "%s/s", p->dir);
    snprintf(p->out, sizeof(p->out), "%s/o", p->dir);
    struct export_target target = {.kind = EXPORT_DIRECTORY, .name = "d", .path = p->out};
    struct export_config c = {.targets = &target, .ntargets = 1, .spool_dir = p->spool};
    int rc = exports_new(&p->exports, &c, why, sizeof(why));
    struct publisher_config pc = {.exports = p->exports, .every = every, .process_frames = frames};
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

static struct publisher_stats stats(const struct place *p)
{
    struct publisher_stats s;
    publisher_stats(p->publisher, &s);
    return s;
}

/* Is it in a profile that went out? */
static bool exported(struct place *p, const char *text)
{
    char command[256];
    exports_flush(p->exports, 5000);
    snprintf(command, sizeof(command), "find %s -name '*.gz' | xargs zcat | grep -aF -- '%s' >/dev/null", p->out, text);
    return system(command) == 0;
}

/* Is it a label, or else a part of what was put? */
static bool spooled(const struct place *p, const char *text)
{
    char command[256];
    snprintf(command, sizeof(command), "grep -qaF -- '%s' %s/*.seg", text, p->spool);
    return system(command) == 0;
}

struct share { /* of the samples */
    const char *program;
    u64 samples;
};

/* A process for each share; each has `nstacks` stacks of one frame, whose function's name has `name_len` bytes. */
static int make(struct profile *all, const struct share *shares, u32 n, u32 nstacks, int name_len)
{
    char name[1200];
    if (profile_init(all))
        return -1;
    *VEC_PUSH(&all->mappings) = (struct prof_mapping){.name = profile_string(all, "/bin/x"), .has_functions = true};
    for (u32 i = 0; i < n; i++) {
        *VEC_PUSH(&all->processes) =
            (struct prof_process){.name = profile_string(all, shares[i].program), .tgid = 10 + i, .cgroup = 1};
        for (u32 k = 0; k < nstacks; k++) {
            u32 row = (u32)all->functions.n;
            snprintf(name, sizeof(name), "f%0*u", name_len, row);
            *VEC_PUSH(&all->functions) = (struct prof_function){.name = profile_string(all, name)};
            *VEC_PUSH(&all->lines) = (struct prof_line){.function = row};
            *VEC_PUSH(&all->locations) = (struct prof_location){.address = row + 1, .first_line = row, .nlines = 1};
            *VEC_PUSH(&all->stack_locations) = row;
            *VEC_PUSH(&all->stacks) = (struct prof_stack){
                .process = i, .first = row, .n = 1, .count = {shares[i].samples}, .value = {shares[i].samples}};
        }
    }
    all->events[0] = cpu();
    all->nevents = 1;
    all->period[0] = 1;
    all->time_ns = 1700000000000000000ull;
    all->duration_ns = 1000000000;
    return 0;
}

/* All of it is one group's. */
static void publish(struct place *p, const struct profile *all, struct group g)
{
    for (u32 i = 0; i < all->stacks.n; i++)
        *VEC_PUSH(&g.stacks) = i;
    publish_programs(all, &g);
    publish_group(p->publisher, all, &g, 0);
    vec_free(&g.stacks);
}

TEST(send_halves_what_has_too_many_stacks)
{
    static const struct share one = {"one", 3};
    struct place p;
    struct profile all;
    CHECK_EQ(open_place(&p, PROCESS_FRAMES_AUTO, NULL), 0);
    CHECK_EQ(make(&all, &one, 1, 15000, 1), 0);
    publish(&p, &all, (struct group){.cgroup = 1});
    CHECK_EQ(stats(&p).splits, 0);
    CHECK_EQ(stats(&p).profiles, 1);
    CHECK_EQ(stats(&p).samples, 45000);
    profile_free(&all);
    CHECK_EQ(make(&all, &one, 1, 15001, 1), 0);
    publish(&p, &all, (struct group){.cgroup = 1});
    CHECK_EQ(stats(&p).splits, 1);
    CHECK_EQ(stats(&p).profiles, 3);
    CHECK_EQ(stats(&p).samples, 45000 + 45003);
    CHECK_EQ(stats(&p).refused, 0);
    CHECK(exported(&p, "f15000") && exported(&p, "f7499") && exported(&p, "f7500"));
    profile_free(&all);
    close_place(&p);
}

TEST(send_halves_what_has_too_many_bytes)
{
    static const struct share one = {"one", 1};
    struct place p;
    struct profile all;
    CHECK_EQ(open_place(&p, PROCESS_FRAMES_AUTO, NULL), 0);
    CHECK_EQ(make(&all, &one, 1, 4000, 1000), 0); /* 4 MB */
    publish(&p, &all, (struct group){.cgroup = 1});
    CHECK_EQ(stats(&p).splits, 3);
    CHECK_EQ(stats(&p).profiles, 4);
    CHECK_EQ(stats(&p).samples, 4000);
    profile_free(&all);
    close_place(&p);
}

/* A name for all functions, or for each of them. */
static void rename_all(struct profile *all, char *text, size_t size, bool each)
{
    memset(text, 'x', size - 1);
    for (size_t i = 0; i < all->functions.n; i++) {
        text[0] = (char)('a' + (each ? i : 0));
        all->functions.v[i].name = profile_string(all, text);
    }
}

TEST(send_encodes_only_so_much_of_a_group)
{
    static const struct share one = {"one", 1};
    static char text[1 << 20];
    struct place p;
    struct profile all;
    CHECK_EQ(open_place(&p, PROCESS_FRAMES_AUTO, NULL), 0);
    CHECK_EQ(make(&all, &one, 1, 16, 1), 0);
    rename_all(&all, text, sizeof(text), true);
    publish(&p, &all, (struct group){.cgroup = 1});
    CHECK_EQ(stats(&p).splits, 4); /* of 16, 8, 4 and 2 MiB */
    CHECK_EQ(stats(&p).profiles, 2);
    CHECK_EQ(stats(&p).samples, 2);
    CHECK_EQ(stats(&p).refused, 14);
    profile_free(&all);
    close_place(&p);
}

TEST(send_leaves_out_stacks_that_no_server_takes)
{
    static const struct share one = {"one", 1};
    static char text[2 << 20];
    struct place p;
    struct profile all;
    CHECK_EQ(open_place(&p, PROCESS_FRAMES_AUTO, NULL), 0);
    CHECK_EQ(make(&all, &one, 1, 8, 1), 0);
    rename_all(&all, text, sizeof(text), false);
    all.functions.v[2].name = profile_string(&all, "short");
    publish(&p, &all, (struct group){.cgroup = 1});
    CHECK_EQ(stats(&p).splits, 7);
    CHECK_EQ(stats(&p).profiles, 1);
    CHECK_EQ(stats(&p).samples, 1);
    CHECK_EQ(stats(&p).refused, 7);
    CHECK(exported(&p, "short"));
    profile_free(&all);
    close_place(&p);
}

/* Who has the busiest program's name, and which others are worth telling apart. */
TEST(send_finds_the_busiest_program)
{
    static const struct {
        struct share shares[3];
        u32 program;
        bool several;
    } rows[] = {
        {{{"a", 5}, {"b", 95}, {"c", 0}}, 1, false},
        {{{"a", 6}, {"b", 94}, {"c", 0}}, 1, true},
        {{{"a", 90}, {"b", 4}, {"c", 6}}, 0, true},
        {{{"a", 3}, {"runc:[2:INIT]", 900}, {"", 900}}, 0, false}, /* it is about to become the program */
        {{{"a", 40}, {"b", 50}, {"a", 30}}, 2, true},              /* of one name */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct group g = {.cgroup = 1};
        struct profile all;
        CHECK_EQ(make(&all, rows[i].shares, 3, 1, 1), 0);
        for (u32 k = 0; k < 3; k++)
            *VEC_PUSH(&g.stacks) = k;
        publish_programs(&all, &g);
        CHECK_EQ(g.program, rows[i].program);
        CHECK_EQ(g.several, rows[i].several);
        vec_free(&g.stacks);
        profile_free(&all);
    }
}

TEST(send_tells_programs_apart_when_that_is_wanted)
{
    static const struct {
        enum process_frames mode;
        u64 other;
        bool frames;
    } rows[] = {{PROCESS_FRAMES_AUTO, 1, false},
                {PROCESS_FRAMES_AUTO, 50, true},
                {PROCESS_FRAMES_ALWAYS, 1, true},
                {PROCESS_FRAMES_NEVER, 50, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct share shares[2] = {{"main-program", 100}, {"other-program", rows[i].other}};
        struct place p;
        struct profile all;
        CHECK_EQ(open_place(&p, rows[i].mode, NULL), 0);
        CHECK_EQ(make(&all, shares, 2, 1, 1), 0);
        publish(&p, &all, (struct group){.cgroup = 1});
        CHECK_EQ(stats(&p).profiles, 1);
        CHECK(exported(&p, "f1"));
        CHECK_EQ(exported(&p, "[process]"), rows[i].frames);
        profile_free(&all);
        close_place(&p);
    }
}

TEST(send_labels_by_rule_then_identity_then_everybody)
{
    static const struct share one = {"one", 1};
    struct own_rule rule = {.pid = 0};
    struct identity identity = {.cgroup = 1};
    struct label_set every = {0};
    struct place p;
    struct profile all;
    labels_set(&rule.labels, "first", "of-rule");
    labels_set(&identity.labels, "first", "of-identity");
    labels_set(&identity.labels, "second", "by-identity");
    labels_set(&identity.labels, "__name__", "its-own-series");
    labels_set(&every, "first", "of-every");
    labels_set(&every, "second", "by-every");
    labels_set(&every, "third", "from-every");
    CHECK_EQ(open_place(&p, PROCESS_FRAMES_AUTO, &every), 0);
    CHECK_EQ(make(&all, &one, 1, 1, 1), 0);
    publish(&p, &all, (struct group){.cgroup = 1, .rule = &rule, .identity = &identity});
    CHECK(spooled(&p, "of-rule") && spooled(&p, "by-identity") && spooled(&p, "from-every"));
    CHECK(!spooled(&p, "of-identity") && !spooled(&p, "of-every") && !spooled(&p, "by-every"));
    CHECK(spooled(&p, "its-own-series") && !spooled(&p, cpu()->series));
    CHECK(spooled(&p, "unknown") && !spooled(&p, "comm")); /* its programs are not the service */
    CHECK_EQ(stats(&p).labels_left_out, 0);
    profile_free(&all);
    labels_free(&rule.labels);
    labels_free(&identity.labels);
    labels_free(&every);
    close_place(&p);
}

TEST(send_names_the_service_by_program_where_nobody_else_does)
{
    static const struct share one = {"the-program", 1};
    for (int named = 0; named < 2; named++) {
        struct identity identity = {.cgroup = 1, .by_program = true};
        struct label_set every = {0};
        struct place p;
        struct profile all;
        labels_set(&every, "service_name", named ? "given" : "");
        CHECK_EQ(open_place(&p, PROCESS_FRAMES_NEVER, &every), 0);
        CHECK_EQ(make(&all, &one, 1, 1, 1), 0);
        publish(&p, &all, (struct group){.cgroup = 1, .identity = &identity});
        CHECK_EQ(spooled(&p, "comm"), !named);
        CHECK_EQ(spooled(&p, "the-program"), !named);
        CHECK_EQ(spooled(&p, "given"), named);
        CHECK(spooled(&p, cpu()->series) && !spooled(&p, "unknown"));
        profile_free(&all);
        labels_free(&every);
        close_place(&p);
    }
}
