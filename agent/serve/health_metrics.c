/* The page of metrics, from figures that were collected before. */
#include "parser/sandbox.h"
#include "profile/frames.h"
#include "serve/health_internal.h"

static void samples(struct metrics *m, const struct health_figures *f)
{
    const struct pipeline_report *r = &f->pipeline;
    metrics_counter(m, "xprof_samples", "Number of samples of profiled processes, including lost ones.");
    metrics_value(m, NULL, NULL, (double)r->samples);
    metrics_counter(m, "xprof_samples_unwanted",
                    "Number of samples of processes that are not profiled; they are dropped before the stack is read.");
    metrics_value(m, NULL, NULL, (double)r->not_wanted);
    metrics_counter(m, "xprof_samples_thinned",
                    "Number of samples left out because their pod sets a lower sampling rate.");
    metrics_value(m, NULL, NULL, (double)r->thinned);
    metrics_counter(m, "xprof_samples_lost",
                    "Number of lost samples and events, by cause; file-event, stack-dump and cgroup-event are events.");
    for (int i = 0; i < XP_LOSS_COUNT; i++)
        metrics_value(m, "cause", loss_slug((enum xp_loss)i), (double)r->lost[i]);
    metrics_value(m, "cause", "stack-memory", (double)r->lost_aggregate);
    metrics_value(m, "cause", "malformed", (double)r->lost_malformed);
    metrics_counter(m, "xprof_stacks",
                    "Number of user stacks, by the cause of their end; stacks with cut=\"true\" lack frames.");
    for (int i = 0; i < XP_CAUSE_COUNT; i++)
        metrics_value2(m, "cause", cause_slug((u8)i), "cut", cause_class((u8)i) == 'x' ? "true" : "false",
                       (double)r->cause[i]);
    metrics_counter(m, "xprof_stacks_late",
                    "Number of deferred stacks completed in user space once the rows that they lacked were built.");
    metrics_value(m, NULL, NULL, (double)r->deferred);
}

static void events(struct metrics *m, const struct health_figures *f)
{
    const struct pipeline_report *r = &f->pipeline;
    metrics_counter(m, "xprof_events", "Number of events in profiles, by event: samples, waits, calls, allocations.");
    for (size_t e = 0; e < r->nevents; e++) {
        u64 sum = 0;
        for (int i = 0; i < EVENT_STACKS; i++)
            sum += r->event_stacks[e][i];
        metrics_value(m, "event", r->events[e], (double)sum);
    }
    metrics_counter(m, "xprof_event_stacks",
                    "Number of events in profiles, by what there is of their user stack: all, a part, or nothing.");
    for (size_t e = 0; e < r->nevents; e++)
        for (int i = 0; i < EVENT_STACKS; i++)
            metrics_value2(m, "event", r->events[e], "stack", event_stack_slug((enum event_stack)i),
                           (double)r->event_stacks[e][i]);
    if (!r->run_time_known)
        return;
    metrics_counter(m, "xprof_event_cpu_seconds",
                    "CPU time of the eBPF programs of an event, in seconds, extrapolated from 1 % of the time; event "
                    "waits is what events of waits have in common.");
    for (size_t e = 0; e < r->nevents; e++)
        metrics_value(m, "event", r->events[e], (double)r->run_ns[e] / 1e9);
    metrics_value(m, "event", "waits", (double)r->run_ns[PROBE_WAITS] / 1e9);
}

