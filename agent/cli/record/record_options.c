#include "cli/record/record_options.h"
#include "bpf/xprof.h"
#include "cli/record/output.h"
#include "events/made.h"
#include <errno.h>
#include <string.h>

#define AT(field)          offsetof(struct record_options, field)
#define SECOND             1000000000ull
#define OLD                (10 * SECOND)
#define LEAKS_PERIOD       (64u << 10) /* bytes: a slow leak is to have samples all the time */
#define MAX_COST           5           /* percent */
#define MAX_COST_NOT_GIVEN UINT64_MAX
#define MAX_PID            4194304 /* PID_MAX_LIMIT */
#define MAX_PIDS           256
#define MAX_MEMORY_PERIOD  (128ull << 20)
#define MIN_TABLES         (4ull << 20)                                 /* one shard */
#define MAX_TABLES         ((u64)XP_MAX_SHARDS << (XP_SHARD_SHIFT + 2)) /* all of them */

static const char *format_name(size_t i)
{
    size_t n;
    const struct encoder *all = encoders(&n);
    return i < n ? all[i].name : i == n ? "trace" : NULL;
}

/* Names of the table, and what is no event but all that the scheduler does. */
static const char *name_of_event(size_t i)
{
    const char *name = event_name(i);
    return name || (i && !event_name(i - 1)) ? name : RECORD_TIMELINE;
}

static const char *resolve_event(const char *name)
{
    return !strcmp(name, RECORD_TIMELINE) ? RECORD_TIMELINE : event_name_or_made(name);
}

