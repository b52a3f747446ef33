/* A target without its threads: which profile is next, and what becomes of it. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "export/fixture_test.h"
#include "export/spool_internal.h"
#include "export/target_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct desk {
    struct test_folder folder;
    struct spool *spool;
    struct target *t;
    struct lane *lane; /* the first one; each profile that is taken at the same time needs one */
};

static void desk_free(struct desk *d)
{
    target_free(&d->t);
    spool_free(&d->spool);
    test_folder_free(&d->folder);
}
#define AUTO_DESK CLEANUP(desk_free) struct desk

static int desk_new(struct desk *d, const char *dir, u64 memory_bytes)
{
    struct spool_config spool = {
        .dir = dir, .max_bytes = 1 << 20, .max_age_ns = 3600 * NS_PER_SEC, .memory_bytes = memory_bytes};
    struct export_target config = {
        .kind = EXPORT_PYROSCOPE, .name = "main", .url = "http://127.0.0.1:1", .parallel = EXPORT_MAX_PARALLEL};
    struct target_limits limits = {.bytes_per_s = 1 << 20};
    char why[256];
    int rc = spool_new(&d->spool, &spool);
    rc = rc ? rc : target_new(&d->t, &config, &limits, why, sizeof(why));
    rc = rc ? rc : spool_reader_open(d->spool, "main", &d->t->reader);
    if (rc)
        return rc;
    d->t->spool = d->spool;
    d->t->tokens_ns = now_ns();
    d->t->tokens = 1 << 21;
    d->lane = d->t->lanes;
    return 0;
}

/* A profile that began so long ago. */
static int put_old(struct desk *d, u64 age_ns)
{
    AUTO_BUF struct buf pprof = {0}, record = {0};
    test_pprof(&pprof, "leaf", 7);
    struct export_item item = test_item(&pprof);
    item.time_ns -= age_ns;
    int rc = record_encode(&item, &record);
    return rc ? rc : spool_put(d->spool, record.data, record.len, clock_ns(CLOCK_REALTIME));
}

static int put(struct desk *d, int n)
{
    int rc = 0;
    while (!rc && n--)
        rc = put_old(d, 0);
    return rc;
}

static struct entry *pick(struct desk *d)
{
    u64 wait;
    d->t->not_before = 0;
    return target_pick(d->lane++, &wait);
}

/* Nothing, for so long. */
static u64 pick_nothing(struct desk *d)
{
    u64 wait = 0;
    return target_pick(d->lane, &wait) ? 0 : wait;
}

static void settle(struct desk *d, struct entry *e, enum verdict_kind kind, enum export_reason reason, bool guilty)
{
    struct verdict v = {.kind = kind, .reason = reason, .guilty = guilty, .bytes = 100, .message = "said the server"};
    target_settle(d->t, e, &v, 300);
}

static void look_at(struct desk *d, struct export_stats *out)
{
    target_show(d->t);
    target_stats(d->t, out);
}

#define DESK                   \
    AUTO_DESK d = {.t = NULL}; \
    CHECK_EQ(desk_new(&d, NULL, 1 << 20), 0)

static void *ask(void *desk)
{
    struct desk *d = desk;
    struct export_stats s;
    struct spool_stats spool;
    char line[512];
    target_stats(d->t, &s);
    spool_stats(d->spool, &spool);
    bool told = target_news(d->t, line, sizeof(line));
    return s.pending == 2 && spool.put == 2 && told && !target_idle(d->t) ? d : NULL;
}

