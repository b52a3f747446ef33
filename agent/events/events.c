#include "events/events.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* Types and units are those that pprof, Grafana and perf users already know. Software clocks work in every virtual
 * machine; hardware counters only where there is a PMU. */
#define SOFTWARE(what) .perf_type = PERF_TYPE_SOFTWARE, .perf_config = PERF_COUNT_SW_##what
#define HARDWARE(what) .perf_type = PERF_TYPE_HARDWARE, .perf_config = PERF_COUNT_HW_##what
#define PMU            "PMU"
#define RSS_TRAP_NS    120 /* to call a program at a page fault: 75 to 100, as measured, and some more */

static const struct event_kind KINDS[] = {
    {
        .name = "cpu",
        .probe = {SOFTWARE(CPU_CLOCK), .time = true},
        .values = {{"cpu", "nanoseconds", NULL}},
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
        .values = {{"off_cpu", "nanoseconds", NULL}},
        .series = "off_cpu",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "time blocked: waiting for disks, locks, sockets, timers",
    },
    {
        .name = "runqueue",
        .aliases = {"run-queue", "run_queue", "runq"},
        .probe = {.how = PROBE_RUNQUEUE},
        .values = {{"run_queue", "nanoseconds", NULL}},
        .series = "run_queue",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "time runnable, but waiting for a CPU",
    },
    {
        .name = "wakeup",
        .aliases = {"waker", "wakeups", "wake"},
        .probe = {.how = PROBE_WAKEUP},
        .values = {{"wakeup", "nanoseconds", NULL}},
        .series = "wakeup",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "time blocked, by who ended it",
    },
    {
        .name = "lock",
        .aliases = {"locks", "futex", "mutex"},
        .probe = {.how = PROBE_LOCK, .object = "goroutines"},
        .values = {{"delay", "nanoseconds", "contentions"}},
        .period = {"contentions", "count", NULL},
        .series = "mutex",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "time waiting for contended locks, of user space and the kernel",
    },
    {
        .name = "file",
        .aliases = {"io", "files", "file-io"},
        .probe = {.how = PROBE_KIND, .object = "file"},
        .values = {{"read", "bytes", ""},
                   {"written", "bytes", ""},
                   {"file_time", "nanoseconds", "file_calls"},
                   {"fetched", "bytes", ""}},
        .series = "file",
        .tag = "file",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "bytes read and written in files, time of the calls",
    },
    {
        .name = "net",
        .aliases = {"network", "sockets"},
        .probe = {.how = PROBE_KIND, .object = "net"},
        .values = {{"received", "bytes", ""},
                   {"sent", "bytes", ""},
                   {"net_time", "nanoseconds", "net_calls"},
                   {"retransmits", "count", ""}},
        .series = "net",
        .tag = "peer",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "bytes received and sent by sockets, time, TCP retransmits",
    },
    {
        .name = "disk",
        .aliases = {"disks", "block"},
        .probe = {.how = PROBE_KIND, .object = "disk"},
        .values = {{"disk_read", "bytes", ""},
                   {"disk_written", "bytes", ""},
                   {"disk_time", "nanoseconds", "disk_requests"},
                   {"disk_queued", "nanoseconds", ""}},
        .main = 2,
        .series = "disk",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "requests of disks: bytes read and written, and their time",
    },
    {
        .name = "readahead",
        .aliases = {"read-ahead"},
        .probe = {.how = PROBE_KIND, .object = "readahead", .levels = PROBE_LEVELS_OPEN},
        .values = {{"used", "count", ""}, {"unused", "count", ""}, {"unjudged", "count", ""}},
        .main = 1,
        .series = "readahead",
        .tag = "file",
        .cost = EVENT_COST_MEDIUM,
        .needs = "6.18+", /* Linux */
        .help = "pages read ahead: used, and thrown away unused",
    },
    {
        .name = "memory",
        .aliases = {"heap", "malloc"},
        .probe = {.how = PROBE_KIND, .object = "memory", .levels = PROBE_LEVELS_HELD, .allocators = true},
        .values = {{"alloc_space", "bytes", "alloc_objects"}, {"inuse_space", "bytes", "inuse_objects"}},
        .main = 1,
        .period = {"space", "bytes", NULL},
        .series = "memory",
        .cost = EVENT_COST_HIGH,
        .needs = "5.15+", /* Linux */
        .help = "memory allocated and in use",
    },
    {
        .name = "kmem",
        .aliases = {"kernel-memory", "slab", "kmalloc"},
        .probe = {.how = PROBE_KIND, .object = "kmem", .levels = PROBE_LEVELS_LENT},
        .values = {{"kmem_alloc_space", "bytes", "kmem_alloc_objects"},
                   {"kmem_inuse_space", "bytes", "kmem_inuse_objects"}},
        .main = 1,
        .period = {"space", "bytes", NULL},
        .series = "kmem",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = "memory of the kernel, allocated and in use: slab caches, pages",
    },
    {
        .name = "badfree",
        .aliases = {"bad-free", "double-free"},
        .probe = {.how = PROBE_KIND, .object = "badfree", .allocators = true, .strict = true},
        .values = {{"badfree", "count", ""}},
        .series = "badfree",
        .cost = EVENT_COST_HIGH,
        .needs = "6.6+", /* Linux */
        .help = "wrong frees: of blocks that were freed, or of what is no block",
    },
    {
        .name = "rss",
        .aliases = {"resident"},
        .probe = {.how = PROBE_KIND, .object = "rss", .trap_ns = RSS_TRAP_NS, .max_cost = 1},
        .values = {{"grown", "bytes", ""}, {"returned", "bytes", ""}},
        .series = "rss",
        .cost = EVENT_COST_MEDIUM,
        .needs = "5.12+", /* Linux */
        .help = "resident memory: where it grows, and is returned",
    },
    {
        .name = "vmem",
        .aliases = {"mmap"},
        .probe = {.how = PROBE_KIND, .object = "vmem"},
        .values = {{"mapped", "bytes", ""}, {"unmapped", "bytes", ""}},
        .series = "vmem",
        .cost = EVENT_COST_MEDIUM,
        .needs = "5.12+", /* Linux */
        .help = "private memory that is mapped and unmapped: mmap, brk, mprotect",
    },
    {
        .name = "faults",
        .aliases = {"fault"},
        .probe = {.how = PROBE_KIND, .object = "faults"},
        .values = {{"fault_time", "nanoseconds", ""},
                   {"minor_time", "nanoseconds", "minor"},
                   {"major_time", "nanoseconds", "major"}},
        .series = "faults",
        .cost = EVENT_COST_MEDIUM,
        .needs = "5.12+", /* Linux */
        .help = "page faults, minor and major, and their time",
    },
    {
        .name = "page-faults",
        .aliases = {"page_faults"},
        .probe = {SOFTWARE(PAGE_FAULTS)},
        .values = {{"page_faults", "count", NULL}},
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
        .values = {{"context_switches", "count", NULL}},
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
        .values = {{"cpu_migrations", "count", NULL}},
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
        .values = {{"cycles", "count", NULL}},
        .series = "cycles",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = PMU,
        .help = "CPU cycles",
    },
    {
        .name = "instructions",
        .probe = {HARDWARE(INSTRUCTIONS)},
        .values = {{"instructions", "count", NULL}},
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
        .values = {{"cache_misses", "count", NULL}},
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
        .values = {{"branch_misses", "count", NULL}},
        .series = "branch_misses",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = PMU,
        .help = "mispredicted branches",
    },
};

