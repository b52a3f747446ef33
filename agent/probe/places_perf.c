#include "probe/places.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the number behind `prefix` in a small file. */
static int read_number(const char *folder, const char *file, const char *prefix, u32 *out)
{
    char path[256], *end;
    AUTO_FREE char *text = NULL;
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    int rc = fs_read_file(path, 64, &text, NULL);
    if (rc)
        return rc;
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return -EBADMSG;
    const char *digits = text + strlen(prefix);
    unsigned long n = strtoul(digits, &end, 10);
    if (end == digits || n > UINT32_MAX)
        return -EBADMSG;
    *out = (u32)n;
    return 0;
}

int places_pmu_read(const char *folder, struct places_pmu *out)
{
    struct places_pmu pmu = {.counter = 64};
    int rc = read_number(folder, "type", "", &pmu.type);
    if (!rc)
        rc = read_number(folder, "format/retprobe", "config:", &pmu.returns);
    if (!rc && (rc = read_number(folder, "format/ref_ctr_offset", "config:", &pmu.counter)) == -ENOENT)
        rc = 0; /* those in the kernel have no semaphores */
    if (!rc && pmu.returns > 63)
        rc = -EBADMSG;
    if (!rc)
        *out = pmu;
    return rc;
}

int places_perf_attr(const struct places_pmu *pmu, const struct probe_places *places, size_t number, bool returns,
                     const char *path, struct perf_event_attr *out)
{
    u64 counter = places->counters ? places->counters[number] : 0;
    if (counter && (pmu->counter > 63 || counter << pmu->counter >> pmu->counter != counter))
        return -EFBIG;
    *out = (struct perf_event_attr){.size = sizeof(*out), .type = pmu->type, .sample_period = 1};
    out->config = (u64)returns << pmu->returns | (counter ? counter << pmu->counter : 0);
    out->config1 = places->kernel ? 0 : (uintptr_t)path; /* uprobe_path; kprobe_func: none, */
    out->config2 = places->offsets[number];              /* probe_offset; then it is kprobe_addr */
    return 0;
}