/* While threads of the target and the spool wait for a disk, with their locks, others need not. */
TEST(target_tells_of_itself_while_a_disk_stalls)
{
    DESK;
    pthread_t thread;
    void *answer = NULL;
    struct timespec until;
    CHECK_EQ(put(&d, 2), 0);
    target_tell(d.t, EXPORT_UNREACHABLE, "no");
    target_show(d.t);
    pthread_mutex_lock(&d.t->lock);
    pthread_mutex_lock(&d.spool->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    int rc = pthread_create(&thread, NULL, ask, &d);
    if (!rc)
        rc = pthread_timedjoin_np(thread, &answer, &until);
    pthread_mutex_unlock(&d.spool->lock);
    pthread_mutex_unlock(&d.t->lock);
    CHECK_EQ(rc, 0);
    CHECK(answer == &d);
}

TEST(target_takes_the_oldest_first)
{
    DESK;
    CHECK_EQ(pick_nothing(&d), NS_PER_SEC);
    CHECK_EQ(put(&d, 3), 0);
    struct entry *e[3];
    for (u64 i = 0; i < 3; i++) {
        e[i] = pick(&d);
        CHECK(e[i] && e[i]->seq == i + 1 && e[i]->state == FLYING);
    }
    CHECK_EQ(pick_nothing(&d), NS_PER_SEC);
    struct export_stats s;
    look_at(&d, &s);
    CHECK_EQ(s.pending, 3);
    CHECK(!target_idle(d.t));
    settle(&d, e[1], VERDICT_DONE, 0, false);
    settle(&d, e[0], VERDICT_DONE, 0, false);
    settle(&d, e[2], VERDICT_STOPPED, 0, false); /* nothing is known of it */
    CHECK_EQ(e[2]->state, WAITING);
    look_at(&d, &s);
    CHECK(s.sent == 2 && s.calls == 2 && s.sent_bytes == 200 && s.pending == 1);
    CHECK(pick(&d) == e[2]);
    settle(&d, e[2], VERDICT_DONE, 0, false);
    look_at(&d, &s);
    CHECK(s.sent == 3 && s.pending == 0 && s.oldest_ns == 0 && !s.retried);
    CHECK(target_idle(d.t));
}

TEST(target_says_how_old_the_oldest_is)
{
    DESK;
    struct export_stats s;
    const u64 hour = 3600 * NS_PER_SEC;
    u64 now = clock_ns(CLOCK_REALTIME);
    AUTO_BUF struct buf pprof = {0}, record = {0};
    test_pprof(&pprof, "leaf", 7);
    struct export_item item = test_item(&pprof);
    CHECK_EQ(record_encode(&item, &record), 0);
    CHECK_EQ(spool_put(d.spool, record.data, record.len, now - hour / 2), 0);
    CHECK_EQ(spool_put(d.spool, record.data, record.len, now - hour / 4), 0);
    CHECK_EQ(spool_put(d.spool, record.data, record.len, now + hour / 4), 0); /* the clock was set back */
    look_at(&d, &s);
    CHECK(s.pending == 3 && s.oldest_ns >= hour / 2 && s.oldest_ns < hour);
    struct entry *e = pick(&d), *next = pick(&d);
    CHECK(e && next);
    look_at(&d, &s);
    CHECK(s.pending == 3 && s.oldest_ns >= hour / 2); /* it is under way */
    settle(&d, e, VERDICT_DONE, 0, false);
    look_at(&d, &s);
    CHECK(s.pending == 2 && s.oldest_ns >= hour / 4 && s.oldest_ns < hour / 2);
    settle(&d, next, VERDICT_DONE, 0, false);
    look_at(&d, &s);
    CHECK(s.pending == 1 && s.oldest_ns == 0);
}

/* How long it leaves the server alone; half of it by chance. */
static bool is_paused(const struct desk *d, u64 before, u64 ns)
{
    return d->t->sick && d->t->not_before >= before + ns / 2 && d->t->not_before <= now_ns() + ns;
}

TEST(target_leaves_a_server_that_fails_alone)
{
    DESK;
    CHECK_EQ(put(&d, 2), 0);
    struct entry *e = pick(&d), *other = pick(&d);
    CHECK(e && other);
    u64 before = now_ns();
    settle(&d, e, VERDICT_RETRY, EXPORT_UNREACHABLE, false);
    CHECK(is_paused(&d, before, 500 * MS));
    u64 until = d.t->not_before;
    settle(&d, other, VERDICT_RETRY, EXPORT_UNREACHABLE, false); /* at the same time: one failure */
    CHECK_EQ(d.t->not_before, until);
    u64 wait = pick_nothing(&d);
    CHECK(wait > 0 && wait <= 500 * MS);
    CHECK_EQ(d.t->stats.retried, 2);
    CHECK_EQ(d.t->stats.failed[EXPORT_UNREACHABLE], 2);
    for (u64 pause = 1000 * MS; pause < 300 * NS_PER_SEC; pause *= 2) {
        CHECK(pick(&d) == e);
        CHECK_EQ(pick_nothing(&d), NS_PER_SEC); /* one at a time */
        before = now_ns();
        settle(&d, e, VERDICT_RETRY, EXPORT_UNREACHABLE, false);
        CHECK(is_paused(&d, before, pause));
        d.lane = d.t->lanes;
    }
    for (int i = 0; i < 3; i++) {
        CHECK(pick(&d) == e);
        before = now_ns();
        settle(&d, e, VERDICT_RETRY, EXPORT_UNREACHABLE, false);
        CHECK(is_paused(&d, before, 300 * NS_PER_SEC)); /* the longest one */
        d.lane = d.t->lanes;
    }
    CHECK(pick(&d) == e);
    settle(&d, e, VERDICT_DONE, 0, false);
    CHECK(!d.t->sick && !d.t->not_before && !d.t->failures);
}

TEST(target_waits_longer_when_it_is_told_to)
{
    DESK;
    CHECK_EQ(put(&d, 1), 0);
    struct entry *e = pick(&d);
    CHECK(e);
    u64 before = now_ns();
    settle(&d, e, VERDICT_BLOCKED, EXPORT_UNAUTHORIZED, false);
    CHECK(is_paused(&d, before, 5000 * MS));
    d.lane = d.t->lanes;
    CHECK(pick(&d) == e);
    struct verdict later = {.kind = VERDICT_RETRY, .reason = EXPORT_RATE_LIMITED, .retry_after_ms = 60000};
    before = now_ns();
    target_settle(d.t, e, &later, 300);
    CHECK(d.t->not_before >= before + 60 * NS_PER_SEC && d.t->not_before <= now_ns() + 60 * NS_PER_SEC);
    d.lane = d.t->lanes;
    CHECK(pick(&d) == e);
    later.retry_after_ms = 3600000; /* no server decides that nothing is sent for an hour */
    before = now_ns();
    target_settle(d.t, e, &later, 300);
    CHECK(d.t->not_before >= before + 300 * NS_PER_SEC && d.t->not_before <= now_ns() + 300 * NS_PER_SEC);
    target_flush(d.t, true);
    CHECK_EQ(d.t->not_before, 0);
}

/* The first one fails so many times, with one of others passed in between. */
static int failures_until_dropped(struct desk *d, enum export_reason reason)
{
    int n = 0;
    for (; n < 20 && !d->t->stats.dropped[reason]; n++) {
        d->lane = d->t->lanes;
        struct entry *suspect = NULL, *e;
        while (!suspect && !put(d, 1) && (e = pick(d))) {
            if (e->seq == 1)
                suspect = e;
            else
                settle(d, e, VERDICT_DONE, 0, false);
        }
        if (!suspect)
            return -1;
        settle(d, suspect, VERDICT_RETRY, reason, true);
    }
    return n;
}

TEST(target_drops_what_fails_while_others_pass)
{
    {
        DESK;
        CHECK_EQ(failures_until_dropped(&d, EXPORT_SERVER_ERROR), 4);
        CHECK_EQ(d.t->stats.dropped_bytes[EXPORT_SERVER_ERROR], 300);
        CHECK_EQ(d.t->stats.retried, 3);
    }
    {
        DESK;
        CHECK_EQ(failures_until_dropped(&d, EXPORT_RATE_LIMITED), 9);
    }
}

/* While it is sick, what was not tried yet goes before a suspect; else the oldest goes first. */
TEST(target_tries_others_before_a_suspect)
{
    DESK;
    CHECK_EQ(put(&d, 2), 0);
    struct entry *e = pick(&d);
    CHECK(e);
    settle(&d, e, VERDICT_RETRY, EXPORT_SERVER_ERROR, true);
    struct entry *next = pick(&d);
    CHECK(next && next->seq == 2);
    settle(&d, next, VERDICT_RETRY, EXPORT_UNREACHABLE, false);
    CHECK(pick(&d) == e); /* there is nothing new, and it is the older one */
    settle(&d, e, VERDICT_RETRY, EXPORT_UNREACHABLE, false);
    d.t->sick = false;
    CHECK(pick(&d) == e && pick(&d) == next);
}

TEST(target_drops_what_the_server_refuses)
{
    DESK;
    char line[300];
    CHECK_EQ(put(&d, 3), 0);
    struct entry *e[] = {pick(&d), pick(&d), pick(&d)};
    settle(&d, e[0], VERDICT_RETRY, EXPORT_SERVER_ERROR, false);
    settle(&d, e[1], VERDICT_DROP, EXPORT_TOO_LARGE, false);
    CHECK(e[1]->state == FREE && !d.t->sick); /* it answers */
    CHECK_EQ(d.t->stats.dropped[EXPORT_TOO_LARGE], 1);
    CHECK_EQ(d.t->stats.dropped_bytes[EXPORT_TOO_LARGE], 300);
    CHECK_EQ(d.t->stats.failed[EXPORT_TOO_LARGE], 1);
    struct verdict partly = {.kind = VERDICT_DONE, .rejected = 2, .bytes = 100, .message = "not these"};
    target_settle(d.t, e[2], &partly, 300);
    CHECK_EQ(e[2]->state, FREE);
    CHECK_EQ(d.t->stats.sent, 0);
    CHECK_EQ(d.t->stats.failed[EXPORT_INVALID], 1);
    CHECK_EQ(d.t->stats.dropped[EXPORT_INVALID], 1);
    CHECK_EQ(d.t->stats.dropped_bytes[EXPORT_INVALID], 300);
    CHECK_STR(d.t->stats.error, "invalid: not these");
    int n = 0;
    while (target_news(d.t, line, sizeof(line)))
        n++;
    CHECK_EQ(n, 3); /* one for each reason */
}

TEST(target_tells_each_reason_once_an_outage)
{
    DESK;
    char line[300];
    target_tell(d.t, EXPORT_DISK, "one");
    target_tell(d.t, EXPORT_TIMEOUT, "two");
    target_tell(d.t, EXPORT_DISK, "three");
    CHECK_STR(d.t->stats.error, "disk: three");
    bool disk = false, timeout = false;
    for (int i = 0; i < 2; i++) {
        CHECK(target_news(d.t, line, sizeof(line)));
        disk |= !strcmp(line, "main: disk: one");
        timeout |= !strcmp(line, "main: timeout: two");
    }
    CHECK(disk && timeout && !target_news(d.t, line, sizeof(line)));
    CHECK_EQ(put(&d, 1), 0);
    struct entry *e = pick(&d);
    CHECK(e);
    settle(&d, e, VERDICT_DONE, 0, false); /* it was not sick */
    target_tell(d.t, EXPORT_DISK, "four");
    CHECK(!target_news(d.t, line, sizeof(line)));
    d.t->sick = true;
    CHECK_EQ(put(&d, 1), 0);
    e = pick(&d);
    CHECK(e);
    settle(&d, e, VERDICT_DONE, 0, false);
    target_tell(d.t, EXPORT_DISK, "five");
    CHECK(target_news(d.t, line, sizeof(line)));
    CHECK_STR(line, "main: disk: five");
}

TEST(target_passes_over_what_is_no_profile)
{
    DESK;
    CHECK_EQ(spool_put(d.spool, "garbage", 7, clock_ns(CLOCK_REALTIME)), 0);
    CHECK_EQ(put_old(&d, 3600 * NS_PER_SEC), 0); /* older than Pyroscope takes */
    CHECK_EQ(put_old(&d, 3500 * NS_PER_SEC), 0);
    struct entry *e = pick(&d);
    CHECK(e && e->seq == 3);
    CHECK_EQ(d.t->stats.dropped[EXPORT_CORRUPT], 1);
    CHECK_EQ(d.t->stats.dropped_bytes[EXPORT_CORRUPT], 7);
    CHECK_EQ(d.t->stats.dropped[EXPORT_TOO_OLD], 1);
    CHECK(d.t->stats.dropped_bytes[EXPORT_TOO_OLD] > 100);
    CHECK_STR(d.t->stats.error, "too-old: a profile older than the server accepts was dropped");
}

TEST(target_counts_what_is_damaged_on_disk)
{
    AUTO_DESK d = {.t = NULL};
    char path[128];
    CHECK_EQ(test_folder_new(&d.folder), 0);
    CHECK_EQ(desk_new(&d, d.folder.path, 1 << 20), 0);
    CHECK_EQ(put(&d, 2), 0);
    snprintf(path, sizeof(path), "%s/%016x.seg", d.folder.path, 1);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, "\xff\xff", 2, 16 + 40 + 5) == 2);
    struct entry *e = pick(&d);
    CHECK(e && e->seq == 2);
    CHECK_EQ(d.t->stats.dropped[EXPORT_CORRUPT], 1);
    CHECK(d.t->stats.dropped_bytes[EXPORT_CORRUPT] > 100);
    CHECK_STR(d.t->stats.error, "corrupt: a profile was damaged in the spool");
    settle(&d, e, VERDICT_RETRY, EXPORT_UNREACHABLE, false);
    u64 size = (u64)lseek(fd, 0, SEEK_END);
    CHECK(pwrite(fd, "\xff\xff", 2, (off_t)size - 5) == 2); /* now the one that waits, too */
    CHECK(!pick(&d));
    CHECK_EQ(d.t->stats.dropped[EXPORT_CORRUPT], 2);
}

