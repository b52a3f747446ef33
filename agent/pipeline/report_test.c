/* What a pipeline says of itself: each number comes from where it is counted. */
#include "base/fs.h"
#include "base/log.h"
#include "parser/parser.h"
#include "pipeline/rig_test.h"
#include "pipeline/usage.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

TEST(report_takes_what_the_kernel_side_counts)
{
    AUTO_RIG r = {0};
    struct pipeline_report end, live;
    BEGIN(r, false);
    struct xp_stats st = {.samples = 11, .not_wanted = 12, .thinned = 13, .unwind_ns = 5000 * NS_PER_SEC};
    for (u64 i = 0; i < XP_LOSS_COUNT; i++)
        st.lost[i] = 20 + i;
    fake_count(r.probe, &st, 31, 32);
    pipeline_figures(r.pipeline, &live);
    pipeline_stop(r.pipeline);
    pipeline_report(r.pipeline, &end);
    const struct pipeline_report *both[] = {&end, &live};
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(both[i]->samples, 11);
        CHECK_EQ(both[i]->not_wanted, 12);
        CHECK_EQ(both[i]->thinned, 13);
        CHECK_EQ(both[i]->unwind_ns, 5000 * NS_PER_SEC);
        for (u64 k = 0; k < XP_LOSS_COUNT; k++)
            CHECK_EQ(both[i]->lost[k], 20 + k);
    }
    CHECK(end.bpf_ns == 31 && end.bpf_runs == 32);
    CHECK(live.rss_bytes > 1 << 20 && live.rss_bytes < (u64)1 << 40);
    CHECK(pipeline_cpu_seconds(r.pipeline) > 5000 && pipeline_cpu_seconds(r.pipeline) < 6000);
}

TEST(report_of_a_recording)
{
    AUTO_RIG r = {0};
    struct pipeline_report end;
    struct profile p;
    u64 samples, lost, user, complete;
    char why[256];
    u64 began = now_ns(), wall = clock_ns(CLOCK_REALTIME);
    BEGIN(r, false);
    struct job *closed = job_new(JOB_FILE);
    CHECK(closed);
    closed->file.event = (struct xp_file_event){.id = 9, .key = {.ino = 77}};
    closed->file.error = -EPERM; /* nobody may open it */
    log_set_level(LOG_ERROR);
    worker_build(r.pipeline->worker, closed);
    log_set_level(LOG_WARN);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    struct one_word s = sample_of(&r, word_of(&r, (u64)(uintptr_t)pipeline_leaf + 1), XP_CAUSE_END);
    const u32 times[] = {9, 5, 7};
    for (size_t i = 0; i < 3; i++) {
        s.s.unwind_ns = times[i];
        fake_push(r.probe, &s, sizeof(s));
    }
    s.s.cause = XP_CAUSE_STACK_READ;
    s.s.unwind_ns = 0; /* not measured */
    fake_push(r.probe, &s, sizeof(s));
    struct one_word kernel = sample_of(&r, 0, XP_CAUSE_KTHREAD);
    kernel.s.nuser = 0;
    kernel.s.unwind_ns = 1;
    fake_push(r.probe, &kernel, sizeof(kernel));
    POLL_UNTIL(r, fake_file(r.probe, &r.key).state == XP_FILE_READY);
    struct xp_stats st = {.samples = 5, .lost = {[XP_LOSS_RING_FULL] = 3, [XP_LOSS_SCRATCH] = 100}};
    fake_count(r.probe, &st, 0, 0);
    pipeline_progress(r.pipeline, &samples, &lost, &user, &complete);
    CHECK(samples == 5 && lost == 3 && user == 4 && complete == 3);
    pipeline_stop(r.pipeline);
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(pipeline_profile(r.pipeline, &p), 0);
    CHECK(p.duration_ns > 0 && p.duration_ns < now_ns() - began);
    CHECK(p.time_ns >= wall && p.time_ns <= clock_ns(CLOCK_REALTIME));
    const char *build_id = profile_text(&p, p.mappings.v[0].build_id);
    CHECK(strlen(build_id) >= 16);
    profile_free(&p);
    pipeline_report(r.pipeline, &end);
    CHECK_EQ(end.unwind_median_ns, 7);
    CHECK_EQ(end.cause[XP_CAUSE_END], 3);
    CHECK_EQ(end.cause[XP_CAUSE_KTHREAD], 1);
    CHECK(end.user_samples == 4 && end.complete == 3);
    CHECK(end.nevents == 1 && !strcmp(end.events[0], "cpu"));
    CHECK(end.event_stacks[0][EVENT_STACK_COMPLETE] == 3 && end.event_stacks[0][EVENT_STACK_CUT] == 1);
    CHECK(end.run_time_known && end.run_ns[PROBE_WAITS] == 1000 * PROBE_WAITS);
    CHECK_EQ(end.files, 3); /* and the vdso */
    CHECK_EQ(end.failed_files, 1);
    CHECK(end.map_bytes > 0 && end.map_bytes == probe_map_bytes(r.probe));
    CHECK_EQ(end.lines.files, 1); /* of those that were named */
    CHECK(end.rss_bytes > 1 << 20);
    CHECK(end.start_seconds > 0 && end.start_seconds < (double)(now_ns() - began) / 1e9);
    CHECK(end.cpu_seconds > 0 && end.cpu_seconds >= end.parser_cpu_seconds);
    CHECK_EQ(end.parser_restarts, 0);
    CHECK_EQ(end.evicted_files, 0);
    CHECK_STR(end.blame[XP_CAUSE_STACK_READ], "unit");
}