static void resources(struct metrics *m, const struct health_figures *f)
{
    const struct pipeline_report *r = &f->pipeline;
    metrics_gauge(m, "xprof_files", "Number of files with code on sampled stacks that the agent tracks.");
    metrics_value(m, NULL, NULL, (double)r->files);
    metrics_gauge(m, "xprof_files_failed",
                  "Number of files without an unwind table because they are unreadable or malformed.");
    metrics_value(m, NULL, NULL, (double)r->failed_files);
    metrics_counter(m, "xprof_files_evicted", "Number of files evicted because no stack used them recently.");
    metrics_value(m, NULL, NULL, (double)r->evicted_files);
    metrics_gauge(m, "xprof_files_held", "Number of files that the agent holds open.");
    metrics_value(m, NULL, NULL, (double)r->held.files);
    metrics_gauge(m, "xprof_files_held_bytes", "Size of the files that the agent holds open, in bytes.");
    metrics_value(m, NULL, NULL, (double)r->held.bytes);
    metrics_gauge(m, "xprof_files_pinned_bytes",
                  "Disk space of the files that the agent holds open although they are deleted, in bytes.");
    metrics_value(m, NULL, NULL, (double)r->held.deleted_bytes);
    metrics_gauge(m, "xprof_table_rows", "Number of rows in all unwind tables.");
    metrics_value(m, NULL, NULL, (double)r->rows);
    metrics_gauge(m, "xprof_synth_rows",
                  "Number of unwind-table rows derived from instructions, for code without unwind information.");
    metrics_value(m, NULL, NULL, (double)r->synth_rows);
    metrics_counter(m, "xprof_synth_files",
                    "Number of files with code without unwind information where stacks stopped, by result.");
    for (int i = 0; i < FILES_SYNTH_COUNT; i++)
        metrics_value(m, "result", files_synth_slug((enum files_synth)i), (double)r->synth[i]);
    metrics_gauge(m, "xprof_ebpf_map_bytes", "Kernel memory used by the eBPF maps, in bytes.");
    metrics_value(m, NULL, NULL, (double)r->map_bytes);
    metrics_gauge(m, "xprof_resident_memory_bytes", "Resident memory of the agent and its parser process, in bytes.");
    metrics_value(m, NULL, NULL, (double)r->rss_bytes);
    metrics_counter(m, "xprof_parser_restarts", "Number of times the parser process died and was restarted.");
    metrics_value(m, NULL, NULL, r->parser_restarts);
    metrics_gauge(m, "xprof_parser_sandbox",
                  "Whether a layer of the parser's sandbox holds that not every machine allows.");
    const struct sandbox_layer_text *layer;
    for (unsigned i = 0; (layer = sandbox_layer_text(i)); i++)
        metrics_value(m, "layer", layer->slug, r->parser_layers >> i & 1);
    metrics_gauge(m, "xprof_file_systems_hung",
                  "Number of file systems that did not answer and are left alone for some time.");
    metrics_value(m, NULL, NULL, (double)r->hung_places);
    metrics_gauge(m, "xprof_children_left_behind",
                  "Number of helper processes that cannot end because they wait for a file system.");
    metrics_value(m, NULL, NULL, (double)r->hung_children);
    metrics_gauge(m, "xprof_lag_seconds",
                  "Age of the oldest job that the worker has not finished: how late profiles are.");
    metrics_value(m, NULL, NULL, (double)f->lag.late_ns / 1e9);
    metrics_gauge(m, "xprof_sampling_rate_hertz", "Current sampling rate, in samples per second per CPU.");
    metrics_value(m, NULL, NULL, f->rate);
    metrics_counter(m, "xprof_throttles", "Number of times the sampling rate was lowered to stay below max-cpu.");
    metrics_value(m, NULL, NULL, f->throttled);
    metrics_counter(m, "xprof_config_reloads", "Number of configuration reloads, by outcome.");
    metrics_value(m, "outcome", "ok", (double)f->reloads);
    metrics_value(m, "outcome", "error", (double)f->reload_errors);
}

static void generated_code(struct metrics *m, const struct health_figures *f)
{
    const struct code_tables_stats *c = &f->pipeline.code;
    metrics_gauge(m, "xprof_code_tables", "Number of mappings of generated (JIT) code that have an unwind table.");
    metrics_value(m, NULL, NULL, (double)c->regions);
    metrics_counter(m, "xprof_code_tables_loaded", "Number of unwind tables of generated code, by outcome.");
    metrics_value(m, "outcome", "ok", (double)c->loaded);
    metrics_value(m, "outcome", "no-room", (double)c->refused);
}

