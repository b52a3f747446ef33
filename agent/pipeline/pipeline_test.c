/* The pipeline from ring bytes to a named profile; for deferred stacks with this program's own registers and stack.
 * Each hand-over between collector and worker has a test that fails without it.
 */
#include "base/fs.h"
#include "cfi/unwind_fixture.h"
#include "pipeline/rig_test.h"
#include "proc/proc.h"
#include <errno.h>
#include <linux/magic.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define LIBC_ID 8

TEST(pipeline_names_what_comes_out_of_the_ring)
{
    AUTO_RIG r = {0};
    struct profile p;
    char why[256];
    BEGIN(r, false);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    push_leaf(&r);
    push_leaf(&r);
    POLL_UNTIL(r, fake_file(r.probe, &r.key).state == XP_FILE_READY);
    CHECK_EQ(fake_file(r.probe, &r.key).id, FILE_ID);
    CHECK(fake_file(r.probe, &r.key).nblocks > 0);
    pipeline_stop(r.pipeline);
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(pipeline_profile(r.pipeline, &p), 0);
    CHECK_EQ(p.stacks.n, 1);
    CHECK_EQ(p.stacks.v[0].count[0], 2);
    CHECK_EQ(p.stacks.v[0].value[0], 2 * 1000000000ull / HZ);
    CHECK_EQ(p.period[0], 1000000000ull / HZ);
    CHECK_STR(name_at(&p, &p.stacks.v[0], 0), "pipeline_leaf");
    CHECK(strstr(profile_text(&p, p.mappings.v[0].name), "unit") != NULL);
    struct pipeline_report report;
    pipeline_report(r.pipeline, &report);
    CHECK_EQ(report.samples, 2);
    CHECK_EQ(report.user_samples, 2);
    CHECK_EQ(report.complete, 2);
    CHECK_EQ(report.files, 1 + 1); /* and the vdso */
    CHECK(report.rows > 1000);
    profile_free(&p);
}

TEST(pipeline_hands_intervals_to_the_sink)
{
    AUTO_RIG r = {0};
    char why[256];
    BEGIN(r, true);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    push_leaf(&r);
    pipeline_poll(r.pipeline, 1);
    pipeline_set_rate(r.pipeline, 50);
    POLL_UNTIL(r, fake_rate(r.probe) == 50);
    CHECK_EQ(pipeline_rotate(r.pipeline), 0);
    POLL_UNTIL(r, profiles(&r) == 1);
    CHECK_EQ(profiles(&r), 1);
    CHECK_EQ(r.samples, 1);
    CHECK_STR(r.leaf, "pipeline_leaf");
    CHECK_EQ(r.hz_period, 1000000000 / 50);
    struct pipeline_report live;
    POLL_UNTIL(r, (pipeline_figures(r.pipeline, &live), live.files) > 0);
    CHECK_EQ(live.complete, 1);
    push_leaf(&r);
    push_leaf(&r);
    pipeline_stop(r.pipeline); /* what the last interval brought goes out, too */
    CHECK_EQ(profiles(&r), 2);
    CHECK_EQ(r.samples, 3);
    pipeline_figures(r.pipeline, &live);
    CHECK_EQ(live.complete, 3);
    CHECK_EQ(live.rows > 1000, true);
}

/* ---- Deferred stacks ---- */

/* A dump of this thread, as the kernel side takes it: 0, or -1. */
static int push_own_dump(struct rig *r, const struct xp_mapping *libc, u64 time)
{
    AUTO_FREE struct xp_dump *d = calloc(1, sizeof(*d));
    struct xp_mapping stack;
    ucontext_t u;
    if (!d || getcontext(&u))
        return -1;
    *d = (struct xp_dump){
        .type = XP_RECORD_DUMP, .cpu = 1, .time = time, .tgid = (u32)getpid(), .nmaps = 2, .maps = {r->text, *libc}};
    regs_of_context(&u, &d->regs);
    u64 sp = d->regs.r[7];
    if (!mapping_of(sp, &stack))
        return -1;
    d->len = stack.end - sp < XP_DUMP_BYTES ? (u32)(stack.end - sp) : XP_DUMP_BYTES;
    struct iovec to = {d->stack, d->len}, from = {(void *)(uintptr_t)sp, d->len}; /* past ASan, which would object */
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)d->len)
        return -1;
    fake_push(r->probe, d, sizeof(*d));
    return 0;
}