/* What waits for another try may be pushed out meanwhile: it is counted as what was never read. */
TEST(target_counts_what_is_pushed_out)
{
    AUTO_DESK d = {.t = NULL};
    struct export_stats s;
    CHECK_EQ(desk_new(&d, NULL, 16384), 0);
    CHECK_EQ(put(&d, 1), 0);
    struct entry *e = pick(&d);
    CHECK(e);
    settle(&d, e, VERDICT_RETRY, EXPORT_UNREACHABLE, false);
    CHECK_EQ(put(&d, 99), 0);
    struct entry *next = pick(&d);
    CHECK(next && next->seq > 2);
    look_at(&d, &s);
    CHECK_EQ(s.dropped[EXPORT_SPOOL_FULL] + s.pending, 100);
    CHECK_EQ(s.dropped[EXPORT_SPOOL_FULL], next->seq - 1);
    CHECK(!s.dropped[EXPORT_CORRUPT] && !s.dropped[EXPORT_SPOOL_AGE]);
}

TEST(target_paces_what_it_sends)
{
    DESK;
    d.t->rate = 1000;
    d.t->tokens = 1;
    CHECK_EQ(put(&d, 4), 0);
    struct entry *e = pick(&d); /* larger than what is there: it is paid off later */
    CHECK(e && d.t->tokens < 0);
    s64 debt = -d.t->tokens;
    u64 wait = pick_nothing(&d);
    CHECK(wait > MS && wait <= (u64)(debt + 1) * MS + MS);
    d.t->tokens = -100;
    d.t->tokens_ns = now_ns() - NS_PER_SEC;
    CHECK(pick(&d)); /* 900 are there */
    d.t->tokens_ns = now_ns() - 3600 * NS_PER_SEC;
    CHECK(pick(&d));
    CHECK(d.t->tokens < 2000 && d.t->tokens > 1000); /* no more than two seconds' worth are saved up */
    d.t->tokens = -1000000;
    CHECK(pick_nothing(&d) > 60 * NS_PER_SEC);
    target_flush(d.t, true);
    CHECK(pick(&d));
}