static const struct option_row rows[] = {
    {"all", 'a', OPTION_BOOL, NULL, AT(all), .help = "record all processes"},
    {"pid", 'p', OPTION_NUMBERS, "PID,...", AT(pids), 1, MAX_PID, MAX_PIDS,
     .help = "record these processes and their future children"},
    {"cgroup", 0, OPTION_TEXT, "PATH", AT(cgroup), .hint = HINT_DIRECTORY,
     .help = "record the processes of this cgroup and its descendants"},
    {"frequency", 'F', OPTION_NUMBER, "HZ", AT(frequency), 1, 10000,
     .help = "sampling rate, in samples per second per CPU (default: 99)"},
    {"duration", 'd', OPTION_DURATION, "TIME", AT(duration_ns), 1000000, 7 * 24 * 3600 * SECOND,
     .help = "recording time (default: until Ctrl-C, or until the command exits)"},
    {"event", 'e', OPTION_LIST, "EVENT,...", AT(events), .most = XP_MAX_EVENTS, .fallback = "cpu",
     .value = name_of_event, .resolve = resolve_event, .item = event_item_length, .listing = "xprof list",
     .help = "events to record; also tracepoint:CATEGORY:NAME, syscall:NAME[:latency], uprobe:FILE:FUNCTION, "
             "uretprobe:FILE:FUNCTION, uprobe-latency:FILE:FUNCTION, usdt:FILE:PROVIDER:NAME, kprobe:FUNCTION, "
             "kretprobe:FUNCTION, perf:PMU/EVENT/; and timeline: who ran, waited, and woke whom"},
    {"filter", 0, OPTION_TEXT, "EXPR", AT(filter),
     .help =
         "of tracepoints, system calls, functions etc., count those with such fields: 'ret < 0 && comm == \"cc*\"'"},
    {"value", 0, OPTION_TEXT, "FIELD[:UNIT]", AT(value),
     .help =
         "count by a field: of a tracepoint, argN or retval of a function or USDT probe; UNIT is `count`, `bytes` or "
         "`nanoseconds`"},
    {"period", 0, OPTION_NUMBER, "N", AT(period), 1, 1000000000,
     .help = "of the same, take one in N at random, for all of them (default: 1)"},
    {"max-cost", 0, OPTION_PERCENT, "PERCENT", AT(max_cost), 0, 100,
     .help = "of the same, and of rss, take off what costs more than this share of one CPU, until it is back below "
             "(default: 5; rss: 1)"},
    {"no-cap", 0, OPTION_BOOL, NULL, AT(no_cap), .help = "of the same, record whatever it costs, as --max-cost off"},
    {"probe-links", 0, OPTION_TEXT, "MEANS", AT(probe_links), .fallback = "auto", .value = event_probe_links,
     .help = "how functions and USDT probes are probed: `auto` is the best means of the kernel, `perf` an event each"},
    {"cri-socket", 0, OPTION_TEXT, "PATH", AT(cri_socket), .hint = HINT_FILE,
     .help = "socket of the container runtime, for files of pods (default: the first known one that exists)"},
    {"label", 0, OPTION_LIST, "NAME,...", AT(labels), .most = XP_MAX_EVENTS, .value = event_tag,
     .help =
         "tell bytes apart by file (-e file, readahead) or peer (-e net), as a label of samples in pprof (repeatable)"},
    {"output", 'o', OPTION_REPEAT, "FILE", AT(outputs), .hint = HINT_FILE,
     .help = "output file; its suffix selects the format (repeatable)"},
    {"timeline-memory", 0, OPTION_SIZE, "SIZE", AT(timeline_memory), 1 << 20, 64ull << 30, .fallback = "64M",
     .help = "timeline: memory for what happened; beyond it, the oldest is dropped"},
    {"offcpu-min", 0, OPTION_DURATION, "TIME", AT(offcpu_min), 0, 10 * SECOND, .fallback = "1us",
     .help = "user stacks of shorter waits need not be taken; their time is counted all the same"},
    {"offcpu-hide", 0, OPTION_TEXT, "WHAT", AT(offcpu_hide), .value = event_hideable,
     .help = "leave out blocked time of idle threads: event loops and pools (idle)"},
    {"wait-stacks", 0, OPTION_TEXT, "MEANS", AT(wait_stacks), .fallback = "auto", .value = event_wait_stacks,
     .help = "when user stacks of waits are taken: `auto` is the best means of the kernel"},
    {"leaks", 0, OPTION_BOOL, NULL, AT(leaks),
     .help = "memory: show only call paths that leak, by how fast what they hold grows"},
    {"older-than", 0, OPTION_DURATION, "TIME", AT(older_than), 1000000, 24 * 3600 * SECOND,
     .help = "--leaks: age of blocks that may have leaked (default: 10s)"},
    {"memory-period", 0, OPTION_SIZE, "SIZE", AT(memory_period), 1, MAX_MEMORY_PERIOD,
     .help = "memory, kmem: one sample per so many allocated bytes on average (default: 512K; --leaks: 64K)"},
    {"memory-exact", 0, OPTION_BOOL, NULL, AT(memory_exact), .help = "memory, kmem: count every allocation"},
    {"memory-max-cost", 0, OPTION_PERCENT, "PERCENT", AT(memory_max_cost), 0, 100,
     .help = "memory: limit of what probes cost a process, in percent of its CPU time (default: 5; with --leaks, off)"},
    {"kernel-threads", 0, OPTION_BOOL, NULL, AT(kernel_threads), .help = "follow the waits of kernel threads, too"},
    {"threads", 0, OPTION_BOOL, NULL, AT(threads),
     .help = "give each thread's name, instead of its process's, as the root frame (it is a label in pprof files in "
             "any case)"},
    {"format", 0, OPTION_TEXT, "NAME", AT(format), .value = format_name,
     .help = "format of all output files; overrides their suffixes"},
    {"short-names", 0, OPTION_BOOL, NULL, AT(short_names), .help = "show C++ functions without argument lists"},
    {"raw", 0, OPTION_BOOL, NULL, AT(raw), .help = "record without symbols, for `xprof symbolize` (pprof format only)"},
    {"no-kernel", 0, OPTION_BOOL, NULL, AT(no_kernel), .help = "omit kernel stacks"},
    {"no-user", 0, OPTION_BOOL, NULL, AT(no_user), .help = "omit user stacks"},
    {"runtime-only", 0, OPTION_BOOL, NULL, AT(runtime_only),
     .help = "of stacks with frames of Java, .NET or scripts, show only these, and what a thread waited for"},
    {"summary", 0, OPTION_TEXT, "FILE", AT(summary), .hint = HINT_FILE,
     .help = "write counters of recorded, lost and truncated samples to this file, as JSON"},
    {"top", 0, OPTION_NUMBER, "N", AT(top), 1, 1000,
     .help = "number of hottest functions to print (default: 20 without --output, else 0)"},
    {"cache-dir", 0, OPTION_TEXT, "DIR", AT(cache_dir), .hint = HINT_DIRECTORY,
     .help = "cache directory for unwind tables and indexes of lines and names"},
    {"no-cache", 0, OPTION_BOOL, NULL, AT(no_cache), .help = "do not use the cache directory"},
    {"debug-dir", 0, OPTION_LIST, "DIR,...", AT(debug_dirs), .most = 16, .hint = HINT_DIRECTORY,
     .help = "additional directories with debug files (also: $XPROF_DEBUG_DIR)"},
    {"debuginfod-urls", 0, OPTION_LIST, "URL,...", AT(debuginfod_urls), .most = 8,
     .help = "debuginfod servers to fetch debug files from (default: $DEBUGINFOD_URLS)"},
    {"synth", 0, OPTION_SWITCH, "on/off", AT(synth), .fallback = "on",
     .help = "derive unwind rows from the instructions of code without unwind information"},
    {"table-memory", 0, OPTION_SIZE, "SIZE", AT(table_memory), MIN_TABLES, MAX_TABLES, .fallback = "256M",
     .help = "maximum kernel memory for unwind tables"},
    {"verbose", 'v', OPTION_BOOL, NULL, AT(verbose), .help = "log more detail"},
};

