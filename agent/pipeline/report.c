/* What a recording cost, lost and could not finish. */
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "events/events.h"
#include "pipeline/heaps.h"
#include "pipeline/pipeline_internal.h"
#include "pipeline/usage.h"
#include "profile/frames.h"
#include "parser/parser.h"
#include <stdio.h>
#include <string.h>

const char *loss_slug(enum xp_loss l)
{
    static const char *const slug[] = {
#define SLUG(name, text, sentence) text,
        XP_LOSSES(SLUG)
#undef SLUG
    };
    return l < XP_LOSS_COUNT ? slug[l] : "out-of-range";
}

const char *event_stack_slug(enum event_stack s)
{
    static const char *const slug[] = {
        [EVENT_STACK_COMPLETE] = "complete", [EVENT_STACK_CUT] = "cut", [EVENT_STACK_NONE] = "none"};
    return slug[s];
}

/* Where stacks of one cause stopped most often: counts per (cause, file), the highest of each cause named. */
static void blame_files(const struct pipeline *p, struct pipeline_report *out)
{
    struct map counts = {0};
    size_t n;
    const struct agg_stack *stacks = aggregate_stacks(collector_stacks(p->collector), &n);
    u64 most[XP_CAUSE_COUNT] = {0};
    for (size_t i = 0; i < n; i++) {
        const struct agg_stack *s = &stacks[i];
        if (cause_class(s->cause) != 'x' || !s->nuser)
            continue;
        u64 word = s->words[s->nkernel + s->nuser - 1];
        bool anon = XP_WORD_KIND(word) == XP_WORD_ANON;
        u32 id = anon ? 0 : XP_WORD_FILE(word);
        u64 *c = map_put(&counts, (u64)s->cause << 32 | id);
        if (!c || (*c += agg_count(s)) <= most[s->cause])
            continue;
        const char *known = anon ? "[anonymous]" : worker_path(p->worker, id), *path = known ? known : "[unknown file]";
        const char *base = strrchr(path, '/');
        most[s->cause] = *c;
        snprintf(out->blame[s->cause], sizeof(out->blame[0]), "%.63s", base ? base + 1 : path);
        log_clean(out->blame[s->cause]);
    }
    map_free(&counts);
}

/* What the kernel side and the collector count. */
static void report_samples(const struct pipeline *p, struct pipeline_report *out)
{
    struct xp_stats st = {0};
    struct collector_figures c;
    probe_stats(p->probe, &st);
    collector_figures(p->collector, &c);
    out->samples = st.samples + c.waits;
    out->not_wanted = st.not_wanted;
    out->thinned = st.thinned;
    out->unwind_ns = st.unwind_ns;
    memcpy(out->lost, st.lost, sizeof(out->lost));
    out->lost[XP_LOSS_WAIT] += c.waits_lost;
    out->lost[XP_LOSS_LABEL] += c.tags_lost;
    out->holders_refused = c.holders_refused;
    out->lost_malformed = c.malformed;
    out->queue_full = c.queue_full;
}

static void report_worker(const struct worker_figures *w, struct pipeline_report *out)
{
    out->lost_aggregate = w->tally.dropped;
    out->user_samples = w->tally.user_samples;
    out->complete = w->tally.complete;
    memcpy(out->cause, w->tally.cause, sizeof(out->cause));
    out->deferred = w->deferred;
    out->map_bytes = w->map_bytes;
    out->files = w->files;
    out->failed_files = w->failed_files;
    out->evicted_files = w->evicted_files;
    out->held = w->held;
    out->code = w->code;
    out->runtime = w->runtime;
    out->rows = w->rows;
    out->synth_rows = w->synth_rows;
    memcpy(out->synth, w->synth, sizeof(out->synth));
    out->lines = w->lines;
    out->names = w->names;
    out->server = w->server;
    out->cut_names = w->cut_names;
    out->queue_full += w->refused;
    out->late_names = w->late_names;
    out->left_out = w->left_out;
    out->left_out_ns = w->left_out_ns;
    out->idle = w->idle;
    out->idle_ns = w->idle_ns;
    out->late_lines = w->late_lines;
}

