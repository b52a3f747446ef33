/* The page of metrics: each figure has a line of its own, under its own name. */
#include "base/cleanup.h"
#include "base/test.h"
#include "profile/frames.h"
#include "serve/health_internal.h"
#include <stdarg.h>

static const struct pipeline_report the_pipeline = {
    .samples = 1,
    .not_wanted = 2,
    .thinned = 3,
    .lost_aggregate = 4,
    .lost_malformed = 5,
    .deferred = 6,
    .files = 7,
    .failed_files = 8,
    .evicted_files = 9,
    .rows = 10,
    .synth_rows = 11,
    .map_bytes = 12,
    .rss_bytes = 13,
    .parser_restarts = 14,
    .lines = {.files = 100, .found = 40, .cut = 15, .missing_parts = 16, .failed = 17},
    .names = {.built = 41, .loaded = 42, .failed = 43},
    .cut_names = 18,
    .late_names = 61,
    .late_lines = 62,
    .left_out = 67,
    .left_out_ns = 68500000000,
    .idle = 69,
    .holders_refused = 71,
    .idle_ns = 70250000000,
    .code = {.regions = 44, .loaded = 45, .refused = 46},
    .runtime = {.machines = {.processes = 101, .refused = 102},
                .frames = {.named = 103, .gone = 104, .lost = 105},
                .unknown = 106},
    .server = {.fetched = 23, .missing = 24, .failed = 25, .lied = 26, .too_large = 27},
    .parser_cpu_seconds = 1.5,
    .heaps = {.processes = 81,
              .files = 82,
              .attached = 83,
              .failed = 84,
              .refused = 85,
              .hits = 86,
              .rests = 87,
              .watched_ns = 88500000000,
              .rested_ns = 89250000000,
              .unknown = 90,
              .go_refused = 91},
    .probed = {[1] = {true, 95, 96, 97, 98}},
    .followed = {.refused = 92, .remote = 93, .left_out = 94},
    .unwind_ns = 2500000000};

static const struct publisher_stats the_publisher = {.profiles = 27,
                                                     .samples = 28,
                                                     .unwanted = 29,
                                                     .refused = 30,
                                                     .unknown = 31,
                                                     .labels_left_out = 32,
                                                     .splits = 33,
                                                     .waiting = 34};

static const struct discover_stats the_discovery = {.pods = 60,
                                                    .wanted = 9,
                                                    .warnings = 55,
                                                    .namespaces = 3001,
                                                    .namespaces_refused = 3002,
                                                    .verdicts = 3003,
                                                    .mailbox_full = 56,
                                                    .wants_refused = 57,
                                                    .containers = {.containers = 52,
                                                                   .unnamed = 53,
                                                                   .units = 54,
                                                                   .full = 58,
                                                                   .answered = 59,
                                                                   .timeouts = 61,
                                                                   .unreachable = 62,
                                                                   .malformed = 63,
                                                                   .failed = 64,
                                                                   .unsupported = 1000,
                                                                   .found_late = 65,
                                                                   .lost_late = 2000},
                                                    .kube = {.added = 66,
                                                             .modified = 67,
                                                             .deleted = 68,
                                                             .bookmarks = 69,
                                                             .lists = 70,
                                                             .events_posted = 71,
                                                             .events_failed = 72,
                                                             .events_dropped = 73,
                                                             .oversize = 74,
                                                             .malformed = 3000}};

static struct health_figures figures(void)
{
    struct health_figures f = {
        .node = "node-1",
        .rate = 19,
        .throttled = 20,
        .reloads = 21,
        .reload_errors = 22,
        .pipeline = the_pipeline,
        .lag = {.busy_ns = 1, .late_ns = 2500000000},
        .nstages = 2,
        .stages = {{"worker", 3.5}, {"discover", 4.5}},
        .publisher = the_publisher,
        .spool = {.disk_bytes = 45, .memory_bytes = 46, .put = 47, .refused = 48, .corrupt = 49, .disk_errors = 50},
        .discovered = true,
        .discover = the_discovery,
    };
    struct export_stats well = {.name = "one",
                                .sent = 35,
                                .sent_bytes = 36,
                                .retried = 37,
                                .calls = 38,
                                .call_seconds = 39.5,
                                .pending = 40,
                                .oldest_ns = 41000000000,
                                .last_success_ns = 42000000000},
                        ill = {.name = "two", .sick = true, .sent = 43};
    for (u64 i = 0; i < EXPORT_NREASONS; i++) {
        well.dropped[i] = 100 + i;
        ill.failed[i] = 200 + i;
    }
    for (u64 i = 0; i < XP_LOSS_COUNT; i++)
        f.pipeline.lost[i] = 300 + i;
    for (u64 i = 0; i < XP_CAUSE_COUNT; i++)
        f.pipeline.cause[i] = 400 + i;
    f.pipeline.nevents = 2;
    f.pipeline.events[0] = "cpu";
    f.pipeline.events[1] = "lock";
    for (u64 i = 0; i < EVENT_STACKS; i++) {
        f.pipeline.event_stacks[0][i] = 700 + i;
        f.pipeline.event_stacks[1][i] = 710 + i;
    }
    f.pipeline.run_time_known = true;
    f.pipeline.run_ns[0] = 500000000;
    f.pipeline.run_ns[1] = 1500000000;
    f.pipeline.run_ns[PROBE_WAITS] = 2500000000;
    for (u64 i = 0; i < FILES_SYNTH_COUNT; i++)
        f.pipeline.synth[i] = 500 + i;
    for (u64 i = 0; i < KUBE_ERROR_MAX; i++)
        f.discover.kube.errors[i] = 600 + i;
    *VEC_PUSH(&f.exports) = well;
    *VEC_PUSH(&f.exports) = ill;
    *VEC_PUSH(&f.disks) = (struct probe_disk){.key = {"nvme0n1", XP_DISK_OP_FLUSH},
                                              .sum = {4500000000, 9, {4, 0, [XP_DISK_BUCKETS] = 5}}};
    f.disks_left_out = 92;
    return f;
}

