#include "cli/record/summary.h"
#include "profile/frames.h"

static double percent(u64 part, u64 whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static u64 total_lost(const struct pipeline_report *r)
{
    return r->lost[XP_LOSS_RING_FULL] + r->lost[XP_LOSS_SCRATCH] + r->lost[XP_LOSS_SUM] + r->lost_aggregate +
           r->lost_malformed;
}

static u64 bpf_ns_per_sample(const struct pipeline_report *r)
{
    return r->samples ? r->bpf_ns / r->samples : 0; /* what the filter costs for all others is in it */
}

static void lost_text(const struct pipeline_report *r, struct buf *out)
{
    for (int i = 0; i < XP_LOSS_COUNT; i++)
        if (r->lost[i])
            buf_printf(out, "  %s: %llu\n", loss_slug((enum xp_loss)i), (unsigned long long)r->lost[i]);
    if (r->lost_aggregate)
        buf_printf(out, "  stack-memory: %llu\n", (unsigned long long)r->lost_aggregate);
    if (r->lost_malformed)
        buf_printf(out, "  malformed: %llu\n", (unsigned long long)r->lost_malformed);
}

static void cut_text(const struct pipeline_report *r, struct buf *out)
{
    for (int i = 0; i < XP_CAUSE_COUNT; i++) {
        u8 c = (u8)i;
        if (cause_class(c) != 'x' || !r->cause[i])
            continue;
        buf_printf(out, "  cut: %-18s %6.2f %%  %s", cause_slug(c), percent(r->cause[i], r->user_samples),
                   cause_text(c));
        if (r->blame[i][0])
            buf_printf(out, " (mostly %s)", r->blame[i]);
        buf_char(out, '\n');
    }
}

void summary_left_out(u64 waits, u64 ns, struct buf *out)
{
    if (waits || ns)
        buf_printf(out, "%llu waits (%.1f s) were not for locks and are left out: joins, conditions, idle threads\n",
                   (unsigned long long)waits, (double)ns / 1e9);
}

double summary_heaps_share(const struct heaps_figures *h)
{
    return h->rested_ns ? percent(h->watched_ns, h->watched_ns + h->rested_ns) : 100;
}

static double seen_share(const struct probe_cost *c)
{
    return c->rests ? percent(c->on_ns, c->on_ns + c->off_ns) : 100;
}

void summary_shares(const struct pipeline_report *r, struct buf *out)
{
    if (r->heaps.rested_ns)
        buf_printf(out, "memory: allocations were seen %.2f %% of the time; %llu blocks were lost sight of\n",
                   summary_heaps_share(&r->heaps), (unsigned long long)r->heaps.unknown);
    for (size_t e = 0; e < r->nevents; e++)
        if (r->costs[e].rests)
            buf_printf(out, "%s: was recorded %.2f %% of the time\n", r->events[e], seen_share(&r->costs[e]));
}

static void costs_text(const struct pipeline_report *r, struct buf *out)
{
    for (size_t e = 0; e < r->nevents; e++) {
        const struct probe_cost *c = &r->costs[e];
        if (c->rests)
            buf_printf(out,
                       "%s: was recorded %.1f %% of the time: %llu hits cost %.2f s, and more would be too much "
                       "(--max-cost, --no-cap)\n",
                       r->events[e], seen_share(c), (unsigned long long)c->hits, (double)c->ns / 1e9);
    }
}

static void costs_json(const struct pipeline_report *r, struct buf *out)
{
    const char *comma = "";
    buf_str(out, "\"probes\":[");
    for (size_t e = 0; e < r->nevents; e++) {
        const struct probe_cost *c = &r->costs[e];
        if (!c->hits && !c->on_ns)
            continue;
        buf_printf(out, "%s{\"event\":", comma);
        buf_json(out, r->events[e]);
        buf_printf(out, ",\"hits\":%llu,\"cost_seconds\":%.6f,\"seen_percent\":%.2f,\"rests\":%llu}",
                   (unsigned long long)c->hits, (double)c->ns / 1e9, seen_share(c), (unsigned long long)c->rests);
        comma = ",";
    }
    buf_str(out, "],");
}

static void followed_text(const struct followed_figures *f, struct buf *out)
{
    if (f->refused)
        buf_printf(out, "probes: the kernel refused them %llu times in a file of a process: samples are missing\n",
                   (unsigned long long)f->refused);
    if (f->remote)
        buf_printf(out, "probes: %llu files were left alone, because their file systems may not answer\n",
                   (unsigned long long)f->remote);
    if (f->left_out)
        buf_printf(out, "probes: %llu functions were left out, because their files have too many\n",
                   (unsigned long long)f->left_out);
}

static void heaps_text(const struct heaps_figures *h, struct buf *out)
{
    if (h->go_refused)
        buf_printf(out, "memory: heap profiles of %llu Go programs are missing or incomplete: a limit was reached\n",
                   (unsigned long long)h->go_refused);
    if (!h->rested_ns)
        return;
    buf_printf(out, "memory: allocations were seen %.1f %% of the time: more would cost too much (--memory-max-cost)",
               summary_heaps_share(h));
    if (h->unknown)
        buf_printf(out, "; %llu blocks were lost sight of", (unsigned long long)h->unknown);
    buf_char(out, '\n');
}

void summary_leaks(const struct heaps_figures *h, u64 old_ns, struct buf *out)
{
    double seconds = (double)h->leaks_span_ns / 1e9;
    if (!old_ns)
        return;
    if (!h->leaks_told)
        buf_printf(out, "leaks: nothing can be said: too little time passed after the first %.1f s (--older-than)\n",
                   (double)old_ns / 1e9);
    else if (!h->leaks)
        buf_printf(out, "leaks: none: in %.1f s, no call path held more and more that was older than %.1f s\n", seconds,
                   (double)old_ns / 1e9);
    else
        buf_printf(out, "leaks: what %llu call path%s hold%s grew by %.1f KB/s in %.1f s\n",
                   (unsigned long long)h->leaks, h->leaks == 1 ? "" : "s", h->leaks == 1 ? "s" : "",
                   (double)h->leaked_bytes / 1e3 / seconds, seconds);
    if (h->unknown)
        buf_str(out, "leaks: blocks were lost sight of, so leaks may be missing: try --memory-max-cost off\n");
}

void summary_text(const struct pipeline_report *r, double seconds, struct buf *out)
{
    buf_printf(out, "%llu samples in %.1f s, %llu lost\n", (unsigned long long)r->samples, seconds,
               (unsigned long long)total_lost(r));
    lost_text(r, out);
    if (r->user_samples)
        buf_printf(out, "%.2f %% of %llu user stacks are complete", percent(r->complete, r->user_samples),
                   (unsigned long long)r->user_samples);
    if (r->deferred)
        buf_printf(out, " (%llu of them by deferred unwinding)", (unsigned long long)r->deferred);
    if (r->user_samples)
        buf_char(out, '\n');
    cut_text(r, out);
    buf_printf(out, "cost: %.2f s CPU, %.1f MB memory, %.1f MB eBPF maps, %zu files, %llu rows", r->cpu_seconds,
               (double)r->rss_bytes / 1e6, (double)r->map_bytes / 1e6, r->files, (unsigned long long)r->rows);
    if (r->synth_rows)
        buf_printf(out, " (%llu of them synthesised)", (unsigned long long)r->synth_rows);
    if (r->bpf_runs)
        buf_printf(out, ", %llu ns per sample", (unsigned long long)bpf_ns_per_sample(r));
    buf_char(out, '\n');
    if (r->failed_files)
        buf_printf(out, "%zu files could not be read (-v names them)\n", r->failed_files);
    if (r->queue_full)
        buf_printf(out, "%llu notifications of new files were deferred: too many at once\n",
                   (unsigned long long)r->queue_full);
    if (r->lines.cut + r->lines.failed)
        buf_printf(out, "%llu files have incomplete line information: damaged, or a limit was reached\n",
                   (unsigned long long)r->lines.cut + (unsigned long long)r->lines.failed);
    if (r->lines.missing_parts)
        buf_printf(out, "%llu files lack parts of their debug information: the files with these parts were not found\n",
                   (unsigned long long)r->lines.missing_parts);
    summary_left_out(r->left_out, r->left_out_ns, out);
    if (r->idle || r->idle_ns)
        buf_printf(out, "%llu waits (%.1f s) of idle threads are left out\n", (unsigned long long)r->idle,
                   (double)r->idle_ns / 1e9);
    followed_text(&r->followed, out);
    heaps_text(&r->heaps, out);
    costs_text(r, out);
    if (r->parser_restarts)
        buf_printf(out, "the parser process was restarted %u times\n", r->parser_restarts);
}

static void json_counts(const struct pipeline_report *r, struct buf *out)
{
    buf_printf(out, "\"samples\":%llu,\"lost\":{", (unsigned long long)r->samples);
    for (int i = 0; i < XP_LOSS_COUNT; i++)
        buf_printf(out, "\"%s\":%llu,", loss_slug((enum xp_loss)i), (unsigned long long)r->lost[i]);
    buf_printf(out, "\"stack-memory\":%llu,\"malformed\":%llu},", (unsigned long long)r->lost_aggregate,
               (unsigned long long)r->lost_malformed);
    buf_printf(out, "\"user_samples\":%llu,\"complete\":%llu,\"late\":%llu,\"cut\":{",
               (unsigned long long)r->user_samples, (unsigned long long)r->complete, (unsigned long long)r->deferred);
    const char *comma = "";
    for (int i = 0; i < XP_CAUSE_COUNT; i++)
        if (cause_class((u8)i) != 'c' && r->cause[i]) {
            buf_printf(out, "%s\"%s\":%llu", comma, cause_slug((u8)i), (unsigned long long)r->cause[i]);
            comma = ",";
        }
    buf_str(out, "},");
}

void summary_json(const struct pipeline_report *r, u64 start_ns, double seconds, const char *more, struct buf *out)
{
    buf_char(out, '{');
    buf_str(out, more);
    json_counts(r, out);
    buf_printf(out,
               "\"bpf_ns_per_sample\":%llu,\"unwind_ns_per_sample\":%llu,\"unwind_ns_median\":%llu,\"agent_cpu_"
               "seconds\":%.3f,",
               (unsigned long long)bpf_ns_per_sample(r),
               (unsigned long long)(r->user_samples ? r->unwind_ns / r->user_samples : 0),
               (unsigned long long)r->unwind_median_ns, r->cpu_seconds);
    buf_printf(
        out,
        "\"rss_bytes\":%llu,\"map_bytes\":%llu,\"files\":%zu,\"failed_files\":%zu,\"rows\":%llu,\"synth_rows\":%llu,",
        (unsigned long long)r->rss_bytes, (unsigned long long)r->map_bytes, r->files, r->failed_files,
        (unsigned long long)r->rows, (unsigned long long)r->synth_rows);
    buf_printf(out,
               "\"code_tables\":%llu,\"code_tables_refused\":%llu,\"debug_files\":%llu,\"lines_cut\":%llu,\"lines_"
               "missing_parts\":%llu,\"lines_failed\":%llu,"
               "\"names_cut\":%llu,\"lock_waits_left_out\":%llu,\"lock_seconds_left_out\":%.3f,"
               "\"idle_waits_left_out\":%llu,\"idle_seconds_left_out\":%.3f,",
               (unsigned long long)r->code.loaded, (unsigned long long)r->code.refused,
               (unsigned long long)r->lines.found, (unsigned long long)r->lines.cut,
               (unsigned long long)r->lines.missing_parts, (unsigned long long)r->lines.failed,
               (unsigned long long)r->cut_names, (unsigned long long)r->left_out, (double)r->left_out_ns / 1e9,
               (unsigned long long)r->idle, (double)r->idle_ns / 1e9);
    buf_printf(out,
               "\"memory_seen_percent\":%.2f,\"memory_rests\":%llu,\"memory_hits\":%llu,\"memory_unknown\":%llu,"
               "\"memory_go_refused\":%llu,",
               summary_heaps_share(&r->heaps), (unsigned long long)r->heaps.rests, (unsigned long long)r->heaps.hits,
               (unsigned long long)r->heaps.unknown, (unsigned long long)r->heaps.go_refused);
    buf_printf(out, "\"leaks\":%llu,\"leaked_bytes\":%llu,\"leaks_seconds\":%.3f,", (unsigned long long)r->heaps.leaks,
               (unsigned long long)r->heaps.leaked_bytes, (double)r->heaps.leaks_span_ns / 1e9);
    buf_printf(out, "\"probes_refused\":%llu,\"files_left_alone\":%llu,\"probes_left_out\":%llu,",
               (unsigned long long)r->followed.refused, (unsigned long long)r->followed.remote,
               (unsigned long long)r->followed.left_out);
    costs_json(r, out);
    u64 start_us = start_ns / 1000; /* a double would round it */
    buf_printf(
        out, "\"parser_restarts\":%u,\"startup_seconds\":%.3f,\"start_seconds\":%llu.%06u,\"duration_seconds\":%.3f}\n",
        r->parser_restarts, r->start_seconds, (unsigned long long)(start_us / 1000000), (unsigned)(start_us % 1000000),
        seconds);
}

/* A process can be stopped for a while after it read the clock, so `now` may be later than the end. */
static double seconds_between(u64 from_ns, u64 to_ns)
{
    return from_ns < to_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

void summary_progress(const struct progress *p, u64 began, u64 now, u64 end, struct buf *out)
{
    if (end)
        buf_printf(out, "%.0f s left", seconds_between(now, end));
    else
        buf_printf(out, "%.0f s", seconds_between(began, now));
    buf_printf(out, "  %llu %s  %llu lost", (unsigned long long)(p->only_timeline ? p->switches : p->samples),
               p->only_timeline ? "switches" : "samples", (unsigned long long)p->lost);
    if (p->user)
        buf_printf(out, "  %.1f %% of stacks complete", percent(p->complete, p->user));
}
