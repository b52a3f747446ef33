#include "vitals.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "profile/frames.h"
#include "serve/metrics.h"
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#define HEALTHY_NS (30 * NS_PER_SEC) /* the collector comes round twice a second */
#define ASK_MS     2000

static void samples(struct metrics *m, const struct agent_report *r)
{
    metrics_counter(m, "xprof_samples", "Samples that were wanted, lost ones included.");
    metrics_value(m, NULL, NULL, (double)r->samples);
    metrics_counter(m, "xprof_samples_unwanted",
                    "Samples of processes that nobody asked for: dropped before any stack is read.");
    metrics_value(m, NULL, NULL, (double)r->not_wanted);
    metrics_counter(m, "xprof_samples_thinned", "Samples left out because their pod asked for a lower rate.");
    metrics_value(m, NULL, NULL, (double)r->thinned);
    metrics_counter(m, "xprof_samples_lost", "Samples, and announcements, that were lost, by cause.");
    for (int i = 0; i < XP_LOSS_COUNT; i++)
        metrics_value(m, "cause", loss_slug((enum xp_loss)i), (double)r->lost[i]);
    metrics_value(m, "cause", "stack-memory", (double)r->lost_aggregate);
    metrics_value(m, "cause", "malformed", (double)r->lost_malformed);
    metrics_counter(m, "xprof_stacks", "User stacks by how they ended; those with cut=\"true\" lack frames.");
    for (int i = 0; i < XP_CAUSE_COUNT; i++)
        metrics_value2(m, "cause", cause_slug((u8)i), "cut", cause_class((u8)i) == 'x' ? "true" : "false",
                       (double)r->cause[i]);
    metrics_counter(m, "xprof_stacks_late", "Stacks completed in user space, because a table was not there yet.");
    metrics_value(m, NULL, NULL, (double)r->late);
}

static void resources(struct metrics *m, const struct vitals *v, const struct agent_report *r)
{
    metrics_gauge(m, "xprof_files", "Files that stacks ran through and that are known now.");
    metrics_value(m, NULL, NULL, (double)r->files);
    metrics_gauge(m, "xprof_files_failed", "Files without unwind table, because they could not be read.");
    metrics_value(m, NULL, NULL, (double)r->failed_files);
    metrics_counter(m, "xprof_files_evicted", "Files given up because they were not used for long.");
    metrics_value(m, NULL, NULL, (double)r->evicted_files);
    metrics_gauge(m, "xprof_table_rows", "Rows of all unwind tables.");
    metrics_value(m, NULL, NULL, (double)r->rows);
    metrics_gauge(m, "xprof_synth_rows", "Of these, rows synthesised for code without unwind information.");
    metrics_value(m, NULL, NULL, (double)r->synth_rows);
    metrics_counter(m, "xprof_synth_files",
                    "Files in whose code without unwind information stacks stopped, by result.");
    for (int i = 0; i < FILES_SYNTH_COUNT; i++)
        metrics_value(m, "result", files_synth_slug((enum files_synth)i), (double)r->synth[i]);
    metrics_gauge(m, "xprof_ebpf_map_bytes", "Kernel memory of the eBPF maps.");
    metrics_value(m, NULL, NULL, (double)r->map_bytes);
    metrics_gauge(m, "xprof_resident_memory_bytes", "Memory of the agent and its parser process.");
    metrics_value(m, NULL, NULL, (double)r->rss_bytes);
    metrics_counter(m, "xprof_parser_restarts", "Times the parser process died and was started again.");
    metrics_value(m, NULL, NULL, r->parser_restarts);
    metrics_gauge(m, "xprof_sampling_rate_hertz", "Samples a second and CPU, now.");
    metrics_value(m, NULL, NULL, __atomic_load_n(&v->rate, __ATOMIC_RELAXED));
    metrics_counter(m, "xprof_throttles", "Times the rate was lowered because of max-cpu.");
    metrics_value(m, NULL, NULL, __atomic_load_n(&v->throttled, __ATOMIC_RELAXED));
    metrics_counter(m, "xprof_config_reloads", "Reloads of the configuration, by outcome.");
    metrics_value(m, "outcome", "ok", (double)__atomic_load_n(&v->reloads, __ATOMIC_RELAXED));
    metrics_value(m, "outcome", "error", (double)__atomic_load_n(&v->reload_errors, __ATOMIC_RELAXED));
}