static int push_libc(struct rig *r, struct xp_mapping *libc)
{
    struct stat st;
    AUTO_FREE char *path = NULL;
    if (!mapping_of((u64)(uintptr_t)gnu_get_libc_version, libc))
        return -1;
    AUTO_CLOSE int fd = proc_open_mapping((u32)getpid(), libc->start, libc->end, &path);
    if (fd < 0 || fstat(fd, &st))
        return -1;
    libc->file = LIBC_ID;
    struct xp_file_event e = {.type = XP_RECORD_FILE,
                              .id = LIBC_ID,
                              .tgid = (u32)getpid(),
                              .start = libc->start,
                              .end = libc->end,
                              .magic = TMPFS_MAGIC,
                              .pgoff = libc->pgoff,
                              .key = rig_key(&st)};
    fake_push(r->probe, &e, sizeof(e));
    return 0;
}

/* While the worker is at an interval, all can see for how long. */
TEST(pipeline_tells_how_late_its_worker_is)
{
    AUTO_RIG r = {.holds = 1};
    struct worker_lag lag;
    char why[256];
    BEGIN(r, true);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    POLL_UNTIL(r, (pipeline_lag(r.pipeline, &lag), !lag.busy_ns));
    CHECK_EQ(lag.late_ns, 0);
    push_file(&r);
    push_leaf(&r);
    pipeline_poll(r.pipeline, 1);
    u64 before = now_ns();
    CHECK_EQ(pipeline_rotate(r.pipeline), 0);
    POLL_UNTIL(r, profiles(&r) == 1);
    usleep(20000);
    pipeline_lag(r.pipeline, &lag);
    u64 most = now_ns() - before;
    __atomic_store_n(&r.holds, 0, __ATOMIC_RELEASE);
    CHECK(lag.busy_ns >= 20000000 && lag.busy_ns <= lag.late_ns && lag.late_ns <= most);
    POLL_UNTIL(r, (pipeline_lag(r.pipeline, &lag), !lag.busy_ns));
    CHECK_EQ(lag.late_ns, 0);
    pipeline_stop(r.pipeline);
}

/* A cgroup whose stacks fill an interval leaves room for those of others, in an agent. */
TEST(pipeline_gives_shares_to_neighbours)
{
    AUTO_RIG r = {.config = {.neighbours = true, .aggregate_bytes = 1 << 20}};
    char why[256];
    size_t n;
    BEGIN(r, true);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    for (u64 i = 0; i < 10001; i++) {
        struct one_word s = sample_of(&r, 0x1000 + i, XP_CAUSE_NO_MAPPING);
        s.s.cgroup = i < 10000 ? 7 : 8;
        fake_push(r.probe, &s, sizeof(s));
        if (i % 100 == 0)
            pipeline_poll(r.pipeline, 0);
    }
    const struct aggregate *stacks = collector_stacks(r.pipeline->collector);
    const struct agg_process *p = aggregate_processes(stacks, &n);
    CHECK(aggregate_dropped(stacks) > 0);
    CHECK_EQ(n, 2);
    CHECK_EQ(p[1].cgroup, 8);
    CHECK_EQ(aggregate_stacks(stacks, &n)[n - 1].process, 1);
    CHECK(r.pipeline->jobs.share);
    pipeline_stop(r.pipeline);
}

TEST(pipeline_unwinds_deferred_stacks)
{
    AUTO_RIG r = {0};
    struct profile p;
    struct xp_mapping libc;
    char why[256];
    BEGIN(r, false);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    CHECK_EQ(push_libc(&r, &libc), 0);
    CHECK_EQ(push_own_dump(&r, &libc, 77), 0);
    struct one_word s = sample_of(&r, word_of(&r, (u64)(uintptr_t)pipeline_leaf + 1), XP_CAUSE_PENDING);
    s.s.time = 77;
    s.s.flags = XP_SAMPLE_DUMP;
    fake_push(r.probe, &s, sizeof(s));
    s.s.time = 78; /* this one's dump was lost: it is counted as it came */
    fake_push(r.probe, &s, sizeof(s));
    pipeline_poll(r.pipeline, 1);
    pipeline_stop(r.pipeline);
    AUTO_FREE struct pipeline_report *report = calloc(1, sizeof(*report)); /* the copied stack is to hold all frames */
    CHECK(report);
    pipeline_report(r.pipeline, report);
    CHECK_EQ(report->deferred, 1);
    CHECK_EQ(report->cause[XP_CAUSE_END], 1);
    CHECK_EQ(report->cause[XP_CAUSE_PENDING], 1);
    CHECK_EQ(report->user_samples, 2);
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(pipeline_profile(r.pipeline, &p), 0);
    CHECK_EQ(p.stacks.n, 2);
    const struct prof_stack *whole = &p.stacks.v[p.stacks.v[0].cause != XP_CAUSE_END];
    CHECK_STR(name_at(&p, whole, 0), "push_own_dump");
    CHECK_STR(name_at(&p, whole, 1), "test_pipeline_unwinds_deferred_stacks");
    CHECK(whole->n > 4);
    profile_free(&p);
}