/* Of a cause, the file where most stopped, whichever came first. */
TEST(report_blames_the_file_with_most_samples)
{
    AUTO_RIG r = {0};
    struct pipeline_report end;
    char why[256];
    BEGIN(r, false);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    const struct {
        u64 word;
        int times;
    } rows[] = {{word_of(&r, (u64)(uintptr_t)pipeline_leaf + 1), 3},
                {XP_FILE_WORD(XP_WORD_CFI, 4711, 1), 2},
                {XP_FILE_WORD(XP_WORD_CFI, 4712, 1), 1}};
    for (size_t i = 0; i < 3; i++) {
        struct one_word s = sample_of(&r, rows[i].word, XP_CAUSE_STACK_READ);
        for (int k = 0; k < rows[i].times; k++)
            fake_push(r.probe, &s, sizeof(s));
    }
    pipeline_poll(r.pipeline, 1);
    pipeline_stop(r.pipeline);
    pipeline_report(r.pipeline, &end);
    CHECK_STR(end.blame[XP_CAUSE_STACK_READ], "unit");
}

TEST(usage_of_this_process_and_the_parser)
{
    AUTO_RIG r = {0};
    struct rusage before, after;
    AUTO_FREE char *statm = NULL;
    unsigned long pages = 0;
    BEGIN(r, false);
    do /* some time in the kernel */
        CHECK_EQ(getrusage(RUSAGE_SELF, &before), 0);
    while (before.ru_stime.tv_sec == 0 && before.ru_stime.tv_usec < 2000);
    double cpu = usage_cpu(r.pipeline->parser);
    CHECK_EQ(getrusage(RUSAGE_SELF, &after), 0);
    double low = (double)(before.ru_utime.tv_sec + before.ru_stime.tv_sec) +
                 (double)(before.ru_utime.tv_usec + before.ru_stime.tv_usec) / 1e6;
    double high = (double)(after.ru_utime.tv_sec + after.ru_stime.tv_sec) +
                  (double)(after.ru_utime.tv_usec + after.ru_stime.tv_usec) / 1e6;
    double child = usage_parser_cpu(r.pipeline->parser);
    CHECK(child >= 0 && cpu >= low && cpu <= high + child);
    CHECK_EQ(fs_read_file("/proc/self/statm", 4096, &statm, NULL), 0);
    CHECK_EQ(sscanf(statm, "%*u %lu", &pages), 1);
    u64 rss = usage_rss(r.pipeline->parser), own = pages * (u64)sysconf(_SC_PAGESIZE);
    CHECK(rss > own - own / 4 && rss < 3 * own);
}

