/* Events of PMUs as sysfs describes them: `PMU/EVENT/`, or `PMU/TERM=NUMBER,.../` with terms of the PMU's format,
 * config, config1 and config2. A term without a number is 1.
 */
#pragma once
#include "probe/probe.h"
#include <stdbool.h>
#include <stddef.h>

#define PMU_DEVICES "/sys/bus/event_source/devices"

struct pmu_event { /* as struct perf_event_attr has it */
    u32 type;
    u64 config[3];
};
/* `devices`: PMU_DEVICES. Returns 0, or -errno and what is wrong, in a line without name. */
int pmu_find(const char *devices, const char *text, struct pmu_event *out, char *why, size_t len);