static void write_page(struct buf *page, bool openmetrics, bool discovered)
{
    struct health_figures f = figures();
    f.discovered = discovered;
    health_write(page, openmetrics, &f);
    buf_char(page, 0);
    vec_free(&f.exports);
    vec_free(&f.disks);
}

/* Is that a whole line? */
__attribute__((format(printf, 2, 3))) static bool says(const struct buf *page, const char *fmt, ...)
{
    char line[256] = "\n";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line + 1, sizeof(line) - 2, fmt, ap);
    va_end(ap);
    strcat(line, "\n");
    return strstr(page->data, line) != NULL;
}

static const char *const lines[] = {
    "xprof_samples_total 1",
    "xprof_samples_unwanted_total 2",
    "# TYPE xprof_disk_request_seconds histogram",
    "xprof_disk_request_seconds_bucket{device=\"nvme0n1\",operation=\"flush\",le=\"1.6e-05\"} 4",
    "xprof_disk_request_seconds_bucket{device=\"nvme0n1\",operation=\"flush\",le=\"16.777216\"} 4",
    "xprof_disk_request_seconds_bucket{device=\"nvme0n1\",operation=\"flush\",le=\"+Inf\"} 9",
    "xprof_disk_request_seconds_sum{device=\"nvme0n1\",operation=\"flush\"} 4.5",
    "xprof_disk_request_seconds_count{device=\"nvme0n1\",operation=\"flush\"} 9",
    "xprof_disk_requests_left_out_total 92",
    "xprof_samples_thinned_total 3",
    "xprof_events_total{event=\"cpu\"} 2103",
    "xprof_events_total{event=\"lock\"} 2133",
    "xprof_event_stacks_total{event=\"cpu\",stack=\"complete\"} 700",
    "xprof_event_stacks_total{event=\"cpu\",stack=\"cut\"} 701",
    "xprof_event_stacks_total{event=\"lock\",stack=\"none\"} 712",
    "xprof_event_cpu_seconds_total{event=\"cpu\"} 0.5",
    "xprof_event_cpu_seconds_total{event=\"lock\"} 1.5",
    "xprof_event_cpu_seconds_total{event=\"waits\"} 2.5",
    "xprof_samples_lost_total{cause=\"stack-memory\"} 4",
    "xprof_samples_lost_total{cause=\"malformed\"} 5",
    "xprof_stacks_late_total 6",
    "xprof_files 7",
    "xprof_files_failed 8",
    "xprof_files_evicted_total 9",
    "xprof_table_rows 10",
    "xprof_synth_rows 11",
    "xprof_ebpf_map_bytes 12",
    "xprof_resident_memory_bytes 13",
    "xprof_parser_restarts_total 14",
    "xprof_lag_seconds 2.5",
    "xprof_line_indexes_cut_total{cause=\"limit\"} 15",
    "xprof_line_indexes_cut_total{cause=\"missing-file\"} 16",
    "xprof_line_indexes_cut_total{cause=\"failed\"} 17",
    "xprof_debug_files_total{outcome=\"found\"} 40",
    "xprof_debug_files_total{outcome=\"none\"} 60",
    "xprof_name_indexes_total{outcome=\"built\"} 41",
    "xprof_name_indexes_total{outcome=\"loaded\"} 42",
    "xprof_name_indexes_total{outcome=\"failed\"} 43",
    "xprof_names_cut_total 18",
    "xprof_lock_waits_left_out_total 67",
    "xprof_lock_waits_left_out_seconds_total 68.5",
    "xprof_lock_holders_unknown_total 71",
    "xprof_idle_waits_left_out_total 69",
    "xprof_idle_waits_left_out_seconds_total 70.25",
    "xprof_memory_processes 81",
    "xprof_memory_files_total 82",
    "xprof_memory_attachments_total{outcome=\"ok\"} 83",
    "xprof_memory_attachments_total{outcome=\"failed\"} 84",
    "xprof_memory_attachments_total{outcome=\"refused\"} 85",
    "xprof_memory_hits_total 86",
    "xprof_memory_rests_total 87",
    "xprof_memory_seconds_total{seen=\"true\"} 88.5",
    "xprof_memory_seconds_total{seen=\"false\"} 89.25",
    "xprof_memory_blocks_unknown_total 90",
    "xprof_memory_go_refused_total 91",
    "xprof_probes_refused_total 92",
    "xprof_probe_files_left_alone_total 93",
    "xprof_probe_functions_left_out_total 94",
    "xprof_probe_processes{event=\"lock\"} 95",
    "xprof_probe_attachments_total{event=\"lock\",outcome=\"ok\"} 96",
    "xprof_probe_attachments_total{event=\"lock\",outcome=\"failed\"} 97",
    "xprof_probe_files_without_function_total{event=\"lock\"} 98",
    "xprof_names_late_total{of=\"functions\"} 61",
    "xprof_names_late_total{of=\"lines\"} 62",
    "xprof_code_tables 44",
    "xprof_code_tables_loaded_total{outcome=\"ok\"} 45",
    "xprof_code_tables_loaded_total{outcome=\"no-room\"} 46",
    "xprof_runtime_processes 101",
    "xprof_runtime_processes_left_out_total{reason=\"no-room\"} 102",
    "xprof_runtime_processes_left_out_total{reason=\"not-understood\"} 106",
    "xprof_runtime_frames_total{outcome=\"ok\"} 103",
    "xprof_runtime_frames_total{outcome=\"gone\"} 104",
    "xprof_runtime_frames_total{outcome=\"no-room\"} 105",
    "xprof_sampling_rate_hertz 19",
    "xprof_throttles_total 20",
    "xprof_config_reloads_total{outcome=\"ok\"} 21",
    "xprof_config_reloads_total{outcome=\"error\"} 22",
    "xprof_debuginfod_requests_total{outcome=\"fetched\"} 23",
    "xprof_debuginfod_requests_total{outcome=\"missing\"} 24",
    "xprof_debuginfod_requests_total{outcome=\"failed\"} 25",
    "xprof_debuginfod_requests_total{outcome=\"too-large\"} 27",
    "xprof_debuginfod_requests_total{outcome=\"wrong\"} 26",
    "xprof_cpu_seconds_total{stage=\"worker\"} 3.5",
    "xprof_cpu_seconds_total{stage=\"discover\"} 4.5",
    "xprof_cpu_seconds_total{stage=\"parser\"} 1.5",
    "xprof_cpu_seconds_total{stage=\"unwind\"} 2.5",
    "xprof_profiles_total 27",
    "xprof_profile_samples_total{outcome=\"published\"} 28",
    "xprof_profile_samples_total{outcome=\"unwanted\"} 29",
    "xprof_profile_samples_total{outcome=\"refused\"} 30",
    "xprof_profile_samples_unnamed_total 31",
    "xprof_profile_labels_left_out_total 32",
    "xprof_profile_splits_total 33",
    "xprof_profiles_waiting 34",
    "xprof_export_profiles_total{exporter=\"one\"} 35",
    "xprof_export_profiles_total{exporter=\"two\"} 43",
    "xprof_export_bytes_total{exporter=\"one\"} 36",
    "xprof_export_retries_total{exporter=\"one\"} 37",
    "xprof_export_calls_total{exporter=\"one\"} 38",
    "xprof_export_call_seconds_total{exporter=\"one\"} 39.5",
    "xprof_export_pending_profiles{exporter=\"one\"} 40",
    "xprof_export_oldest_seconds{exporter=\"one\"} 41",
    "xprof_export_last_success_timestamp_seconds{exporter=\"one\"} 42",
    "xprof_export_last_success_timestamp_seconds{exporter=\"two\"} 0",
    "xprof_export_up{exporter=\"one\"} 1",
    "xprof_export_up{exporter=\"two\"} 0",
    "xprof_spool_bytes{place=\"disk\"} 45",
    "xprof_spool_bytes{place=\"memory\"} 46",
    "xprof_spool_profiles_total 47",
    "xprof_spool_refused_total 48",
    "xprof_spool_corrupt_total 49",
    "xprof_spool_disk_errors_total 50",
};