static void runtimes(struct metrics *m, const struct health_figures *f)
{
    const struct runtime_figures *r = &f->pipeline.runtime;
    metrics_gauge(m, "xprof_runtime_processes",
                  "Number of processes whose runtime (Java, Python, JavaScript) is known.");
    metrics_value(m, NULL, NULL, (double)r->machines.processes);
    metrics_counter(m, "xprof_runtime_processes_left_out",
                    "Number of processes whose runtime is not known, so that its frames have no names, by reason.");
    metrics_value(m, "reason", "no-room", (double)r->machines.refused);
    metrics_value(m, "reason", "not-understood", (double)r->unknown);
    metrics_counter(m, "xprof_runtime_frames", "Number of distinct frames of runtimes, by outcome of naming.");
    metrics_value(m, "outcome", "ok", (double)r->frames.named);
    metrics_value(m, "outcome", "gone", (double)r->frames.gone);
    metrics_value(m, "outcome", "no-room", (double)r->frames.lost);
}

static void names(struct metrics *m, const struct health_figures *f)
{
    const struct pipeline_report *r = &f->pipeline;
    metrics_counter(m, "xprof_debug_files", "Number of symbolized files, by whether debug information was found.");
    metrics_value(m, "outcome", "found", (double)r->lines.found);
    metrics_value(m, "outcome", "none", (double)(r->lines.files - r->lines.found));
    metrics_counter(m, "xprof_line_indexes_cut",
                    "Number of files whose index of functions and lines is incomplete, by cause.");
    metrics_value(m, "cause", "limit", (double)r->lines.cut);
    metrics_value(m, "cause", "missing-file", (double)r->lines.missing_parts);
    metrics_value(m, "cause", "failed", (double)r->lines.failed);
    metrics_counter(m, "xprof_name_indexes",
                    "Number of indexes of the symbols of a file, by outcome; without one, the file is read each time.");
    metrics_value(m, "outcome", "built", (double)r->names.built);
    metrics_value(m, "outcome", "loaded", (double)r->names.loaded);
    metrics_value(m, "outcome", "failed", (double)r->names.failed);
    metrics_counter(m, "xprof_names_cut",
                    "Number of symbol look-ups with incomplete results because a limit was reached.");
    metrics_value(m, NULL, NULL, (double)r->cut_names);
    metrics_counter(m, "xprof_names_late",
                    "Number of look-ups put off to a later interval because a container had used up its time.");
    metrics_value(m, "of", "functions", (double)r->late_names);
    metrics_value(m, "of", "lines", (double)r->late_lines);
    metrics_counter(m, "xprof_lock_waits_left_out",
                    "Number of waits left out of profiles of locks because they were for something else.");
    metrics_value(m, NULL, NULL, (double)r->left_out);
    metrics_counter(m, "xprof_lock_waits_left_out_seconds", "Time of these waits.");
    metrics_value(m, NULL, NULL, (double)r->left_out_ns / 1e9);
    metrics_counter(m, "xprof_lock_holders_unknown",
                    "Number of holders of locks that were not looked for because a container had used up its share.");
    metrics_value(m, NULL, NULL, (double)r->holders_refused);
    metrics_counter(m, "xprof_idle_waits_left_out", "Number of waits of idle threads that --offcpu-hide left out.");
    metrics_value(m, NULL, NULL, (double)r->idle);
    metrics_counter(m, "xprof_idle_waits_left_out_seconds", "Time of these waits.");
    metrics_value(m, NULL, NULL, (double)r->idle_ns / 1e9);
    metrics_counter(m, "xprof_debuginfod_requests",
                    "Number of debug files requested from debuginfod servers, by outcome.");
    metrics_value(m, "outcome", "fetched", (double)r->server.fetched);
    metrics_value(m, "outcome", "missing", (double)r->server.missing);
    metrics_value(m, "outcome", "failed", (double)r->server.failed);
    metrics_value(m, "outcome", "too-large", (double)r->server.too_large);
    metrics_value(m, "outcome", "wrong", (double)r->server.lied);
}

