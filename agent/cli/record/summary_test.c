#include "cli/record/summary.h"
#include "base/cleanup.h"
#include "base/test.h"

#define S(seconds) ((u64)(seconds)*1000000000)

TEST(summary_progress_shows_time_left_or_elapsed)
{
    AUTO_BUF struct buf left = {0}, elapsed = {0};
    const struct progress p = {.samples = 100, .lost = 1, .user = 50, .complete = 49};
    summary_progress(&p, S(10), S(12), S(20), &left);
    CHECK_STR(left.data, "8 s left  100 samples  1 lost  98.0 % of stacks complete");
    summary_progress(&p, S(10), S(12), 0, &elapsed);
    CHECK_STR(elapsed.data, "2 s  100 samples  1 lost  98.0 % of stacks complete");
}

TEST(summary_progress_after_the_end)
{
    AUTO_BUF struct buf line = {0};
    const struct progress p = {.samples = 100};
    summary_progress(&p, S(10), S(20) + 1, S(20), &line);
    CHECK_STR(line.data, "0 s left  100 samples  0 lost");
}

TEST(summary_progress_of_a_timeline_alone)
{
    AUTO_BUF struct buf line = {0};
    const struct progress p = {.only_timeline = true, .switches = 7, .lost = 2};
    summary_progress(&p, S(10), S(12), 0, &line);
    CHECK_STR(line.data, "2 s  7 switches  2 lost");
}

static const struct pipeline_report clean = {
    .samples = 1000, .cpu_seconds = 1.5, .rss_bytes = 52000000, .map_bytes = 9500000, .files = 12, .rows = 3400};

static const struct pipeline_report dirty = {
    .samples = 1000,
    .lost = {[XP_LOSS_RING_FULL] = 4, [XP_LOSS_SCRATCH] = 3, [XP_LOSS_SUM] = 5, [XP_LOSS_DUMP] = 100},
    .lost_aggregate = 2,
    .lost_malformed = 1,
    .queue_full = 21,
    .user_samples = 800,
    .complete = 600,
    .cause = {[XP_CAUSE_END] = 600, [XP_CAUSE_DEPTH] = 200, [XP_CAUSE_STUCK] = 100, [XP_CAUSE_KTHREAD] = 50},
    .blame = {[XP_CAUSE_DEPTH] = "libx.so"},
    .deferred = 7,
    .bpf_ns = 5000000,
    .bpf_runs = 1000,
    .unwind_ns = 1600000,
    .unwind_median_ns = 1900,
    .cpu_seconds = 0.25,
    .start_seconds = 0.25,
    .rss_bytes = 1000000,
    .map_bytes = 2000000,
    .files = 3,
    .failed_files = 22,
    .rows = 10,
    .synth_rows = 5,
    .parser_restarts = 23,
    .left_out = 26,
    .idle = 27,
    .idle_ns = 2500000000,
    .left_out_ns = 1500000000,
    .heaps = {.watched_ns = 1, .rested_ns = 3, .rests = 28, .hits = 29, .unknown = 30, .go_refused = 31},
    .followed = {.refused = 32, .remote = 33, .left_out = 34},
    .nevents = 3,
    .events = {"cpu", "uprobe:a:b", "syscall:read"},
    .costs = {[1] = {35, 1250000000, 1, 9, 36}, [2] = {37, 250000, 40, 0, 0}},
    .lines = {.cut = 20, .failed = 4, .missing_parts = 25},
};

TEST(summary_text_of_a_clean_recording)
{
    AUTO_BUF struct buf out = {0};
    summary_text(&clean, 2, &out);
    buf_char(&out, 0);
    CHECK_STR(out.data,
              "1000 samples in 2.0 s, 0 lost\n"
              "cost: 1.50 s CPU, 52.0 MB memory, 9.5 MB eBPF maps, 12 files, 3400 rows\n");
}

TEST(summary_text_names_all_that_is_missing)
{
    AUTO_BUF struct buf out = {0};
    summary_text(&dirty, 10, &out);
    buf_char(&out, 0);
    CHECK_STR(out.data,
              "1000 samples in 10.0 s, 15 lost\n"
              "  ring-full: 4\n"
              "  scratch: 3\n"
              "  stack-dump: 100\n"
              "  sum: 5\n"
              "  stack-memory: 2\n"
              "  malformed: 1\n"
              "75.00 % of 800 user stacks are complete (7 of them by deferred unwinding)\n"
              "  cut: stuck               12.50 %  the stack pointer did not move towards the outermost frame\n"
              "  cut: depth               25.00 %  the stack is deeper than the frame limit (mostly libx.so)\n"
              "cost: 0.25 s CPU, 1.0 MB memory, 2.0 MB eBPF maps, 3 files, 10 rows (5 of them synthesised), "
              "5000 ns per sample\n"
              "22 files could not be read (-v names them)\n"
              "21 notifications of new files were deferred: too many at once\n"
              "24 files have incomplete line information: damaged, or a limit was reached\n"
              "25 files lack parts of their debug information: the files with these parts were not found\n"
              "26 waits (1.5 s) were not for locks and are left out: joins, conditions, idle threads\n"
              "27 waits (2.5 s) of idle threads are left out\n"
              "probes: the kernel refused them 32 times in a file of a process: samples are missing\n"
              "probes: 33 files were left alone, because their file systems may not answer\n"
              "probes: 34 functions were left out, because their files have too many\n"
              "memory: heap profiles of 31 Go programs are missing or incomplete: a limit was reached\n"
              "memory: allocations were seen 25.0 % of the time: more would cost too much (--memory-max-cost); "
              "30 blocks were lost sight of\n"
              "uprobe:a:b: was recorded 10.0 % of the time: 35 hits cost 1.25 s, and more would be too much "
              "(--max-cost, --no-cap)\n"
              "the parser process was restarted 23 times\n");
}

