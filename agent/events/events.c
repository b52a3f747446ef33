#include "events/events.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* Types and units are those that pprof, Grafana and perf users already know. Software clocks work in every virtual
 * machine; hardware counters only where there is a PMU. */
#define SOFTWARE(what) .perf_type = PERF_TYPE_SOFTWARE, .perf_config = PERF_COUNT_SW_##what
#define HARDWARE(what) .perf_type = PERF_TYPE_HARDWARE, .perf_config = PERF_COUNT_HW_##what
#define PMU            "PMU"

static const struct event_kind KINDS[] = {
    {
        .name = "cpu",
        .probe = {SOFTWARE(CPU_CLOCK), .time = true},
        .unit = "nanoseconds",
        .type = "cpu",
        .series = "process_cpu",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = "",
        .help = "time on a CPU",
    },
    {
        .name = "offcpu",
        .aliases = {"off-cpu", "off_cpu"},
        .probe = {.how = PROBE_OFFCPU},
        .unit = "nanoseconds",
        .type = "off_cpu",
        .series = "off_cpu",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "time blocked: waiting for disks, locks, sockets, timers",
    },
    {
        .name = "runqueue",
        .aliases = {"run-queue", "run_queue", "runq"},
        .probe = {.how = PROBE_RUNQUEUE},
        .unit = "nanoseconds",
        .type = "run_queue",
        .series = "run_queue",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "time runnable, but waiting for a CPU",
    },
    {
        .name = "wakeup",
        .aliases = {"waker", "wakeups", "wake"},
        .probe = {.how = PROBE_WAKEUP},
        .unit = "nanoseconds",
        .type = "wakeup",
        .series = "wakeup",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "time blocked, by who ended it",
    },
    {
        .name = "lock",
        .aliases = {"locks", "futex", "mutex"},
        .probe = {.how = PROBE_LOCK},
        .unit = "nanoseconds",
        .type = "delay",
        .count = "contentions",
        .series = "mutex",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "time waiting for contended locks",
    },
    {
        .name = "page-faults",
        .aliases = {"page_faults", "faults"},
        .probe = {SOFTWARE(PAGE_FAULTS)},
        .unit = "count",
        .type = "page_faults",
        .series = "page_faults",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = "",
        .help = "page faults",
    },
    {
        .name = "context-switches",
        .aliases = {"context_switches", "cs"},
        .probe = {SOFTWARE(CONTEXT_SWITCHES)},
        .unit = "count",
        .type = "context_switches",
        .series = "context_switches",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = "",
        .help = "times a thread left its CPU",
    },
    {
        .name = "cpu-migrations",
        .aliases = {"cpu_migrations", "migrations"},
        .probe = {SOFTWARE(CPU_MIGRATIONS)},
        .unit = "count",
        .type = "cpu_migrations",
        .series = "cpu_migrations",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = "",
        .help = "times a thread moved to another CPU",
    },
    {
        .name = "cycles",
        .aliases = {"cpu-cycles"},
        .probe = {HARDWARE(CPU_CYCLES)},
        .unit = "count",
        .type = "cycles",
        .series = "cycles",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = PMU,
        .help = "CPU cycles",
    },
    {
        .name = "instructions",
        .probe = {HARDWARE(INSTRUCTIONS)},
        .unit = "count",
        .type = "instructions",
        .series = "instructions",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = PMU,
        .help = "retired instructions",
    },
    {
        .name = "cache-misses",
        .aliases = {"cache_misses"},
        .probe = {HARDWARE(CACHE_MISSES)},
        .unit = "count",
        .type = "cache_misses",
        .series = "cache_misses",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = PMU,
        .help = "last-level cache misses",
    },
    {
        .name = "branch-misses",
        .aliases = {"branch_misses"},
        .probe = {HARDWARE(BRANCH_MISSES)},
        .unit = "count",
        .type = "branch_misses",
        .series = "branch_misses",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = PMU,
        .help = "mispredicted branches",
    },
};

const struct event_kind *event_kinds(size_t *n)
{
    *n = sizeof(KINDS) / sizeof(KINDS[0]);
    return KINDS;
}

static bool is_called(const struct event_kind *kind, const char *name)
{
    bool found = !strcmp(kind->name, name);
    for (size_t i = 0; kind->aliases[i]; i++)
        found |= !strcmp(kind->aliases[i], name);
    return found;
}

const struct event_kind *event_kind_find(const char *name)
{
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    for (size_t i = 0; i < n; i++)
        if (is_called(&k[i], name))
            return &k[i];
    return NULL;
}

const char *event_name(size_t i)
{
    size_t n;
    const struct event_kind *k = event_kinds(&n);
    return i < n ? k[i].name : NULL;
}

const char *event_name_of(const char *name)
{
    const struct event_kind *kind = event_kind_find(name);
    return kind ? kind->name : NULL;
}

const char *event_count_name(const struct event_kind *const *kinds, size_t n)
{
    const char *name = n ? kinds[0]->count : NULL;
    for (size_t i = 1; i < n && name; i++)
        if (!kinds[i]->count || strcmp(kinds[i]->count, name) != 0)
            name = NULL;
    return name ? name : "samples";
}

const char *event_hideable(size_t i)
{
    return i ? NULL : "idle";
}

const char *event_cost_name(enum event_cost cost)
{
    static const char *const names[] = {
        [EVENT_COST_LOW] = "low", [EVENT_COST_MEDIUM] = "medium", [EVENT_COST_HIGH] = "high"};
    return names[cost];
}

static bool chosen(const struct event_kind *const *kinds, size_t n, const struct event_kind *kind)
{
    for (size_t i = 0; i < n; i++)
        if (kinds[i] == kind)
            return true;
    return false;
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
        if (chosen(kinds, *n, kind))
            return -EEXIST;
        kinds[*n] = kind;
        probes[*n] = kind->probe;
        if (kind->default_hz)
            probes[*n].hz = hz ? hz : kind->default_hz;
    }
    return 0;
}

size_t events_offered(const char *const *listed, size_t count, const char *names[XP_MAX_EVENTS])
{
    size_t kinds, n = 0;
    const struct event_kind *all = event_kinds(&kinds);
    for (; n < count && n < XP_MAX_EVENTS; n++)
        names[n] = listed[n];
    for (size_t k = 0; k < kinds; k++) {
        bool there = all[k].probe.how == PROBE_PERF;
        for (size_t i = 0; i < n && !there; i++)
            there = event_kind_find(names[i]) == &all[k];
        if (!there && n < XP_MAX_EVENTS)
            names[n++] = all[k].name;
    }
    return n;
}
