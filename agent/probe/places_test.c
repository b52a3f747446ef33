#include "probe/places.h"
#include "base/test.h"
#include "bpf/usdt.h"
#include "probe/kinds.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    CHECK(f);
    fputs(text, f);
    fclose(f);
}

static void remove_all(const char *folder)
{
    static const char *const names[] = {"type", "format/retprobe", "format/ref_ctr_offset", "format", ""};
    char path[256];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        remove(path);
    }
}

TEST(places_read_what_perf_events_are_like)
{
    char folder[] = "/tmp/xprof-pmu-XXXXXX", format[64];
    struct places_pmu pmu = {0};
    CHECK(mkdtemp(folder));
    CHECK_EQ(places_pmu_read(folder, &pmu), -ENOENT);
    snprintf(format, sizeof(format), "%s/format", folder);
    CHECK_EQ(mkdir(format, 0700), 0);
    write_text(folder, "type", "7\n");
    write_text(format, "retprobe", "config:3\n");
    CHECK_EQ(places_pmu_read(folder, &pmu), 0); /* kprobes */
    CHECK_EQ(pmu.counter, 64);
    write_text(format, "ref_ctr_offset", "config:32-63\n");
    CHECK_EQ(places_pmu_read(folder, &pmu), 0);
    CHECK_EQ(pmu.type, 7);
    CHECK_EQ(pmu.returns, 3);
    CHECK_EQ(pmu.counter, 32);
    write_text(format, "retprobe", "config1:0\n");
    CHECK_EQ(places_pmu_read(folder, &pmu), -EBADMSG);
    remove_all(folder);
}

TEST(places_have_perf_events)
{
    static const struct places_pmu pmu = {.type = 7, .returns = 3, .counter = 32};
    u64 offsets[] = {0x1234, 0x5678}, counters[] = {0, 0x4010};
    const struct probe_places places = {.fd = -1, .offsets = offsets, .n = 2};
    struct probe_places guarded = {.fd = -1, .offsets = offsets, .counters = counters, .n = 2};
    struct perf_event_attr attr;
    CHECK_EQ(places_perf_attr(&pmu, &places, 1, true, "/x", &attr), 0);
    CHECK_EQ(attr.type, 7);
    CHECK_EQ(attr.config, 8);
    CHECK_STR((const char *)(uintptr_t)attr.config1, "/x");
    CHECK_EQ(attr.config2, 0x5678);
    CHECK_EQ(places_perf_attr(&pmu, &guarded, 0, false, "/x", &attr), 0);
    CHECK_EQ(attr.config, 0);
    CHECK_EQ(places_perf_attr(&pmu, &guarded, 1, false, "/x", &attr), 0);
    CHECK_EQ(attr.config, 0x401000000000);
    counters[1] = 1ull << 32;
    CHECK_EQ(places_perf_attr(&pmu, &guarded, 1, false, "/x", &attr), -EFBIG);
    guarded.counters = NULL;
    guarded.kernel = true;
    CHECK_EQ(places_perf_attr(&pmu, &guarded, 0, false, "/x", &attr), 0);
    CHECK_EQ(attr.config1, 0);
    CHECK_EQ(attr.config2, 0x1234);
}