static void cpu(struct metrics *m, const struct health_figures *f)
{
    metrics_counter(m, "xprof_cpu_seconds",
                    "CPU time of the agent, in seconds, by stage; stage unwind is kernel time for user stacks.");
    for (size_t i = 0; i < f->nstages; i++)
        metrics_value(m, "stage", f->stages[i].name, f->stages[i].cpu_seconds);
    metrics_value(m, "stage", "parser", f->pipeline.parser_cpu_seconds);
    metrics_value(m, "stage", "unwind", (double)f->pipeline.unwind_ns / 1e9);
}

static void published(struct metrics *m, const struct publisher_stats *p)
{
    metrics_counter(m, "xprof_profiles", "Number of profiles built.");
    metrics_value(m, NULL, NULL, (double)p->profiles);
    metrics_counter(m, "xprof_profile_samples", "Number of samples published in profiles or dropped, by outcome.");
    metrics_value(m, "outcome", "published", (double)p->samples);
    metrics_value(m, "outcome", "unwanted", (double)p->unwanted);
    metrics_value(m, "outcome", "refused", (double)p->refused);
    metrics_counter(m, "xprof_profile_samples_unnamed",
                    "Number of samples published without a container or service name.");
    metrics_value(m, NULL, NULL, (double)p->unknown);
    metrics_counter(m, "xprof_profile_labels_left_out", "Number of labels dropped because a profile has at most 30.");
    metrics_value(m, NULL, NULL, (double)p->labels_left_out);
    metrics_counter(m, "xprof_profile_splits",
                    "Number of times a profile was split because it exceeded the size limit of one request.");
    metrics_value(m, NULL, NULL, (double)p->splits);
    metrics_gauge(m, "xprof_profiles_waiting",
                  "Number of profiles held until the metadata of their container are known.");
    metrics_value(m, NULL, NULL, (double)p->waiting);
}

/* One family for all targets: `value` picks the number. */
static void each_export(struct metrics *m, const struct health_figures *f,
                        double (*value)(const struct export_stats *s))
{
    for (size_t i = 0; i < f->exports.n; i++)
        metrics_value(m, "exporter", f->exports.v[i].name, value(&f->exports.v[i]));
}

#define PICK(name, expression)                       \
    static double name(const struct export_stats *s) \
    {                                                \
        return (double)(expression);                 \
    }
PICK(pick_sent, s->sent)
PICK(pick_bytes, s->sent_bytes)
PICK(pick_retried, s->retried)
PICK(pick_pending, s->pending)
PICK(pick_oldest, (double)s->oldest_ns / 1e9)
PICK(pick_success, (double)s->last_success_ns / 1e9)
PICK(pick_calls, s->calls)
PICK(pick_seconds, s->call_seconds)
PICK(pick_up, !s->sick)

static void reasons(struct metrics *m, const struct health_figures *f, bool dropped)
{
    for (const struct export_stats *s = f->exports.v; s < f->exports.v + f->exports.n; s++)
        for (int r = 0; r < EXPORT_NREASONS; r++)
            metrics_value2(m, "exporter", s->name, "reason", export_reason_slug((enum export_reason)r),
                           (double)(dropped ? s->dropped[r] : s->failed[r]));
}