static const char *const discovered_lines[] = {
    "xprof_pods{profiled=\"true\"} 9",
    "xprof_pods{profiled=\"false\"} 51",
    "xprof_namespaces 3001",
    "xprof_namespaces_left_out_total 3002",
    "xprof_verdicts_total 3003",
    "xprof_containers 52",
    "xprof_containers_unnamed 53",
    "xprof_services 54",
    "xprof_annotation_warnings_total 55",
    "xprof_discovery_dropped_total 56",
    "xprof_wants_refused_total 57",
    "xprof_cgroups_left_out_total 58",
    "xprof_runtime_calls_total{outcome=\"ok\"} 59",
    "xprof_runtime_calls_total{outcome=\"timeout\"} 61",
    "xprof_runtime_calls_total{outcome=\"unreachable\"} 62",
    "xprof_runtime_calls_total{outcome=\"malformed\"} 63",
    "xprof_runtime_calls_total{outcome=\"failed\"} 1064",
    "xprof_cgroup_events_missed_total 2065",
    "xprof_kube_events_total{type=\"added\"} 66",
    "xprof_kube_events_total{type=\"modified\"} 67",
    "xprof_kube_events_total{type=\"deleted\"} 68",
    "xprof_kube_events_total{type=\"bookmark\"} 69",
    "xprof_kube_lists_total 70",
    "xprof_pod_events_total{outcome=\"posted\"} 71",
    "xprof_pod_events_total{outcome=\"failed\"} 72",
    "xprof_pod_events_total{outcome=\"dropped\"} 73",
    "xprof_kube_objects_skipped_total 3074",
};