const struct command record_command = {
    .name = "record",
    .operands = "[[--] COMMAND [ARGUMENT...]]",
    .help = "record a profile of the machine, of processes, of a cgroup, or of a command",
    .details =
        "Exactly one target: -a, -p, --cgroup, or a command.\n\n"
        "Examples:\n"
        "  xprof record -a -d 10s -o profile.html\n"
        "  xprof record -F 199 -o profile.pb.gz -- make -j4\n",
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};

static int complain(struct buf *message, const char *text)
{
    buf_printf(message, "xprof record: %s\n", text);
    return -EINVAL;
}

static int check_raw(const struct record_options *o, struct buf *message)
{
    if (!o->outputs.n || o->top)
        return complain(message, "--raw has no names to list: write it to a file (-o x.pb.gz), without --top");
    for (size_t i = 0; i < o->outputs.n; i++) {
        const struct encoder *e = o->format ? encoder_by_name(o->format) : encoder_for_path(o->outputs.v[i]);
        if (!e || strcmp(e->name, "pprof"))
            return complain(message, "--raw: only pprof can hold frames without names (-o x.pb.gz)");
    }
    return 0;
}

static int check_outputs(const struct record_options *o, struct buf *message)
{
    for (size_t i = 0; i < o->outputs.n; i++) {
        if (o->format || encoder_for_path(o->outputs.v[i]) || output_is_json(o->outputs.v[i])) /* of a timeline */
            continue;
        buf_printf(message, "xprof record: --output %s: unknown suffix; known suffixes:", o->outputs.v[i]);
        size_t n;
        const struct encoder *all = encoders(&n);
        for (size_t k = 0; k < n; k++)
            buf_printf(message, "%s %s", k ? "," : "", all[k].suffix);
        buf_str(message, "; or name the format with --format\n");
        return -EINVAL;
    }
    return 0;
}

static int check_leaks(const struct record_options *o, struct buf *message)
{
    bool memory = false;
    for (size_t i = 0; i < o->events.n; i++)
        memory |= !strcmp(o->events.v[i], "memory");
    if (o->older_than && !o->leaks)
        return complain(message, "--older-than says what --leaks looks for: give --leaks, too");
    if (o->leaks && !memory)
        return complain(message, "--leaks looks for leaks of memory: give -e memory, too");
    if (o->leaks && o->duration_ns && (o->older_than ? o->older_than : OLD) >= o->duration_ns)
        return complain(message,
                        "--leaks: nothing becomes older than --older-than (10 s without it) within the "
                        "duration: record longer (-d)");
    return 0;
}

