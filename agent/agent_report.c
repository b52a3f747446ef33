/* What a recording cost, lost and could not finish. */
#include "agent_internal.h"
#include "base/log.h"
#include "base/map.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "profile/frames.h"
#include <string.h>
#include <sys/resource.h>
#include <time.h>

const char *loss_slug(enum xp_loss l)
{
    static const char *const slug[] = {
#define SLUG(name, text, sentence) text,
        XP_LOSSES(SLUG)
#undef SLUG
    };
    return l < XP_LOSS_COUNT ? slug[l] : "out-of-range";
}

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* CPU time of this process and of the parser: those that ended (children), and the one that runs. Not of a profiled
 * COMMAND, which is a child, too: it has not been waited for when this is asked, or is subtracted by who waited. */
static double parser_cpu(const struct agent *a)
{
    struct timespec child = {0};
    clockid_t clock;
    if (parser_pid(a->parser) && !clock_getcpuclockid(parser_pid(a->parser), &clock))
        clock_gettime(clock, &child);
    return (double)child.tv_sec + (double)child.tv_nsec / 1e9;
}

static double own_cpu(const struct agent *a)
{
    struct rusage self;
    getrusage(RUSAGE_SELF, &self);
    return seconds_of(&self.ru_utime) + seconds_of(&self.ru_stime) + parser_cpu(a);
}

double agent_cpu_seconds(const struct agent *a)
{
    struct xp_stats st = {0};
    probe_stats(a->probe, &st);
    return own_cpu(a) + (double)st.unwind_ns / 1e9;
}

static u64 rss_of(pid_t pid)
{
    char path[64];
    unsigned long long pages = 0;
    AUTO_FREE char *text = NULL;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    if (pid && !fs_read_file(path, 4096, &text, NULL))
        sscanf(text, "%*u %llu", &pages);
    return pages * (u64)sysconf(_SC_PAGESIZE);
}

u64 agent_rss(const struct agent *a)
{
    return rss_of(getpid()) + rss_of(parser_pid(a->parser));
}

/* Where stacks of one cause stopped most often: counts per (cause, file), the highest of each cause named. */
static void blame_files(const struct agent *a, struct agent_report *out)
{
    struct map counts = {0};
    size_t n;
    const struct agg_stack *stacks = aggregate_stacks(a->live, &n);
    u64 most[XP_CAUSE_COUNT] = {0};
    for (size_t i = 0; i < n; i++) {
        const struct agg_stack *s = &stacks[i];
        if (cause_class(s->cause) != 'x' || !s->nuser)
            continue;
        u64 word = s->words[s->nkernel + s->nuser - 1];
        bool anon = XP_WORD_KIND(word) == XP_WORD_ANON;
        u32 id = anon ? 0 : XP_WORD_FILE(word);
        u64 *c = map_put(&counts, (u64)s->cause << 32 | id);
        if (!c || (*c += s->count[0]) <= most[s->cause])
            continue;
        const struct file *f = files_get(a->files, id);
        const char *path = anon ? "[anonymous]" : f && f->path ? f->path : "[unknown file]";
        const char *base = strrchr(path, '/');
        most[s->cause] = *c;
        snprintf(out->blame[s->cause], sizeof(out->blame[0]), "%.63s", base ? base + 1 : path);
        log_clean(out->blame[s->cause]);
    }
    map_free(&counts);
}

void agent_count_stacks(const struct agent *a, const struct aggregate *from, struct tally *t)
{
    size_t n;
    const struct agg_stack *stacks = aggregate_stacks(from, &n);
    for (size_t i = 0; i < n; i++) {
        u64 count = 0;
        for (size_t e = 0; e < a->config.probe.nevents; e++)
            count += stacks[i].count[e];
        t->cause[stacks[i].cause] += count;
        t->user_samples += cause_class(stacks[i].cause) != 'n' ? count : 0;
        t->complete += cause_class(stacks[i].cause) == 'c' ? count : 0;
    }
    t->dropped += aggregate_dropped(from);
}

static int by_size(const void *x, const void *y)
{
    u32 a = *(const u32 *)x, b = *(const u32 *)y;
    return a < b ? -1 : a > b;
}

