#include "profile/event.h"
#include <linux/perf_event.h>
#include <string.h>

/* Types and units are those that pprof, Grafana and perf users already know. Software clocks work in every virtual
 * machine; hardware counters only where there is a PMU. */
static const struct event_kind KINDS[] = {
    {"cpu", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "nanoseconds", "cpu", "process_cpu", 99, true,
     "time on a CPU"},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "count", "page_faults", "page_faults", 99, false,
     "page faults"},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "count", "context_switches",
     "context_switches", 99, false, "times a thread left its CPU"},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "count", "cpu_migrations", "cpu_migrations",
     99, false, "times a thread moved to another CPU"},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "count", "cycles", "cycles", 99, false,
     "CPU cycles (needs a PMU)"},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "count", "instructions", "instructions", 99, false,
     "retired instructions (needs a PMU)"},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "count", "cache_misses", "cache_misses", 99, false,
     "last-level cache misses (needs a PMU)"},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "count", "branch_misses", "branch_misses", 99,
     false, "mispredicted branches (needs a PMU)"},
};

const struct event_kind *event_kinds(size_t *n)
{
    *n = sizeof(KINDS) / sizeof(KINDS[0]);
    return KINDS;
}

const struct event_kind *event_kind_find(const char *name)
{
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(k[i].name, name))
            return &k[i];
    return NULL;
}
