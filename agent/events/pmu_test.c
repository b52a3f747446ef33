/* Events of PMUs, in a tree like that of sysfs. */
#include "base/test.h"
#include "events/made.h"
#include "events/pmu.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *path, *text;
} TREE[] = {
    {"cpu", NULL},
    {"cpu/events", NULL},
    {"cpu/format", NULL},
    {"cpu/type", "4\n"},
    {"cpu/format/event", "config:0-7,32-35\n"},
    {"cpu/format/umask", "config:8-15\n"},
    {"cpu/format/inv", "config:23\n"},
    {"cpu/format/ldlat", "config1:0-15\n"},
    {"cpu/format/all", "config2:0-63\n"},
    {"cpu/format/odd", "config9:0-63\n"},
    {"cpu/format/worse", "config:7-3\n"},
    {"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
    {"cpu/events/mem-loads.unit", "Joules\n"},
    {"cpu/events/broken", "event=zero\n"},
    {"soft", NULL},
    {"soft/type", "1\n"},
};

static void path_of(const char *dir, size_t i, char out[256])
{
    snprintf(out, 256, "%s/%s", dir, TREE[i].path);
}

static void make_tree(char *dir)
{
    char path[256];
    CHECK(mkdtemp(dir));
    for (size_t i = 0; i < sizeof(TREE) / sizeof(*TREE); i++) {
        path_of(dir, i, path);
        FILE *f = TREE[i].text ? fopen(path, "w") : NULL;
        if (f)
            fputs(TREE[i].text, f);
        CHECK(TREE[i].text ? f && !fclose(f) : !mkdir(path, 0700));
    }
}

static void remove_tree(const char *dir)
{
    char path[256];
    for (size_t i = sizeof(TREE) / sizeof(*TREE); i-- > 0;) {
        path_of(dir, i, path);
        remove(path);
    }
    rmdir(dir);
}

TEST(pmu_events_are_found)
{
    static const struct {
        const char *text;
        u32 type;
        u64 config[3];
    } good[] = {
        {"cpu/mem-loads/", 4, {0x1cd, 3, 0}},
        {"cpu/event=0xcd,umask=2/", 4, {0x2cd, 0, 0}},
        {"cpu/event=0x1cd,inv/", 4, {0x1008000cd, 0, 0}},
        {"cpu/config=7,config1=0x10,config2=9,umask=1/", 4, {0x107, 0x10, 9}},
        {"cpu/all=0xffffffffffffffff/", 4, {0, 0, ~0ull}},
        {"soft/config=2/", 1, {2, 0, 0}},
    };
    char dir[] = "/tmp/xprof-pmu-XXXXXX", why[384];
    make_tree(dir);
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct pmu_event e = {0};
        CHECK_STR(pmu_find(dir, good[i].text, &e, why, sizeof(why)) ? why : "", "");
        CHECK_EQ(e.type, good[i].type);
        for (size_t c = 0; c < 3; c++)
            CHECK_EQ(e.config[c], good[i].config[c]);
    }
    remove_tree(dir);
}

TEST(pmu_events_that_are_wrong_are_explained)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"cpu", "expected perf:PMU/EVENT/"},
        {"cpu/mem-loads", "expected perf:PMU/EVENT/"},
        {"cpu//", "expected perf:PMU/EVENT/"},
        {"cpu/x/y", "expected perf:PMU/EVENT/"},
        {"../x/", "expected perf:PMU/EVENT/"},
        {"gpu/x/", "no PMU gpu; it has: cpu soft"},
        {"cpu/mem-stores/", "no event mem-stores; it has: broken mem-loads"},
        {"cpu/..=1/", "no term ..; it has config, config1, config2 and: all event inv ldlat odd umask worse"},
        {"cpu/cmask=1/", "no term cmask"},
        {"cpu/event=0x1000/", "does not fit: it is config:0-7,32-35"},
        {"cpu/umask=x/", "umask=x: expected a number"},
        {"cpu/umask=/", "expected a number"},
        {"cpu/broken/", "event=zero: expected a number"},
        {"cpu/odd=1/", "its format is not understood: config9:0-63"},
        {"cpu/worse=1/", "its format is not understood"},
        {"soft/faults/", "no event faults; it has: none"},
    };
    char dir[] = "/tmp/xprof-pmu-XXXXXX", why[384];
    make_tree(dir);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct pmu_event e = {0};
        CHECK(pmu_find(dir, bad[i].text, &e, why, sizeof(why)) < 0);
        CHECK_STR(strstr(why, bad[i].why) ? bad[i].why : why, bad[i].why);
    }
    remove_tree(dir);
}

TEST(pmu_events_have_commas_of_their_own)
{
    CHECK_EQ(event_item_length("cpu,x"), 3);
    CHECK_EQ(event_item_length("perf:cpu/a=1,b=2/,x"), 17);
    CHECK_EQ(event_item_length("perf:cpu/a=1,b=2/"), 17);
    CHECK_EQ(event_item_length("perf:cpu,x"), 8);
    CHECK_EQ(event_item_length("uprobe:/a/b:c,x"), 13);
    CHECK_EQ(event_item_length("uprobe:b:c(int, char),x"), 21);
    CHECK_EQ(event_item_length("uprobe:b:c[(int, char],x"), 15);
}