static u64 median_unwind(struct agent *a)
{
    size_t n = a->unwind_ns.n;
    if (!n)
        return 0;
    qsort(a->unwind_ns.v, n, sizeof(u32), by_size);
    return a->unwind_ns.v[n / 2];
}

/* What can be told at any time. */
static void report_counters(struct agent *a, const struct tally *t, struct agent_report *out)
{
    struct xp_stats st = {0};
    *out = (struct agent_report){0};
    probe_stats(a->probe, &st);
    out->samples = st.samples;
    out->not_wanted = st.not_wanted;
    out->thinned = st.thinned;
    out->unwind_ns = st.unwind_ns;
    memcpy(out->lost, st.lost, sizeof(out->lost));
    out->lost_aggregate = t->dropped;
    out->lost_malformed = probe_malformed(a->probe) + a->malformed;
    out->queue_full = a->queue_full;
    out->user_samples = t->user_samples;
    out->complete = t->complete;
    memcpy(out->cause, t->cause, sizeof(out->cause));
    out->cpu_seconds = own_cpu(a);
    out->parser_cpu_seconds = parser_cpu(a);
    out->parser_restarts = parser_restarts(a->parser);
}

void agent_vitals(struct agent *a, struct agent_report *out)
{
    struct figures f;
    const u64 *from = (const u64 *)&a->shown;
    for (size_t i = 0; i < sizeof(f) / sizeof(u64); i++)
        ((u64 *)&f)[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    report_counters(a, &f.tally, out);
    out->files = f.files;
    out->failed_files = f.failed_files;
    out->evicted_files = f.evicted_files;
    out->rows = f.rows;
    out->synth_rows = f.synth_rows;
    memcpy(out->synth, f.synth, sizeof(out->synth));
    out->late = f.late;
    out->map_bytes = f.map_bytes;
    out->lines = f.lines;
    out->server = f.server;
    out->cut_names = f.cut_names;
    out->rss_bytes = agent_rss(a);
}

static void count_files(const struct agent *a, struct agent_report *out)
{
    const struct file *all = files_all(a->files, &out->files);
    for (size_t i = 0; i < out->files; i++) {
        out->rows += all[i].rows;
        out->synth_rows += all[i].synth_rows;
        out->failed_files += all[i].value.state == XP_FILE_FAILED;
    }
    out->evicted_files = files_evicted(a->files);
    for (int i = 0; i < FILES_SYNTH_COUNT; i++)
        out->synth[i] = files_synth_count(a->files, (enum files_synth)i);
}

static void count_names(const struct agent *a, struct agent_report *out)
{
    out->lines = line_indexes_stats(a->lines);
    out->cut_names = a->cut_names;
    if (a->places.server)
        debuginfod_stats(a->places.server, &out->server);
}

void agent_show_figures(struct agent *a)
{
    struct agent_report r = {0};
    count_files(a, &r);
    count_names(a, &r);
    struct figures f = {.tally = a->tally,
                        .lines = r.lines,
                        .server = r.server,
                        .cut_names = r.cut_names,
                        .files = r.files,
                        .failed_files = r.failed_files,
                        .evicted_files = r.evicted_files,
                        .rows = r.rows,
                        .synth_rows = r.synth_rows,
                        .late = late_rescued(a->late),
                        .map_bytes = probe_map_bytes(a->probe)};
    memcpy(f.synth, r.synth, sizeof(f.synth));
    for (size_t i = 0; i < sizeof(f) / sizeof(u64); i++)
        __atomic_store_n(&((u64 *)&a->shown)[i], ((u64 *)&f)[i], __ATOMIC_RELAXED);
}

void agent_report(struct agent *a, struct agent_report *out)
{
    report_counters(a, &a->tally, out);
    out->unwind_median_ns = median_unwind(a);
    blame_files(a, out);
    out->late = late_rescued(a->late);
    out->map_bytes = probe_map_bytes(a->probe);
    probe_run_time(a->probe, &out->bpf_ns, &out->bpf_runs);
    out->start_seconds = (double)(a->started_ns - a->created_ns) / 1e9;
    out->rss_bytes = a->rss_bytes;
    count_files(a, out);
    count_names(a, out);
}