/* ---- What else is handed over ---- */

TEST(pipeline_prepares_tables_before_it_samples)
{
    AUTO_RIG r = {0};
    BEGIN(r, false);
    fake_map(r.probe, &r.text);
    push_file(&r);
    CHECK_EQ(pipeline_prepare(r.pipeline), 0);
    CHECK_EQ(fake_file(r.probe, &r.key).state, XP_FILE_READY);
}

TEST(pipeline_leaves_to_the_worker_what_takes_too_long_to_prepare)
{
    AUTO_RIG r = {0};
    char why[256];
    BEGIN(r, false);
    r.pipeline->config.prepare_ms = 0;
    push_file(&r);
    CHECK_EQ(pipeline_prepare(r.pipeline), 0);
    CHECK_EQ(fake_file(r.probe, &r.key).state, XP_FILE_PENDING);
    openings_settle(r.pipeline->openings, now_ns() + 10 * NS_PER_SEC);
    CHECK_EQ(jobs_waiting(&r.pipeline->jobs), 1);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    POLL_UNTIL(r, fake_file(r.probe, &r.key).state == XP_FILE_READY);
    CHECK_EQ(fake_file(r.probe, &r.key).state, XP_FILE_READY);
}

TEST(pipeline_announces_a_file_again_when_the_queue_is_full)
{
    AUTO_RIG r = {0};
    struct collector_figures f;
    struct pipeline_report report;
    BEGIN(r, false);
    for (size_t i = 0; i < JOBS_MAX; i++)
        CHECK_EQ(jobs_put(&r.pipeline->jobs, job_new(JOB_GAP)), 0);
    push_file(&r);
    pipeline_poll(r.pipeline, 0);
    openings_settle(r.pipeline->openings, now_ns() + 10 * NS_PER_SEC);
    pipeline_poll(r.pipeline, 0);
    CHECK_EQ(fake_forgotten(r.probe), 1);
    collector_figures(r.pipeline->collector, &f);
    CHECK_EQ(f.queue_full, 1);
    pipeline_figures(r.pipeline, &report);
    CHECK_EQ(report.queue_full, 1);
}

TEST(pipeline_keeps_an_interval_when_the_queue_is_full)
{
    AUTO_RIG r = {0};
    char why[256];
    BEGIN(r, true);
    for (size_t i = 0; i < JOBS_MAX; i++)
        CHECK_EQ(jobs_put(&r.pipeline->jobs, job_new(JOB_GAP)), 0);
    push_leaf(&r);
    pipeline_poll(r.pipeline, 0);
    CHECK_EQ(pipeline_rotate(r.pipeline), 0);
    push_leaf(&r);
    pipeline_poll(r.pipeline, 0);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    POLL_UNTIL(r, !jobs_waiting(&r.pipeline->jobs));
    CHECK_EQ(pipeline_rotate(r.pipeline), 0);
    POLL_UNTIL(r, profiles(&r) == 2);
    CHECK_EQ(r.samples, 2);
}

static u64 synth_outcomes(struct rig *r)
{
    struct pipeline_report report;
    u64 sum = 0;
    pipeline_rotate(r->pipeline);
    pipeline_figures(r->pipeline, &report);
    for (int i = 0; i < FILES_SYNTH_COUNT; i++)
        sum += report.synth[i];
    return sum;
}

TEST(pipeline_has_rows_synthesised_where_stacks_stop)
{
    AUTO_RIG r = {0};
    char why[256];
    BEGIN(r, true);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    POLL_UNTIL(r, fake_file(r.probe, &r.key).state == XP_FILE_READY);
    struct one_word s = sample_of(&r, word_of(&r, (u64)(uintptr_t)pipeline_leaf + 1), XP_CAUSE_NO_RULE);
    fake_push(r.probe, &s, sizeof(s));
    fake_push(r.probe, &s, sizeof(s)); /* asked for once */
    POLL_UNTIL(r, synth_outcomes(&r));
    CHECK_EQ(synth_outcomes(&r), 1);
}

