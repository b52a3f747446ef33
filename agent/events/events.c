#include "events/events.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* Types and units are those that pprof, Grafana and perf users already know. Software clocks work in every virtual
 * machine; hardware counters only where there is a PMU. */
#define SOFTWARE(what)                                                       \
    {                                                                        \
        .perf_type = PERF_TYPE_SOFTWARE, .perf_config = PERF_COUNT_SW_##what \
    }
#define HARDWARE(what)                                                       \
    {                                                                        \
        .perf_type = PERF_TYPE_HARDWARE, .perf_config = PERF_COUNT_HW_##what \
    }
static const struct event_kind KINDS[] = {
    {"cpu",
     {.perf_type = PERF_TYPE_SOFTWARE, .perf_config = PERF_COUNT_SW_CPU_CLOCK, .time = true},
     "nanoseconds",
     "cpu",
     "process_cpu",
     99,
     "time on a CPU"},
    {"page-faults", SOFTWARE(PAGE_FAULTS), "count", "page_faults", "page_faults", 99, "page faults"},
    {"context-switches", SOFTWARE(CONTEXT_SWITCHES), "count", "context_switches", "context_switches", 99,
     "times a thread left its CPU"},
    {"cpu-migrations", SOFTWARE(CPU_MIGRATIONS), "count", "cpu_migrations", "cpu_migrations", 99,
     "times a thread moved to another CPU"},
    {"cycles", HARDWARE(CPU_CYCLES), "count", "cycles", "cycles", 99, "CPU cycles (needs a PMU)"},
    {"instructions", HARDWARE(INSTRUCTIONS), "count", "instructions", "instructions", 99,
     "retired instructions (needs a PMU)"},
    {"cache-misses", HARDWARE(CACHE_MISSES), "count", "cache_misses", "cache_misses", 99,
     "last-level cache misses (needs a PMU)"},
    {"branch-misses", HARDWARE(BRANCH_MISSES), "count", "branch_misses", "branch_misses", 99,
     "mispredicted branches (needs a PMU)"},
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

int events_choose(const char *const *names, size_t count, unsigned hz, const struct event_kind *kinds[XP_MAX_EVENTS],
                  struct probe_event probes[XP_MAX_EVENTS], size_t *n)
{
    for (*n = 0; *n < count; ++*n) {
        const struct event_kind *kind = event_kind_find(names[*n]);
        if (*n == XP_MAX_EVENTS)
            return -E2BIG;
        if (!kind)
            return -EINVAL;
        kinds[*n] = kind;
        probes[*n] = kind->probe;
        probes[*n].hz = hz ? hz : kind->default_hz;
    }
    return 0;
}