static const struct event_kind LEAKS = {
    .name = "memory",
    .probe = {.how = PROBE_KIND, .object = "memory", .levels = PROBE_LEVELS_HELD, .allocators = true},
    .values = {{"alloc_space", "bytes", "alloc_objects"},
               {"inuse_space", "bytes", "inuse_objects"},
               {"leaked_space", "bytes", "leaked_objects"}},
    .main = 2,
    .sparse = true,
    .period = {"space", "bytes", NULL},
    .series = "memory",
    .cost = EVENT_COST_HIGH,
    .needs = "5.15+",
    .help = "memory that leaks",
};

const struct event_kind *event_kind_leaks(void)
{
    return &LEAKS;
}

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

size_t event_width(const struct event_kind *kind)
{
    size_t n = 1;
    while (n < EVENT_VALUES && kind->values[n].type)
        n++;
    return n;
}

u64 event_period(const struct event_kind *kind, unsigned hz, u64 heap_period)
{
    bool blocks = kind->probe.levels == PROBE_LEVELS_HELD || kind->probe.levels == PROBE_LEVELS_LENT;
    if (kind->probe.time)
        return 1000000000 / hz;
    return !blocks ? 1 : heap_period ? heap_period : PROBE_HEAP_PERIOD;
}

const char *event_value_name(const struct event_kind *kind, size_t value)
{
    return event_width(kind) > 1 ? kind->values[value].type : kind->name;
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

int events_choose(const struct events_wanted *w, const struct event_kind *kinds[XP_MAX_EVENTS],
                  struct probe_event probes[XP_MAX_EVENTS], size_t *n)
{
    size_t counted = 0;
    for (*n = 0; *n < w->n; ++*n) {
        const struct event_kind *kind = event_kind_find(w->names[*n]);
        if (!kind && w->find && *n < XP_MAX_EVENTS)
            kind = w->find(w->ctx, w->names[*n]);
        counted += kind && kind->probe.how == PROBE_PERF;
        if (*n == XP_MAX_EVENTS || counted > XP_MAX_PERF)
            return -E2BIG;
        if (!kind)
            return -EINVAL;
        if (chosen(kinds, *n, kind))
            return -EEXIST;
        kinds[*n] = kind;
        probes[*n] = kind->probe;
        probes[*n].name = kind->name;
        probes[*n].since = kind->needs;
        if (kind->default_hz)
            probes[*n].hz = w->hz ? w->hz : kind->default_hz;
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
