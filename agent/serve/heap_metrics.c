/* The part of the page of metrics about programs that are attached to files of processes. */
#include "serve/health_internal.h"

static void heaps(struct metrics *m, const struct heaps_figures *h)
{
    metrics_gauge(m, "xprof_memory_processes", "Number of processes whose allocators are followed (event memory).");
    metrics_value(m, NULL, NULL, (double)h->processes);
    metrics_counter(m, "xprof_memory_files", "Number of files with allocators that were found.");
    metrics_value(m, NULL, NULL, (double)h->files);
    metrics_counter(m, "xprof_memory_attachments",
                    "Number of times the allocators of a file were followed in a process, by outcome.");
    metrics_value(m, "outcome", "ok", (double)h->attached);
    metrics_value(m, "outcome", "failed", (double)h->failed);
    metrics_value(m, "outcome", "refused", (double)h->refused);
    metrics_counter(m, "xprof_memory_hits", "Number of times that probes on allocators were hit.");
    metrics_value(m, NULL, NULL, (double)h->hits);
    metrics_counter(m, "xprof_memory_seconds",
                    "Time of processes during which their allocations were seen, or not because of memory-max-cost.");
    metrics_value(m, "seen", "true", (double)h->watched_ns / 1e9);
    metrics_value(m, "seen", "false", (double)h->rested_ns / 1e9);
    metrics_counter(m, "xprof_memory_rests",
                    "Number of times that probes were detached from a process because of memory-max-cost.");
    metrics_value(m, NULL, NULL, (double)h->rests);
    metrics_counter(m, "xprof_memory_blocks_unknown",
                    "Number of blocks no longer in use by an agent's account because their frees could not be seen.");
    metrics_value(m, NULL, NULL, (double)h->unknown);
    metrics_counter(
        m, "xprof_memory_go_refused",
        "Number of Go programs whose heap profile was not read because a limit of size or time was reached.");
    metrics_value(m, NULL, NULL, (double)h->go_refused);
}

static void followed(struct metrics *m, const struct followed_figures *f)
{
    metrics_counter(m, "xprof_probes_refused",
                    "Number of times that the kernel refused probes in a file of a process, which is not seen there.");
    metrics_value(m, NULL, NULL, (double)f->refused);
    metrics_counter(m, "xprof_probe_files_left_alone",
                    "Number of files without probes because their file systems may not answer.");
    metrics_value(m, NULL, NULL, (double)f->remote);
    metrics_counter(m, "xprof_probe_functions_left_out",
                    "Number of functions without probes because their files have too many.");
    metrics_value(m, NULL, NULL, (double)f->left_out);
}

/* Probes of the configuration that are about files. */
static void probed(struct metrics *m, const struct pipeline_report *r)
{
    metrics_gauge(m, "xprof_probe_processes",
                  "Number of processes in which a probe of functions is followed, by event.");
    for (size_t e = 0; e < r->nevents; e++)
        if (r->probed[e].known)
            metrics_value(m, "event", r->events[e], (double)r->probed[e].processes);
    metrics_counter(m, "xprof_probe_attachments",
                    "Number of times that a probe was attached to a file of a process, by event and outcome.");
    for (size_t e = 0; e < r->nevents; e++)
        if (r->probed[e].known) {
            metrics_value2(m, "event", r->events[e], "outcome", "ok", (double)r->probed[e].attached);
            metrics_value2(m, "event", r->events[e], "outcome", "failed", (double)r->probed[e].failed);
        }
    metrics_counter(m, "xprof_probe_files_without_function",
                    "Number of files that have the name of a probe's file, but not its function, by event.");
    for (size_t e = 0; e < r->nevents; e++)
        if (r->probed[e].known)
            metrics_value(m, "event", r->events[e], (double)r->probed[e].without);
}

static bool is_costed(const struct probe_cost *c)
{
    return c->hits || c->on_ns;
}

/* A counter that is `at` in what is known of each event. */
static void cost_counter(struct metrics *m, const struct pipeline_report *r, const char *name, const char *help,
                         size_t at, double unit)
{
    metrics_counter(m, name, help);
    for (size_t e = 0; e < r->nevents; e++)
        if (is_costed(&r->costs[e]))
            metrics_value(m, "event", r->events[e], (double)*(const u64 *)((const char *)&r->costs[e] + at) / unit);
}

/* Probes that are taken off if they cost too much. */
static void costs(struct metrics *m, const struct pipeline_report *r)
{
    cost_counter(m, r, "xprof_probe_hits", "Number of times that the probes of an event were hit, by event.",
                 offsetof(struct probe_cost, hits), 1);
    cost_counter(m, r, "xprof_probe_cost_seconds", "CPU time that the probes of an event cost, by event.",
                 offsetof(struct probe_cost, ns), 1e9);
    cost_counter(m, r, "xprof_probe_rests",
                 "Number of times that the probes of an event were taken off because of probe-max-cost, by event.",
                 offsetof(struct probe_cost, rests), 1);
    metrics_counter(m, "xprof_probe_seconds",
                    "Time during which the probes of an event were on, or not because of probe-max-cost, by event.");
    for (size_t e = 0; e < r->nevents; e++)
        if (is_costed(&r->costs[e])) {
            metrics_value2(m, "event", r->events[e], "on", "true", (double)r->costs[e].on_ns / 1e9);
            metrics_value2(m, "event", r->events[e], "on", "false", (double)r->costs[e].off_ns / 1e9);
        }
}

void health_write_heaps(struct metrics *m, const struct pipeline_report *r)
{
    heaps(m, &r->heaps);
    followed(m, &r->followed);
    probed(m, r);
    costs(m, r);
}