static void exported(struct metrics *m, const struct health_figures *f)
{
    metrics_counter(m, "xprof_export_profiles", "Number of profiles accepted by the exporter's server.");
    each_export(m, f, pick_sent);
    metrics_counter(m, "xprof_export_bytes", "Size of the accepted profiles as sent, in bytes.");
    each_export(m, f, pick_bytes);
    metrics_counter(m, "xprof_export_retries", "Number of failed export calls that are or will be repeated.");
    each_export(m, f, pick_retried);
    metrics_counter(m, "xprof_export_dropped_profiles", "Number of profiles dropped without being sent, by reason.");
    reasons(m, f, true);
    metrics_counter(m, "xprof_export_failed_calls", "Number of failed export calls, by reason.");
    reasons(m, f, false);
    metrics_counter(m, "xprof_export_calls", "Number of export calls.");
    each_export(m, f, pick_calls);
    metrics_counter(m, "xprof_export_call_seconds", "Total duration of export calls, in seconds.");
    each_export(m, f, pick_seconds);
    metrics_gauge(m, "xprof_export_pending_profiles",
                  "Number of profiles in the spool that the exporter has not sent yet.");
    each_export(m, f, pick_pending);
    metrics_gauge(m, "xprof_export_oldest_seconds", "Age of the oldest unsent profile, in seconds.");
    each_export(m, f, pick_oldest);
    metrics_gauge(m, "xprof_export_last_success_timestamp_seconds",
                  "Unix time of the exporter's last successful call; 0 if there was none.");
    each_export(m, f, pick_success);
    metrics_gauge(m, "xprof_export_up",
                  "Whether the exporter works: 0 if its last call failed by no fault of its profile, else 1.");
    each_export(m, f, pick_up);
}

static void spooled(struct metrics *m, const struct export_spool_stats *s)
{
    metrics_gauge(m, "xprof_spool_bytes", "Size of the profiles in the spool, in bytes, by place.");
    metrics_value(m, "place", "disk", (double)s->disk_bytes);
    metrics_value(m, "place", "memory", (double)s->memory_bytes);
    metrics_counter(m, "xprof_spool_profiles", "Number of profiles added to the spool.");
    metrics_value(m, NULL, NULL, (double)s->put);
    metrics_counter(m, "xprof_spool_refused",
                    "Number of profiles that the spool refused: too large, too many labels, or out of memory.");
    metrics_value(m, NULL, NULL, (double)s->refused);
    metrics_counter(m, "xprof_spool_corrupt", "Number of damaged records found in the spool.");
    metrics_value(m, NULL, NULL, (double)s->corrupt);
    metrics_counter(m, "xprof_spool_disk_errors", "Number of failed writes to the spool's disk.");
    metrics_value(m, NULL, NULL, (double)s->disk_errors);
}

static void kubernetes(struct metrics *m, const struct kube_stats *k)
{
    metrics_counter(m, "xprof_kube_events",
                    "Number of watch events of pods and namespaces from the API server, by type.");
    metrics_value(m, "type", "added", (double)k->added);
    metrics_value(m, "type", "modified", (double)k->modified);
    metrics_value(m, "type", "deleted", (double)k->deleted);
    metrics_value(m, "type", "bookmark", (double)k->bookmarks);
    metrics_counter(m, "xprof_kube_lists", "Number of complete lists of pods or namespaces received.");
    metrics_value(m, NULL, NULL, (double)k->lists);
    metrics_counter(m, "xprof_kube_errors", "Number of failed calls to the API server or kubelet, by class.");
    for (int i = 0; i < KUBE_ERROR_MAX; i++)
        metrics_value(m, "class", kube_error_name((enum kube_error)i), (double)k->errors[i]);
    metrics_counter(m, "xprof_pod_events", "Number of annotation warnings to be posted as Events on pods, by outcome.");
    metrics_value(m, "outcome", "posted", (double)k->events_posted);
    metrics_value(m, "outcome", "failed", (double)k->events_failed);
    metrics_value(m, "outcome", "dropped", (double)k->events_dropped);
    metrics_counter(m, "xprof_kube_objects_skipped",
                    "Number of Kubernetes objects skipped because they are too large or malformed.");
    metrics_value(m, NULL, NULL, (double)(k->oversize + k->malformed));
}