/* A label of something that is not recorded would be nowhere. */
static int check_labels(const struct record_options *o, struct buf *message)
{
    for (size_t l = 0; l < o->labels.n; l++) {
        bool any = false;
        for (size_t i = 0; i < o->events.n; i++)
            any |= event_has_tag(event_kind_find(o->events.v[i]), o->labels.v[l]);
        if (any)
            continue;
        buf_printf(message, "xprof record: --label %s: give -e %s, too\n", o->labels.v[l],
                   event_kind_with_tag(o->labels.v[l])->name);
        return -EINVAL;
    }
    return 0;
}

/* They are about tracepoints and functions; a value is a field of one. */
static int check_made(const struct record_options *o, struct buf *message)
{
    size_t made = 0, limited = 0;
    for (size_t i = 0; i < o->events.n; i++) {
        const struct event_kind *kind = event_kind_find(o->events.v[i]);
        made += event_is_made(o->events.v[i]);
        limited += kind && kind->probe.max_cost;
    }
    bool capped = o->max_cost != MAX_COST_NOT_GIVEN;
    if (!made && (o->filter || o->value || o->period || (!limited && (o->no_cap || capped))))
        return complain(message,
                        "--filter, --value, --period, --max-cost and --no-cap are about tracepoints and functions: "
                        "give -e tracepoint:CATEGORY:NAME, too");
    if (o->no_cap && capped)
        return complain(message, "--max-cost and --no-cap exclude each other");
    if (made > 1 && (o->filter || o->value))
        return complain(message, "--filter and --value are about one event: record the others by themselves");
    return 0;
}

static int check(const struct record_options *o, struct buf *message)
{
    int targets = o->all + (o->pids.n > 0) + !!o->cgroup + !!o->command;
    if (!targets)
        return complain(message, "nothing to record: give one of -a, -p PID, --cgroup PATH, or a command");
    if (targets > 1)
        return complain(message, "more than one target: only one of -a, -p PID, --cgroup PATH, or a command");
    if (o->no_kernel && o->no_user)
        return complain(message, "--no-kernel and --no-user together leave nothing to record");
    if (o->no_cache && o->cache_dir)
        return complain(message, "--no-cache and --cache-dir exclude each other");
    int rc = check_outputs(o, message);
    if (!rc)
        rc = check_leaks(o, message);
    if (!rc)
        rc = check_labels(o, message);
    if (!rc)
        rc = check_made(o, message);
    return !rc && o->raw ? check_raw(o, message) : rc;
}

/* What depends on others unless it is given. */
static void complete(struct record_options *o)
{
    if (!o->memory_period)
        o->memory_period = o->leaks ? LEAKS_PERIOD : PROBE_HEAP_PERIOD;
    if (o->memory_max_cost == MAX_COST_NOT_GIVEN)
        o->memory_max_cost = o->leaks ? 0 : MAX_COST;
    o->capped = o->max_cost != MAX_COST_NOT_GIVEN;
    if (!o->capped)
        o->max_cost = o->no_cap ? 0 : MAX_COST;
    if (o->leaks && !o->older_than)
        o->older_than = OLD;
}

/* Where debug files are is a property of the machine: the only options that the environment gives. */
static const char *from_environment(void *ctx, const struct option_row *row, size_t i, char *where, size_t len)
{
    return row->offset == AT(debug_dirs) ? options_environment.value(ctx, row, i, where, len) : NULL;
}

int record_options_parse(int argc, char **argv, struct record_options *out, struct buf *message)
{
    struct record_options o = {.memory_max_cost = MAX_COST_NOT_GIVEN, .max_cost = MAX_COST_NOT_GIVEN};
    int at = argc;
    struct option_source environment = {from_environment, NULL};
    int rc = options_parse_from(&record_command, argc, argv, &environment, 1, &o, &at, message);
    if (!rc && at < argc)
        o.command = &argv[at];
    if (!rc)
        rc = check(&o, message);
    if (!rc)
        complete(&o);
    if (rc)
        record_options_free(&o);
    else
        *out = o;
    return rc;
}

void record_options_free(struct record_options *o)
{
    options_free(&record_command, o);
}