/* As many files as may be: a busy machine has thousands mapped. */
TEST(pipeline_may_open_as_many_files_as_are_allowed)
{
    AUTO_RIG r = {0};
    struct rlimit old, now;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit low = {.rlim_cur = old.rlim_max / 2, .rlim_max = old.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    BEGIN(r, false);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
    setrlimit(RLIMIT_NOFILE, &old);
    CHECK_EQ(now.rlim_cur, old.rlim_max);
}

/* ---- Frames without names, and what is kept on disk ---- */

TEST(pipeline_leaves_frames_raw_where_that_is_wanted)
{
    AUTO_RIG r = {.config = {.raw = true}};
    struct profile p;
    char why[256];
    BEGIN(r, false);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    push_leaf(&r);
    struct one_word lost = sample_of(&r, XP_FILE_WORD(XP_WORD_CFI, 4711, 0x1234) | XP_WORD_EXACT, XP_CAUSE_END);
    fake_push(r.probe, &lost, sizeof(lost));
    POLL_UNTIL(r, fake_file(r.probe, &r.key).state == XP_FILE_READY);
    pipeline_stop(r.pipeline);
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(pipeline_profile(r.pipeline, &p), 0);
    CHECK_EQ(p.stacks.n, 2);
    Dl_info here;
    CHECK(dladdr((void *)(uintptr_t)pipeline_leaf, &here));
    u64 pc = (u64)(uintptr_t)pipeline_leaf + 1, address = pc - (u64)(uintptr_t)here.dli_fbase;
    const struct prof_location *known = NULL, *unknown = NULL;
    for (size_t i = 0; i < p.locations.n; i++) {
        CHECK_EQ(p.locations.v[i].nlines, 0);
        if (p.locations.v[i].address == address)
            known = &p.locations.v[i];
        if (p.locations.v[i].address == 0x1234) /* of a file that nobody knows: where it lies in the file */
            unknown = &p.locations.v[i];
    }
    CHECK(known && unknown && known->mapping != unknown->mapping);
    const struct prof_mapping *m = &p.mappings.v[known->mapping];
    CHECK(m->lo <= address && address <= m->hi); /* all of its executable segment */
    CHECK_EQ(address - m->lo + m->lo_offset, pc - r.text.start + r.text.pgoff);
    CHECK(m->hi - m->lo > 100000 && !m->has_functions);
    profile_free(&p);
}

struct cache_folder {
    char path[32];
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static void cache_folder_free(struct cache_folder *f)
{
    nftw(f->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Files of that kind; the name of one of them. */
static int files_in(const char *path, const char *suffix, char name[256])
{
    DIR *dir = opendir(path);
    int n = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (strstr(e->d_name, suffix)) {
            snprintf(name, 256, "%s", e->d_name);
            n++;
        }
    if (dir)
        closedir(dir);
    return n;
}

/* Rows of this program's table; 0: it has none. */
static u64 record_once(struct rig *r, const char *cache)
{
    struct pipeline_report end;
    struct profile p;
    char why[256];
    r->config.cache_dir = cache;
    if (rig_begin(r, false) || pipeline_start(r->pipeline, why, sizeof(why)) || profile_init(&p))
        return 0;
    push_file(r);
    push_leaf(r);
    POLL_UNTIL(*r, fake_file(r->probe, &r->key).state == XP_FILE_READY);
    pipeline_stop(r->pipeline);
    pipeline_profile(r->pipeline, &p);
    pipeline_report(r->pipeline, &end);
    profile_free(&p);
    return end.rows;
}

/* What was built once is there the next time: tables and the index of lines. Each folder has a secret of its own, so
 * that nobody can tell names of files in it.
 */
TEST(pipeline_keeps_on_disk_what_it_has_built)
{
    CLEANUP(cache_folder_free)
    struct cache_folder one = {.path = "/tmp/xprof-cache-XXXXXX"}, two = {.path = "/tmp/xprof-cache-XXXXXX"};
    AUTO_RIG r = {0};
    char table[256], index[256], other[256];
    BEGIN(r, false); /* or else it is skipped */
    rig_end(&r);
    CHECK(mkdtemp(one.path) && mkdtemp(two.path));
    u64 rows = record_once(&r, one.path);
    rig_end(&r);
    int tables = files_in(one.path, ".xpt", table);
    CHECK(rows > 1000 && tables >= 1);
    CHECK_EQ(files_in(one.path, ".xpl", index), 1);
    CHECK_EQ(record_once(&r, one.path), rows);
    rig_end(&r);
    CHECK_EQ(files_in(one.path, ".xpt", other), tables);
    CHECK_EQ(files_in(one.path, ".xpl", other), 1);
    CHECK_STR(other, index);
    CHECK_EQ(record_once(&r, two.path), rows);
    CHECK_EQ(files_in(two.path, ".xpl", other), 1);
    CHECK(strcmp(other, index) != 0);
    CHECK_EQ(files_in(two.path, table, other), 0);
}

/* More files than may be kept: those go that no stack ran through for some intervals. */
TEST(pipeline_gives_up_files_that_are_not_used)
{
    AUTO_RIG r = {0};
    struct pipeline_report live = {0};
    char why[256];
    BEGIN(r, true);
    for (u32 i = 0; i < XP_MAX_FILES / 4 * 3; i++) {
        struct job *j = job_new(JOB_FILE);
        CHECK(j);
        j->file.event = (struct xp_file_event){.id = 1000 + i, .key = {.ino = 1000 + i, .dev = 9}};
        j->file.error = -ENOENT; /* they are gone already */
        worker_build(r.pipeline->worker, j);
    }
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    POLL_UNTIL(r, fake_file(r.probe, &r.key).state == XP_FILE_READY);
    for (unsigned i = 1; i <= 6; i++) {
        struct one_word anonymous = sample_of(&r, 0x123460 | XP_WORD_EXACT, XP_CAUSE_STACK_READ);
        push_leaf(&r);
        fake_push(r.probe, &anonymous, sizeof(anonymous)); /* of no file */
        pipeline_poll(r.pipeline, 1);
        CHECK_EQ(pipeline_rotate(r.pipeline), 0);
        POLL_UNTIL(r, profiles(&r) == i);
    }
    POLL_UNTIL(r, (pipeline_figures(r.pipeline, &live), live.evicted_files) > 0);
    CHECK_EQ(live.evicted_files, XP_MAX_FILES / 4 * 3);
    CHECK_EQ(live.files, 2); /* ours, and the vdso */
    CHECK_EQ(fake_file(r.probe, &r.key).state, XP_FILE_READY);
}