static void names(struct metrics *m, const struct agent_report *r)
{
    metrics_counter(m, "xprof_debug_files", "Files that were named, by whether debug information was found.");
    metrics_value(m, "outcome", "found", (double)r->lines.found);
    metrics_value(m, "outcome", "none", (double)(r->lines.files - r->lines.found));
    metrics_counter(m, "xprof_line_indexes_cut", "Line indexes with less than the debug information, by cause.");
    metrics_value(m, "cause", "limit", (double)r->lines.cut);
    metrics_value(m, "cause", "missing-file", (double)r->lines.missing_parts);
    metrics_value(m, "cause", "failed", (double)r->lines.failed);
    metrics_counter(m, "xprof_names_cut", "Answers about names that lack something because a limit was hit.");
    metrics_value(m, NULL, NULL, (double)r->cut_names);
    metrics_counter(m, "xprof_debuginfod_requests", "Debug files asked of servers, by outcome.");
    metrics_value(m, "outcome", "fetched", (double)r->server.fetched);
    metrics_value(m, "outcome", "missing", (double)r->server.missing);
    metrics_value(m, "outcome", "failed", (double)r->server.failed);
    metrics_value(m, "outcome", "wrong", (double)r->server.lied);
}

/* A thread's name without what is not its own, and its CPU time; false: gone. */
static bool thread_cpu(const char *tid, char name[32], double *seconds)
{
    char path[64], own[24];
    AUTO_FREE char *text = NULL;
    unsigned long long user, system;
    snprintf(own, sizeof(own), "%d", (int)getpid());
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
    if (fs_read_file(path, 4096, &text, NULL))
        return false;
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close - open > 31 ||
        sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return false;
    snprintf(name, 32, "%.*s", (int)(close - open - 1), open + 1);
    if (!strcmp(tid, own)) /* the main thread has the program's name, for ps */
        snprintf(name, 32, "collector");
    if (!strncmp(name, "MHD", 3)) /* libmicrohttpd names its own */
        snprintf(name, 32, "server");
    *seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return true;
}

/* CPU by stage: threads carry the names of what they do. */
static void cpu(struct metrics *m, const struct agent_report *r)
{
    struct stage {
        char name[32];
        double seconds;
    } stages[32];
    size_t n = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir)) && n < 32;) {
        struct stage s;
        if (e->d_name[0] == '.' || !thread_cpu(e->d_name, s.name, &s.seconds))
            continue;
        size_t i = 0;
        while (i < n && strcmp(stages[i].name, s.name) != 0)
            i++;
        if (i == n)
            stages[n++] = s;
        else
            stages[i].seconds += s.seconds;
    }
    if (dir)
        closedir(dir);
    metrics_counter(m, "xprof_cpu_seconds",
                    "CPU time of the agent by stage; unwind is what user stacks cost in the kernel.");
    for (size_t i = 0; i < n; i++)
        metrics_value(m, "stage", stages[i].name, stages[i].seconds);
    metrics_value(m, "stage", "parser", r->parser_cpu_seconds);
    metrics_value(m, "stage", "unwind", (double)r->unwind_ns / 1e9);
}

static void published(struct metrics *m, const struct vitals *v)
{
    struct publisher_stats p;
    publisher_stats(v->publisher, &p);
    metrics_counter(m, "xprof_profiles", "Profiles made.");
    metrics_value(m, NULL, NULL, (double)p.profiles);
    metrics_counter(m, "xprof_profile_samples", "Samples in profiles, and those that got into none, by outcome.");
    metrics_value(m, "outcome", "published", (double)p.samples);
    metrics_value(m, "outcome", "unwanted", (double)p.unwanted);
    metrics_value(m, "outcome", "refused", (double)p.refused);
    metrics_counter(m, "xprof_profile_samples_unnamed", "Samples published without knowing whose they are.");
    metrics_value(m, NULL, NULL, (double)p.unknown);
    metrics_counter(m, "xprof_profile_labels_left_out", "Labels that found no place: a profile has 30 at most.");
    metrics_value(m, NULL, NULL, (double)p.labels_left_out);
    metrics_counter(m, "xprof_profile_splits", "Profiles cut in two because a server would refuse them.");
    metrics_value(m, NULL, NULL, (double)p.splits);
    metrics_gauge(m, "xprof_profiles_waiting", "Parts of profiles that wait for a name.");
    metrics_value(m, NULL, NULL, (double)p.waiting);
}