TEST(pipeline_names_code_that_a_runtime_made)
{
    AUTO_RIG r = {0};
    struct profile p;
    char why[256], path[64], map[64];
    BEGIN(r, false);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    snprintf(map, sizeof(map), "123450 100 made_by_a_runtime\n");
    AUTO_CLOSE int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && !fs_write_all(fd, map, strlen(map)));
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    struct one_word s = sample_of(&r, 0x123460 | XP_WORD_EXACT, XP_CAUSE_FP_ANON_END);
    s.s.start = proc_start_ticks((u32)getpid()) * (NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
    fake_push(r.probe, &s, sizeof(s));
    pipeline_poll(r.pipeline, 1);
    pipeline_stop(r.pipeline);
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(pipeline_profile(r.pipeline, &p), 0);
    unlink(path);
    CHECK_EQ(p.stacks.n, 1);
    CHECK_STR(name_at(&p, &p.stacks.v[0], 0), "made_by_a_runtime");
    profile_free(&p);
}

TEST(pipeline_counts_malformed_records_and_tells_of_cgroups)
{
    AUTO_RIG r = {0};
    struct pipeline_report report;
    struct xp_cgroup_event e = {.type = XP_RECORD_CGROUP, .made = 1, .id = 9, .path = "/x"};
    u32 unknown = 99;
    BEGIN(r, true);
    struct one_word s = sample_of(&r, 0, XP_CAUSE_END);
    s.s.nuser = 2; /* and there is one */
    fake_push(r.probe, &s, sizeof(s));
    s.s.nuser = 1;
    s.s.cause = XP_CAUSE_COUNT;
    fake_push(r.probe, &s, sizeof(s));
    fake_push(r.probe, &unknown, sizeof(unknown));
    fake_push(r.probe, &e, sizeof(e) - 1);
    fake_push(r.probe, &e, sizeof(e));
    pipeline_poll(r.pipeline, 0);
    pipeline_figures(r.pipeline, &report);
    CHECK_EQ(report.lost_malformed, 4);
    CHECK_EQ(r.cgroups, 1);
}

TEST(pipeline_takes_another_rate)
{
    AUTO_RIG r = {0};
    BEGIN(r, true);
    CHECK_EQ(pipeline_rate(r.pipeline), HZ);
    pipeline_set_rate(r.pipeline, HZ / 4);
    pipeline_poll(r.pipeline, 0);
    CHECK_EQ(fake_rate(r.probe), HZ / 4);
    CHECK_EQ(pipeline_rate(r.pipeline), HZ / 4);
}

/* Of each cause, where most of its stacks stopped. */
TEST(pipeline_reports_who_is_to_blame)
{
    AUTO_RIG r = {0};
    struct pipeline_report report;
    char why[256];
    BEGIN(r, false);
    CHECK_EQ(pipeline_start(r.pipeline, why, sizeof(why)), 0);
    push_file(&r);
    struct one_word file = sample_of(&r, word_of(&r, (u64)(uintptr_t)pipeline_leaf + 1), XP_CAUSE_NO_RULE),
                    lost = sample_of(&r, XP_FILE_WORD(XP_WORD_CFI, 4711, 1), XP_CAUSE_NO_RULE),
                    anon = sample_of(&r, 0x123460 | XP_WORD_EXACT, XP_CAUSE_STACK_READ);
    fake_push(r.probe, &lost, sizeof(lost));
    fake_push(r.probe, &file, sizeof(file));
    fake_push(r.probe, &file, sizeof(file));
    fake_push(r.probe, &anon, sizeof(anon));
    push_leaf(&r);
    pipeline_poll(r.pipeline, 1);
    pipeline_stop(r.pipeline);
    pipeline_report(r.pipeline, &report);
    CHECK_EQ(report.cause[XP_CAUSE_NO_RULE], 3);
    CHECK_STR(report.blame[XP_CAUSE_NO_RULE], "unit");
    CHECK_STR(report.blame[XP_CAUSE_STACK_READ], "[anonymous]");
    CHECK_STR(report.blame[XP_CAUSE_END], "");
    CHECK_STR(loss_slug(XP_LOSS_RING_FULL), "ring-full");
    CHECK_STR(loss_slug(XP_LOSS_COUNT), "out-of-range");
}