static void report_events(const struct pipeline *p, const struct worker_figures *w, struct pipeline_report *out)
{
    out->nevents = p->config.probe.nevents;
    for (size_t e = 0; e < out->nevents; e++) {
        out->events[e] = p->config.events[e]->name;
        if (probe_cost(p->probe, e, &out->costs[e]))
            out->costs[e] = (struct probe_cost){0};
    }
    memcpy(out->event_stacks, w->tally.events, sizeof(out->event_stacks));
    out->run_time_known = probe_run_times(p->probe, out->run_ns);
}

/* CPU time of the processes that open files. */
static double opening_seconds(const struct pipeline *p)
{
    return (double)(openings_cpu_ns(p->openings) + opener_cpu_ns(p->opener)) / 1e9;
}

/* What is attached to places in files of processes. */
static void report_heaps(const struct pipeline *p, struct pipeline_report *out)
{
    for (size_t e = 0; e < p->config.probe.nevents; e++) {
        struct heaps_figures f;
        if (!p->heaps[e])
            continue;
        heaps_figures(p->heaps[e], &f);
        out->followed.refused += f.probes_refused;
        out->followed.remote += f.remote;
        out->followed.left_out += f.left_out;
        if (p->config.probe.events[e].levels == PROBE_LEVELS_HELD)
            out->heaps = f;
        const struct probe_places *places = p->config.probe.events[e].places;
        if (places && places->file)
            out->probed[e] = (struct probed_figures){true, f.processes, f.attached, f.failed, f.without};
    }
}

static void report(const struct pipeline *p, const struct worker_figures *w, struct pipeline_report *out)
{
    *out = (struct pipeline_report){0};
    report_samples(p, out);
    report_worker(w, out);
    report_events(p, w, out);
    report_heaps(p, out);
    out->runtime.unknown = openings_unknown(p->openings);
    out->hung_places = hung_places(p->hung, now_ns());
    out->hung_children = hung_children(p->hung);
    out->cpu_seconds = usage_cpu(p->parser) + opening_seconds(p);
    out->parser_cpu_seconds = usage_parser_cpu(p->parser);
    out->parser_restarts = parser_restarts(p->parser);
    out->parser_layers = parser_layers(p->parser);
}

void pipeline_figures(struct pipeline *p, struct pipeline_report *out)
{
    struct worker_figures w;
    worker_figures(p->worker, &w);
    report(p, &w, out);
    out->rss_bytes = usage_rss(p->parser);
}

int pipeline_disks(struct pipeline *p, probe_disk_list *out, u64 *left_out)
{
    return probe_disks(p->probe, out, left_out);
}

void pipeline_lag(const struct pipeline *p, struct worker_lag *out)
{
    worker_lag(p->worker, out);
}

void pipeline_report(struct pipeline *p, struct pipeline_report *out)
{
    struct worker_figures w;
    worker_figures_now(p->worker, &w);
    report(p, &w, out);
    out->unwind_median_ns = collector_median_unwind(p->collector);
    blame_files(p, out);
    probe_run_time(p->probe, &out->bpf_ns, &out->bpf_runs);
    out->start_seconds = (double)(p->started_ns - p->created_ns) / 1e9;
    out->rss_bytes = worker_rss(p->worker);
}

double pipeline_cpu_seconds(const struct pipeline *p)
{
    struct xp_stats st = {0};
    probe_stats(p->probe, &st);
    return usage_cpu(p->parser) + opening_seconds(p) + (double)st.unwind_ns / 1e9;
}

void pipeline_progress(struct pipeline *p, u64 *samples, u64 *lost, u64 *user, u64 *complete)
{
    struct xp_stats st = {0};
    struct collector_figures c;
    probe_stats(p->probe, &st);
    collector_figures(p->collector, &c);
    *samples = c.seen;
    *lost = st.lost[XP_LOSS_RING_FULL] + c.dropped;
    *user = c.user;
    *complete = c.complete;
}