/* One family for all targets: `value` picks the number. */
static void each_export(struct metrics *m, struct exports *e, double (*value)(const struct export_stats *s))
{
    struct export_stats s;
    for (size_t i = 0; exports_stats(e, i, &s); i++)
        metrics_value(m, "exporter", s.name, value(&s));
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

static void reasons(struct metrics *m, struct exports *e, bool dropped)
{
    struct export_stats s;
    for (size_t i = 0; exports_stats(e, i, &s); i++)
        for (int r = 0; r < EXPORT_NREASONS; r++)
            metrics_value2(m, "exporter", s.name, "reason", export_reason_slug((enum export_reason)r),
                           (double)(dropped ? s.dropped[r] : s.failed[r]));
}

static void exported(struct metrics *m, struct exports *e)
{
    metrics_counter(m, "xprof_export_profiles", "Profiles that an exporter's server took.");
    each_export(m, e, pick_sent);
    metrics_counter(m, "xprof_export_bytes", "Bytes of them on the wire.");
    each_export(m, e, pick_bytes);
    metrics_counter(m, "xprof_export_retries", "Attempts that will be repeated.");
    each_export(m, e, pick_retried);
    metrics_counter(m, "xprof_export_dropped_profiles", "Profiles given up, by reason.");
    reasons(m, e, true);
    metrics_counter(m, "xprof_export_failed_calls", "Calls that failed, by reason.");
    reasons(m, e, false);
    metrics_counter(m, "xprof_export_calls", "Calls.");
    each_export(m, e, pick_calls);
    metrics_counter(m, "xprof_export_call_seconds", "Time that calls took.");
    each_export(m, e, pick_seconds);
    metrics_gauge(m, "xprof_export_pending_profiles", "Profiles in the spool that the exporter has not sent.");
    each_export(m, e, pick_pending);
    metrics_gauge(m, "xprof_export_oldest_seconds", "Age of the oldest of them.");
    each_export(m, e, pick_oldest);
    metrics_gauge(m, "xprof_export_last_success_timestamp_seconds", "When the exporter last succeeded; 0: never.");
    each_export(m, e, pick_success);
    metrics_gauge(m, "xprof_export_up", "1 unless the exporter's last call failed.");
    each_export(m, e, pick_up);
}

static void spooled(struct metrics *m, struct exports *e)
{
    struct export_spool_stats s;
    exports_spool_stats(e, &s);
    metrics_gauge(m, "xprof_spool_bytes", "Bytes of profiles that wait, by place.");
    metrics_value(m, "place", "disk", (double)s.disk_bytes);
    metrics_value(m, "place", "memory", (double)s.memory_bytes);
    metrics_counter(m, "xprof_spool_profiles", "Profiles put into the spool.");
    metrics_value(m, NULL, NULL, (double)s.put);
    metrics_counter(m, "xprof_spool_refused", "Profiles that the spool did not take.");
    metrics_value(m, NULL, NULL, (double)s.refused);
    metrics_counter(m, "xprof_spool_corrupt", "Damaged records found in the spool.");
    metrics_value(m, NULL, NULL, (double)s.corrupt);
    metrics_counter(m, "xprof_spool_disk_errors", "Writes that the disk refused.");
    metrics_value(m, NULL, NULL, (double)s.disk_errors);
}

static void kubernetes(struct metrics *m, const struct kube_stats *k)
{
    metrics_counter(m, "xprof_kube_events", "Changes of pods and namespaces that the API server told, by type.");
    metrics_value(m, "type", "added", (double)k->added);
    metrics_value(m, "type", "modified", (double)k->modified);
    metrics_value(m, "type", "deleted", (double)k->deleted);
    metrics_value(m, "type", "bookmark", (double)k->bookmarks);
    metrics_counter(m, "xprof_kube_lists", "Complete lists.");
    metrics_value(m, NULL, NULL, (double)k->lists);
    metrics_counter(m, "xprof_kube_errors", "Calls to API server or kubelet that failed, by class.");
    for (int i = 0; i < KUBE_ERROR_MAX; i++)
        metrics_value(m, "class", kube_error_name((enum kube_error)i), (double)k->errors[i]);
    metrics_counter(m, "xprof_pod_events", "Warnings written as Events of their pods, by outcome.");
    metrics_value(m, "outcome", "posted", (double)k->events_posted);
    metrics_value(m, "outcome", "failed", (double)k->events_failed);
    metrics_value(m, "outcome", "dropped", (double)k->events_dropped);
    metrics_counter(m, "xprof_kube_objects_skipped", "Objects that were too large or malformed.");
    metrics_value(m, NULL, NULL, (double)(k->oversize + k->malformed));
}

static void discovered(struct metrics *m, const struct discover_stats *d)
{
    const struct containers_stats *c = &d->containers;
    metrics_gauge(m, "xprof_pods", "Pods of this node that are known, by whether they are profiled.");
    metrics_value(m, "profiled", "true", (double)d->wanted);
    metrics_value(m, "profiled", "false", (double)(d->pods - d->wanted));
    metrics_gauge(m, "xprof_containers", "Containers that run.");
    metrics_value(m, NULL, NULL, (double)c->containers);
    metrics_gauge(m, "xprof_containers_unnamed", "Containers that nobody has named yet.");
    metrics_value(m, NULL, NULL, (double)c->unnamed);
    metrics_gauge(m, "xprof_services", "Systemd services and scopes.");
    metrics_value(m, NULL, NULL, (double)c->units);
    metrics_counter(m, "xprof_annotation_warnings", "Annotations that were not understood.");
    metrics_value(m, NULL, NULL, (double)d->warnings);
    metrics_counter(m, "xprof_discovery_dropped", "Messages to the discovery that found no place.");
    metrics_value(m, NULL, NULL, (double)d->inbox_full);
    metrics_counter(m, "xprof_wants_refused", "Decisions about cgroups for which the kernel side had no room.");
    metrics_value(m, NULL, NULL, (double)d->wants_refused);
    metrics_counter(m, "xprof_cgroups_left_out", "Cgroups that are not known because there are too many.");
    metrics_value(m, NULL, NULL, (double)c->full);
    metrics_counter(m, "xprof_runtime_calls", "Calls to the container runtime, by outcome.");
    metrics_value(m, "outcome", "timeout", (double)c->timeouts);
    metrics_value(m, "outcome", "unreachable", (double)c->unreachable);
    metrics_value(m, "outcome", "malformed", (double)c->malformed);
    metrics_value(m, "outcome", "failed", (double)(c->failed + c->unsupported));
    metrics_value(m, "outcome", "all", (double)c->fetches);
    metrics_counter(m, "xprof_cgroup_events_missed", "Cgroups that only a re-scan found.");
    metrics_value(m, NULL, NULL, (double)(c->found_late + c->lost_late));
    kubernetes(m, &d->kube);
}

void vitals_metrics(void *vitals, bool openmetrics, struct buf *out)
{
    const struct vitals *v = vitals;
    struct metrics m = {.out = out, .openmetrics = openmetrics};
    struct agent_report r;
    struct discover_stats d;
    agent_vitals(v->agent, &r);
    metrics_gauge(&m, "xprof_build_info", "1, and the version.");
    metrics_value2(&m, "version", XPROF_VERSION, "node", v->node, 1);
    samples(&m, &r);
    resources(&m, v, &r);
    names(&m, &r);
    cpu(&m, &r);
    published(&m, v);
    exported(&m, v->exports);
    spooled(&m, v->exports);
    if (!discover_stats(v->discover, &d, ASK_MS))
        discovered(&m, &d);
    metrics_end(&m);
}

bool vitals_healthy(void *vitals, struct buf *why)
{
    const struct vitals *v = vitals;
    u64 ago = now_ns() - __atomic_load_n(&v->looped_ns, __ATOMIC_RELAXED);
    bool alive = ago < HEALTHY_NS;
    buf_printf(why, alive ? "alive\n" : "the collector has been stuck for %.0f s\n", (double)ago / 1e9);
    return alive;
}

/* Sampling runs, pods and runtime were reached, and at least one exporter is not failing. */
bool vitals_ready(void *vitals, struct buf *why)
{
    const struct vitals *v = vitals;
    struct discover_stats d;
    struct export_stats s = {0};
    bool up = false;
    size_t n = 0;
    if (!vitals_healthy(vitals, why))
        return false;
    why->len = 0;
    if (discover_stats(v->discover, &d, ASK_MS)) {
        buf_str(why, "the discovery does not answer\n");
        return false;
    }
    if (!d.synced) {
        buf_printf(why, "the pods of this node are not known yet: %s\n",
                   !d.by_runtime      ? "no API server or kubelet has told of them"
                   : d.runtime_why[0] ? d.runtime_why
                                      : "the container runtime was not asked yet");
        return false;
    }
    for (; exports_stats(v->exports, n, &s); n++)
        up |= !s.sick;
    if (!up) {
        buf_printf(why, n ? "no exporter gets through: %s\n" : "no exporter is configured%s\n", s.error);
        return false;
    }
    buf_printf(why, "ready%s%s\n", d.runtime_why[0] ? "; container runtime: " : "", d.runtime_why);
    return true;
}

bool vitals_targets(void *vitals, struct buf *json)
{
    const struct vitals *v = vitals;
    int rc = discover_targets(v->discover, json, ASK_MS);
    if (rc)
        buf_str(json, "null\n");
    return !rc;
}