TEST(summary_of_what_was_not_recorded_all_the_time)
{
    AUTO_BUF struct buf out = {0}, none = {0};
    summary_shares(&dirty, &out);
    buf_char(&out, 0);
    CHECK_STR(out.data,
              "memory: allocations were seen 25.00 % of the time; 30 blocks were lost sight of\n"
              "uprobe:a:b: was recorded 10.00 % of the time\n");
    summary_shares(&clean, &none);
    CHECK_EQ(none.len, 0);
}

TEST(summary_as_json)
{
    AUTO_BUF struct buf out = {0};
    summary_json(&dirty, 1767225600000042999, 10, "", &out);
    buf_char(&out, 0);
    CHECK_STR(out.data,
              "{\"samples\":1000,\"lost\":{\"ring-full\":4,\"scratch\":3,\"file-event\":0,\"stack-dump\":100,"
              "\"wait\":0,\"sum\":5,\"block\":0,\"page\":0,\"request\":0,\"label\":0,\"field\":0,\"call\":0,\"cgroup-"
              "event\":0,"
              "\"stack-memory\":2,\"malformed\":1},"
              "\"user_samples\":800,"
              "\"complete\":600,"
              "\"late\":7,\"cut\":{\"kernel-thread\":50,\"stuck\":100,\"depth\":200},"
              "\"bpf_ns_per_sample\":5000,\"unwind_ns_per_sample\":2000,\"unwind_ns_median\":1900,"
              "\"agent_cpu_seconds\":0.250,\"rss_bytes\":1000000,\"map_bytes\":2000000,\"files\":3,"
              "\"failed_files\":22,\"rows\":10,\"synth_rows\":5,\"code_tables\":0,\"code_tables_refused\":0,\"debug_"
              "files\":0,\"lines_cut\":20,"
              "\"lines_missing_parts\":25,\"lines_failed\":4,\"names_cut\":0,"
              "\"lock_waits_left_out\":26,\"lock_seconds_left_out\":1.500,\"idle_waits_left_out\":27,\"idle_seconds_"
              "left_out\":2.500,\"memory_seen_percent\":25.00,\"memory_rests\":28,\"memory_hits\":29,"
              "\"memory_unknown\":30,\"memory_go_refused\":31,\"leaks\":0,\"leaked_bytes\":0,\"leaks_seconds\":0.000,"
              "\"probes_refused\":32,\"files_left_alone\":33,\"probes_left_out\":34,"
              "\"probes\":[{\"event\":\"uprobe:a:b\",\"hits\":35,\"cost_seconds\":1.250000,\"seen_percent\":10.00,"
              "\"rests\":36},"
              "{\"event\":\"syscall:read\",\"hits\":37,\"cost_seconds\":0.000250,\"seen_percent\":100.00,\"rests\":0}],"
              "\"parser_restarts\":23,"
              "\"startup_seconds\":0.250,\"start_seconds\":1767225600.000042,\"duration_seconds\":10.000}\n");
}

/* Nothing was recorded: nothing is divided by that. */
TEST(summary_of_nothing)
{
    AUTO_BUF struct buf out = {0};
    summary_json(&(struct pipeline_report){.bpf_ns = 5}, 0, 0, "", &out);
    buf_char(&out, 0);
    CHECK(strstr(out.data, "\"bpf_ns_per_sample\":0,\"unwind_ns_per_sample\":0,"));
    CHECK(strstr(out.data, "\"cut\":{}"));
}

static void check_leaks(const struct heaps_figures *h, u64 old_ns, const char *text)
{
    AUTO_BUF struct buf out = {0};
    summary_leaks(h, old_ns, &out);
    buf_char(&out, 0);
    CHECK_STR(out.data, text);
}

TEST(summary_of_leaks)
{
    struct heaps_figures h = {.leaks = 1, .leaked_bytes = 2000000, .leaks_span_ns = S(20), .leaks_told = 1};
    check_leaks(&h, 0, "");
    check_leaks(&h, S(10), "leaks: what 1 call path holds grew by 100.0 KB/s in 20.0 s\n");
    h.leaks = 2;
    check_leaks(&h, S(10), "leaks: what 2 call paths hold grew by 100.0 KB/s in 20.0 s\n");
    h.leaks = 0;
    check_leaks(&h, S(10), "leaks: none: in 20.0 s, no call path held more and more that was older than 10.0 s\n");
    h.leaks_told = 0;
    h.unknown = 1;
    check_leaks(&h, S(10),
                "leaks: nothing can be said: too little time passed after the first 10.0 s (--older-than)\n"
                "leaks: blocks were lost sight of, so leaks may be missing: try --memory-max-cost off\n");
}