TEST(health_metrics_have_a_line_for_each_figure)
{
    AUTO_BUF struct buf page = {0};
    write_page(&page, false, true);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        if (!says(&page, "%s", lines[i]))
            test_fail(__FILE__, __LINE__, "no line \"%s\"", lines[i]);
    for (size_t i = 0; i < sizeof(discovered_lines) / sizeof(*discovered_lines); i++)
        if (!says(&page, "%s", discovered_lines[i]))
            test_fail(__FILE__, __LINE__, "no line \"%s\"", discovered_lines[i]);
    CHECK(says(&page, "xprof_build_info{version=\"%s\",node=\"node-1\"} 1", XPROF_VERSION));
    CHECK(!strstr(page.data, "# EOF"));
}

TEST(health_metrics_have_a_line_for_each_cause_and_reason)
{
    AUTO_BUF struct buf page = {0};
    write_page(&page, false, true);
    for (int i = 0; i < XP_LOSS_COUNT; i++)
        CHECK(says(&page, "xprof_samples_lost_total{cause=\"%s\"} %d", loss_slug((enum xp_loss)i), 300 + i));
    for (int i = 0; i < XP_CAUSE_COUNT; i++)
        CHECK(says(&page, "xprof_stacks_total{cause=\"%s\",cut=\"%s\"} %d", cause_slug((u8)i),
                   cause_class((u8)i) == 'x' ? "true" : "false", 400 + i));
    for (int i = 0; i < FILES_SYNTH_COUNT; i++)
        CHECK(says(&page, "xprof_synth_files_total{result=\"%s\"} %d", files_synth_slug((enum files_synth)i), 500 + i));
    for (int i = 0; i < KUBE_ERROR_MAX; i++)
        CHECK(says(&page, "xprof_kube_errors_total{class=\"%s\"} %d", kube_error_name((enum kube_error)i), 600 + i));
    for (int i = 0; i < EXPORT_NREASONS; i++) {
        const char *reason = export_reason_slug((enum export_reason)i);
        CHECK(says(&page, "xprof_export_dropped_profiles_total{exporter=\"one\",reason=\"%s\"} %d", reason, 100 + i));
        CHECK(says(&page, "xprof_export_dropped_profiles_total{exporter=\"two\",reason=\"%s\"} 0", reason));
        CHECK(says(&page, "xprof_export_failed_calls_total{exporter=\"two\",reason=\"%s\"} %d", reason, 200 + i));
        CHECK(says(&page, "xprof_export_failed_calls_total{exporter=\"one\",reason=\"%s\"} 0", reason));
    }
}

/* Nothing is said of pods when nobody knows: zeros would be taken for the truth. */
TEST(health_metrics_without_an_answer_of_the_discovery)
{
    AUTO_BUF struct buf page = {0};
    write_page(&page, true, false);
    CHECK(!strstr(page.data, "xprof_pods") && !strstr(page.data, "xprof_kube"));
    CHECK(says(&page, "xprof_spool_disk_errors_total 50"));
    CHECK(says(&page, "# TYPE xprof_spool_disk_errors counter"));
    CHECK_STR(page.data + page.len - strlen("\n# EOF\n") - 1, "\n# EOF\n");
}