static void discovered(struct metrics *m, const struct discover_stats *d)
{
    const struct containers_stats *c = &d->containers;
    metrics_gauge(m, "xprof_pods", "Number of known pods on this node, by whether they are profiled.");
    metrics_value(m, "profiled", "true", (double)d->wanted);
    metrics_value(m, "profiled", "false", (double)(d->pods - d->wanted));
    metrics_gauge(m, "xprof_namespaces", "Number of known namespaces of the cluster.");
    metrics_value(m, NULL, NULL, (double)d->namespaces);
    metrics_counter(m, "xprof_namespaces_left_out",
                    "Number of times a namespace was left out: too many, or too much text in their annotations.");
    metrics_value(m, NULL, NULL, (double)d->namespaces_refused);
    metrics_counter(m, "xprof_verdicts", "Number of decisions whether a cgroup is profiled, and with which labels.");
    metrics_value(m, NULL, NULL, (double)d->verdicts);
    metrics_gauge(m, "xprof_containers", "Number of running containers.");
    metrics_value(m, NULL, NULL, (double)c->containers);
    metrics_gauge(m, "xprof_containers_unnamed", "Number of running containers whose name is not known yet.");
    metrics_value(m, NULL, NULL, (double)c->unnamed);
    metrics_gauge(m, "xprof_services", "Number of systemd services and scopes.");
    metrics_value(m, NULL, NULL, (double)c->units);
    metrics_counter(m, "xprof_annotation_warnings", "Number of warnings about invalid or unknown annotations.");
    metrics_value(m, NULL, NULL, (double)d->warnings);
    metrics_counter(m, "xprof_discovery_dropped",
                    "Number of messages dropped because the discovery thread's queue was full.");
    metrics_value(m, NULL, NULL, (double)d->mailbox_full);
    metrics_counter(
        m, "xprof_wants_refused",
        "Number of times a cgroup could not be profiled, or excluded, because the eBPF map of cgroups was full.");
    metrics_value(m, NULL, NULL, (double)d->wants_refused);
    metrics_counter(m, "xprof_cgroups_left_out",
                    "Number of cgroups left out because the limit was reached or memory ran out.");
    metrics_value(m, NULL, NULL, (double)c->full);
    metrics_counter(m, "xprof_runtime_calls", "Number of calls to the container runtime, by outcome.");
    metrics_value(m, "outcome", "ok", (double)c->answered);
    metrics_value(m, "outcome", "timeout", (double)c->timeouts);
    metrics_value(m, "outcome", "unreachable", (double)c->unreachable);
    metrics_value(m, "outcome", "malformed", (double)c->malformed);
    metrics_value(m, "outcome", "failed", (double)(c->failed + c->unsupported));
    metrics_counter(m, "xprof_cgroup_events_missed",
                    "Number of new or removed cgroups whose event was missed and that a re-scan found.");
    metrics_value(m, NULL, NULL, (double)(c->found_late + c->lost_late));
    kubernetes(m, &d->kube);
}

void health_write(struct buf *out, bool openmetrics, const struct health_figures *f)
{
    struct metrics m = {.out = out, .openmetrics = openmetrics};
    metrics_gauge(&m, "xprof_build_info", "Version and node name of the agent, as labels; the value is always 1.");
    metrics_value2(&m, "version", XPROF_VERSION, "node", f->node, 1);
    samples(&m, f);
    events(&m, f);
    resources(&m, f);
    generated_code(&m, f);
    runtimes(&m, f);
    names(&m, f);
    health_write_heaps(&m, &f->pipeline);
    health_write_disks(&m, f);
    cpu(&m, f);
    published(&m, &f->publisher);
    exported(&m, f);
    spooled(&m, &f->spool);
    if (f->discovered)
        discovered(&m, &f->discover);
    metrics_end(&m);
}
