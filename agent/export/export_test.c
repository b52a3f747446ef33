#include "export/export.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/test.h"
#include "export/fixture_test.h"
#include "net/http_server_test.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A server that knows which items it got (their pod is "item-N.") and answers as told. */
struct fake {
    struct test_server *server;
    int status;      /* of everything; 200 */
    int bad, answer; /* that item is always answered so */
    const char *token;
    bool slow; /* never answers */
    unsigned got[64], calls, order[64], norder;
};

static int item_of(const struct test_request *r)
{
    const char *at = memmem(r->body, r->body_len, "item-", 5);
    return at ? atoi(at + 5) : -1;
}

static bool is_let_in(const struct fake *f, const struct test_request *r)
{
    char line[64];
    const char *token = __atomic_load_n(&f->token, __ATOMIC_SEQ_CST);
    snprintf(line, sizeof(line), "Authorization: Bearer %s\r\n", token ? token : "");
    return !token || test_has_header(r, line);
}

static bool fake_answer(void *ctx, const struct test_request *r)
{
    static const char error[] = "{\"code\":\"invalid_argument\",\"message\":\"no \\u001b[31mgood\"}";
    struct fake *f = ctx;
    int item = item_of(r), status = __atomic_load_n(&f->status, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&f->calls, 1, __ATOMIC_SEQ_CST);
    while (f->slow && !__atomic_load_n(r->stopping, __ATOMIC_RELAXED))
        usleep(1000);
    if (status == 200 && f->answer && item == f->bad)
        status = f->answer;
    if (status == 200 && !is_let_in(f, r))
        status = 401;
    if (status != 200) {
        test_reply(r->fd, status, "Content-Type: application/json\r\n", error, strlen(error));
        return true;
    }
    if (item >= 0 && item < 64) {
        __atomic_fetch_add(&f->got[item], 1, __ATOMIC_SEQ_CST);
        f->order[__atomic_fetch_add(&f->norder, 1, __ATOMIC_SEQ_CST) % 64] = (unsigned)item;
    }
    test_reply(r->fd, 200, "Content-Type: application/proto\r\n", "", 0);
    return true;
}

struct rig {
    struct fake fake;
    struct test_folder folder;
    struct exports *e;
    struct export_target target;
    struct export_config config;
    char spool[96], token[96], why[256];
};

static void rig_free(struct rig *r)
{
    exports_free(&r->e);
    test_server_free(&r->fake.server);
    test_folder_free(&r->folder);
}
#define AUTO_RIG __attribute__((cleanup(rig_free)))

static int rig_new(struct rig *r)
{
    r->fake.status = r->fake.status ? r->fake.status : 200;
    if (test_folder_new(&r->folder) || test_server_new(&r->fake.server, fake_answer, &r->fake))
        return -1;
    snprintf(r->spool, sizeof(r->spool), "%s/spool", r->folder.path);
    snprintf(r->token, sizeof(r->token), "%s/token", r->folder.path);
    r->target.name = "main";
    r->target.url = test_server_url(r->fake.server);
    r->target.kind = EXPORT_PYROSCOPE;
    r->config.targets = &r->target;
    r->config.ntargets = 1;
    r->config.spool_dir = r->spool;
    return 0;
}

static int rig_start(struct rig *r)
{
    return exports_new(&r->e, &r->config, r->why, sizeof(r->why));
}

static int put_item(struct rig *r, int n)
{
    AUTO_BUF struct buf pprof = {0};
    char pod[32];
    snprintf(pod, sizeof(pod), "item-%d.", n);
    struct export_label labels[] = {{"__name__", "process_cpu"}, {"pod", pod}, {"service_name", "s"}};
    test_pprof(&pprof, "leaf", 7);
    struct export_item item = test_item(&pprof);
    item.labels = labels;
    item.nlabels = 3;
    return exports_put(r->e, &item);
}

static int put_items(struct rig *r, int from, int to)
{
    int rc = 0;
    for (int i = from; !rc && i < to; i++)
        rc = put_item(r, i);
    return rc;
}

static struct export_stats stats_of(struct rig *r)
{
    struct export_stats s = {0};
    exports_stats(r->e, 0, &s);
    return s;
}

/* Waits until a counter of the target's has that value; a long time, but not for ever. */
static bool await_count(struct rig *r, size_t offset, u64 want)
{
    for (int i = 0; i < 3000; i++) {
        struct export_stats s = stats_of(r);
        if (*(u64 *)((char *)&s + offset) >= want)
            return true;
        usleep(10000);
    }
    return false;
}
#define AWAIT(rig, field, want) await_count(rig, offsetof(struct export_stats, field), want)

static bool got_each_once(const struct rig *r, int n, int but)
{
    for (int i = 0; i < n; i++)
        if (r->fake.got[i] != (i != but))
            return false;
    return true;
}

TEST(export_sends_everything_once_oldest_first)
{
    AUTO_RIG struct rig r = {0};
    CHECK_EQ(rig_new(&r), 0);
    r.target.parallel = 1;
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 20), 0);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK(got_each_once(&r, 20, -1));
    for (unsigned i = 0; i < 20; i++)
        CHECK_EQ(r.fake.order[i], i);
    struct export_stats s = stats_of(&r);
    CHECK_EQ(s.sent, 20);
    CHECK_EQ(s.pending, 0);
    CHECK_EQ(s.oldest_ns, 0);
    CHECK(s.sent_bytes > 20 * 100);
    CHECK(s.call_seconds > 0);
    CHECK(s.last_success_ns > 0);
    CHECK_EQ(test_folder_count(&r.folder, ".seg"), 1);
}

TEST(export_needs_no_disk)
{
    AUTO_RIG struct rig r = {0};
    CHECK_EQ(rig_new(&r), 0);
    r.config.spool_dir = NULL;
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 5), 0);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK(got_each_once(&r, 5, -1));
}

TEST(export_drops_what_is_refused_and_says_why)
{
    AUTO_RIG struct rig r = {.fake = {.bad = 1, .answer = 400}};
    char line[512];
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 3), 0);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK(got_each_once(&r, 3, 1));
    CHECK_EQ(stats_of(&r).dropped[EXPORT_INVALID], 1);
    CHECK(stats_of(&r).dropped_bytes[EXPORT_INVALID] > 0);
    CHECK(exports_news(r.e, line, sizeof(line)));
    CHECK_STR(line, "main: invalid: 400 invalid_argument: no ?[31mgood");
    CHECK(!exports_news(r.e, line, sizeof(line)));
    r.fake.bad = 3;
    CHECK_EQ(put_item(&r, 3), 0);
    CHECK(AWAIT(&r, dropped[EXPORT_INVALID], 2));
    CHECK(!exports_news(r.e, line, sizeof(line))); /* told once */
}

/* The server answers garbage with 500: what fails while others pass is at fault. */
TEST(export_finds_the_profile_that_fails)
{
    AUTO_RIG struct rig r = {.fake = {.bad = 0, .answer = 500}};
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    int n = 0;
    while (n < 60 && !stats_of(&r).dropped[EXPORT_SERVER_ERROR]) {
        CHECK_EQ(put_item(&r, n++), 0);
        usleep(200000);
    }
    CHECK_EQ(stats_of(&r).dropped[EXPORT_SERVER_ERROR], 1);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK(got_each_once(&r, n, 0));
    CHECK(stats_of(&r).retried >= 2);
}

TEST(export_an_outage_makes_nobody_guilty)
{
    AUTO_RIG struct rig r = {.fake = {.status = 500}};
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_item(&r, 0), 0);
    CHECK(AWAIT(&r, retried, 3)); /* the same one, again and again */
    CHECK_EQ(put_items(&r, 1, 3), 0);
    CHECK(stats_of(&r).sick);
    CHECK_EQ(stats_of(&r).pending, 3);
    CHECK(stats_of(&r).oldest_ns > 0);
    __atomic_store_n(&r.fake.status, 200, __ATOMIC_SEQ_CST);
    CHECK_EQ(exports_flush(r.e, 30000), 0);
    CHECK(got_each_once(&r, 3, -1));
    CHECK(!stats_of(&r).sick);
}

TEST(export_rate_limit_passes)
{
    AUTO_RIG struct rig r = {.fake = {.status = 429}};
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 3), 0);
    CHECK(AWAIT(&r, failed[EXPORT_RATE_LIMITED], 2));
    __atomic_store_n(&r.fake.status, 200, __ATOMIC_SEQ_CST);
    CHECK_EQ(exports_flush(r.e, 30000), 0);
    CHECK(got_each_once(&r, 3, -1));
    char line[512];
    CHECK(exports_news(r.e, line, sizeof(line)));
    CHECK(!exports_news(r.e, line, sizeof(line)));
    u64 before = stats_of(&r).failed[EXPORT_RATE_LIMITED];
    __atomic_store_n(&r.fake.status, 429, __ATOMIC_SEQ_CST);
    CHECK_EQ(put_item(&r, 3), 0);
    CHECK(AWAIT(&r, failed[EXPORT_RATE_LIMITED], before + 1));
    CHECK(exports_news(r.e, line, sizeof(line))); /* it was well in between: this is news */
}

TEST(export_keeps_everything_until_the_token_is_right)
{
    AUTO_RIG struct rig r = {.fake = {.token = "new"}};
    char line[512];
    CHECK_EQ(rig_new(&r), 0);
    r.target.bearer_file = r.token;
    CHECK_EQ(fs_replace_file(r.token, "old\n", 4, 0600), 0);
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 2), 0);
    CHECK(AWAIT(&r, failed[EXPORT_UNAUTHORIZED], 1));
    CHECK_EQ(stats_of(&r).pending, 2);
    CHECK(exports_news(r.e, line, sizeof(line)));
    CHECK(strncmp(line, "main: unauthorized: 401 ", 24) == 0);
    CHECK_EQ(fs_replace_file(r.token, "new\n", 4, 0600), 0);
    CHECK_EQ(exports_flush(r.e, 30000), 0); /* does not wait for the back-off of 5 s */
    CHECK(got_each_once(&r, 2, -1));
}

TEST(export_missing_credentials_are_no_loss)
{
    AUTO_RIG struct rig r = {0};
    CHECK_EQ(rig_new(&r), 0);
    r.target.user = "me";
    r.target.password_file = r.token;
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 1), 0);
    CHECK(AWAIT(&r, failed[EXPORT_UNAUTHORIZED], 1));
    CHECK_EQ(r.fake.calls, 0);
    CHECK_EQ(fs_replace_file(r.token, "pw", 2, 0600), 0);
    CHECK_EQ(exports_flush(r.e, 30000), 0);
}

TEST(export_skips_what_is_too_old)
{
    AUTO_RIG struct rig r = {0};
    AUTO_BUF struct buf pprof = {0};
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    test_pprof(&pprof, "leaf", 7);
    struct export_item item = test_item(&pprof);
    u64 now = item.time_ns;
    item.time_ns = now - 3601 * NS_PER_SEC;
    CHECK_EQ(exports_put(r.e, &item), 0);
    item.time_ns = now + 3601 * NS_PER_SEC; /* the clock was set back: not old */
    CHECK_EQ(exports_put(r.e, &item), 0);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK_EQ(stats_of(&r).dropped[EXPORT_TOO_OLD], 1);
    CHECK_EQ(r.fake.calls, 1);
}

TEST(export_goes_on_where_it_was)
{
    AUTO_RIG struct rig r = {.fake = {.status = 503}};
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 6), 0);
    exports_free(&r.e);
    __atomic_store_n(&r.fake.status, 200, __ATOMIC_SEQ_CST);
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 6, 8), 0);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK(got_each_once(&r, 8, -1));
    exports_free(&r.e);
    unsigned calls = r.fake.calls;
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK_EQ(r.fake.calls, calls); /* nothing is sent twice */
}

TEST(export_two_on_one_spool)
{
    AUTO_RIG struct rig r = {0};
    struct exports *second = NULL;
    char why[256];
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(exports_new(&second, &r.config, why, sizeof(why)), -EBUSY);
    CHECK(strstr(why, "another agent"));
    CHECK(!second);
}

TEST(export_stops_while_a_server_is_silent)
{
    AUTO_RIG struct rig r = {.fake = {.slow = true}};
    CHECK_EQ(rig_new(&r), 0);
    r.target.timeout_ms = 3600000;
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 1), 0);
    while (!__atomic_load_n(&r.fake.calls, __ATOMIC_SEQ_CST))
        usleep(1000);
    CHECK_EQ(exports_flush(r.e, 50), -ETIMEDOUT);
    exports_free(&r.e); /* returns */
    CHECK(!r.e);
}

TEST(export_reload_keeps_place_and_counters)
{
    AUTO_RIG struct rig r = {0};
    struct export_stats s;
    CHECK_EQ(rig_new(&r), 0);
    struct export_target two[2] = {r.target, r.target};
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 3), 0);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    __atomic_store_n(&r.fake.status, 503, __ATOMIC_SEQ_CST);
    CHECK_EQ(put_items(&r, 3, 5), 0);
    two[1].name = "other";
    r.config.targets = two;
    r.config.ntargets = 2;
    CHECK_EQ(exports_reconfigure(r.e, &r.config, r.why, sizeof(r.why)), 0);
    CHECK_EQ(stats_of(&r).sent, 3);
    CHECK_EQ(stats_of(&r).pending, 2);
    CHECK(exports_stats(r.e, 1, &s));
    CHECK_STR(s.name, "other");
    CHECK_EQ(s.pending, 0); /* begins with the next profile */
    __atomic_store_n(&r.fake.status, 200, __ATOMIC_SEQ_CST);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK(got_each_once(&r, 5, -1));
    CHECK_EQ(stats_of(&r).sent, 5);
}

TEST(export_bad_reload_changes_nothing)
{
    AUTO_RIG struct rig r = {0};
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    struct export_target bad = r.target;
    bad.ca_file = "/nonexistent/ca";
    r.config.targets = &bad;
    CHECK_EQ(exports_reconfigure(r.e, &r.config, r.why, sizeof(r.why)), -ENOENT);
    CHECK_EQ(put_items(&r, 0, 1), 0);
    CHECK_EQ(exports_flush(r.e, 20000), 0);
    CHECK_EQ(stats_of(&r).sent, 1);
}

TEST(export_misconfigured_targets)
{
    AUTO_RIG struct rig r = {0};
    CHECK_EQ(rig_new(&r), 0);
    const struct export_target good = r.target;
    r.target.name = "a/b";
    CHECK_EQ(rig_start(&r), -EINVAL);
    r.target = good;
    r.target.url = "ftp://nowhere";
    CHECK_EQ(rig_start(&r), -EINVAL);
    r.target = good;
    r.target.cert_file = "/dev/null";
    CHECK_EQ(rig_start(&r), -EINVAL);
    struct export_target two[2] = {good, good};
    r.config.targets = two;
    r.config.ntargets = 2;
    CHECK_EQ(rig_start(&r), -EINVAL);
    CHECK_STR(r.why, "two targets have the name main");
}

TEST(export_paces_what_an_outage_left)
{
    AUTO_RIG struct rig r = {0};
    CHECK_EQ(rig_new(&r), 0);
    r.config.replay_bytes_per_s = 200; /* a profile has about 300 bytes; two seconds' worth are free */
    r.target.parallel = 1;
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 20), 0);
    CHECK(AWAIT(&r, sent, 2));
    CHECK(stats_of(&r).pending > 10);
    CHECK_EQ(exports_flush(r.e, 20000), 0); /* is not paced */
}

/* While nothing gets through, what waits and for how long is told; then that it got through, and what it cost. */
TEST(export_says_what_waits_and_what_calls_cost)
{
    AUTO_RIG struct rig r = {.fake = {.status = 503}};
    struct export_spool_stats spool;
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 3), 0);
    CHECK(AWAIT(&r, failed[EXPORT_SERVER_ERROR], 1));
    usleep(5000);
    struct export_stats before = stats_of(&r);
    CHECK(before.pending == 3 && before.sick && !before.last_success_ns && !before.sent_bytes);
    CHECK(before.oldest_ns >= 5000000 && before.oldest_ns < 60 * NS_PER_SEC);
    CHECK(strstr(before.error, "503"));
    __atomic_store_n(&r.fake.status, 200, __ATOMIC_SEQ_CST);
    CHECK_EQ(exports_flush(r.e, 30000), 0);
    struct export_stats after = stats_of(&r);
    CHECK(after.pending == 0 && after.oldest_ns == 0 && !after.sick);
    CHECK(after.last_success_ns && clock_ns(CLOCK_REALTIME) - after.last_success_ns < 60 * NS_PER_SEC);
    CHECK(after.sent == 3 && after.sent_bytes > before.sent_bytes && after.calls >= 4);
    CHECK(after.call_seconds > 0 && after.call_cpu_seconds > 0);
    exports_spool_stats(r.e, &spool);
    CHECK(spool.put == 3 && spool.put_bytes > 0 && spool.segments >= 1 && spool.disk_bytes >= spool.put_bytes);
    CHECK(!spool.refused && !spool.corrupt && !spool.disk_errors && !spool.memory_bytes);
    CHECK_STR(spool.error, "");
}

/* More than the spool holds, for a server that takes nothing: the oldest go, are counted, and it is said once. */
TEST(export_counts_what_a_full_spool_drops)
{
    AUTO_RIG struct rig r = {.fake = {.status = 503}};
    char line[512];
    bool told = false;
    CHECK_EQ(rig_new(&r), 0);
    r.config.spool_bytes = 5 * FS_BLOCK;
    CHECK_EQ(rig_start(&r), 0);
    int n = 0;
    while (n < 2000 && !stats_of(&r).dropped[EXPORT_SPOOL_FULL])
        CHECK_EQ(put_item(&r, n++ % 64), 0);
    struct export_stats s = stats_of(&r);
    CHECK(s.dropped[EXPORT_SPOOL_FULL] > 0);
    CHECK(s.dropped_bytes[EXPORT_SPOOL_FULL] > s.dropped[EXPORT_SPOOL_FULL]);
    CHECK_EQ(s.pending + s.dropped[EXPORT_SPOOL_FULL], n);
    for (int i = 0; i < 4 && exports_news(r.e, line, sizeof(line)); i++)
        told |= strstr(line, "the spool is full") != NULL;
    CHECK(told);
}

/* What is too large for the spool is refused, which whoever put it hears, and counted. */
TEST(export_refuses_what_is_too_large)
{
    AUTO_RIG struct rig r = {0};
    struct export_spool_stats spool;
    AUTO_BUF struct buf pprof = {0};
    CHECK_EQ(rig_new(&r), 0);
    CHECK_EQ(rig_start(&r), 0);
    test_pprof(&pprof, "leaf", 7);
    struct export_item item = test_item(&pprof);
    item.len = EXPORT_MAX_PPROF + 1;
    CHECK_EQ(exports_put(r.e, &item), -E2BIG);
    exports_spool_stats(r.e, &spool);
    CHECK(spool.refused == 1 && spool.put == 0);
}

/* Another machine's files need not be here; everything else is as wrong as at a start. Nothing is written. */
TEST(export_check_starts_nothing)
{
    AUTO_RIG struct rig r = {0};
    CHECK_EQ(rig_new(&r), 0);
    r.target.ca_file = "/nowhere/ca";
    CHECK_EQ(rig_start(&r), -ENOENT);
    CHECK_EQ(exports_check(&r.config, r.why, sizeof(r.why)), 0);
    CHECK(access(r.spool, F_OK) != 0);
    r.target.url = "ftp://nowhere";
    CHECK_EQ(exports_check(&r.config, r.why, sizeof(r.why)), -EINVAL);
    CHECK(strstr(r.why, "main"));
}

/* What waits for a target that goes is forgotten, so that it holds no room and does not come back with the name. */
TEST(export_reload_forgets_who_goes)
{
    AUTO_RIG struct rig r = {.fake = {.status = 503}};
    CHECK_EQ(rig_new(&r), 0);
    struct export_target other = r.target;
    struct export_stats s;
    CHECK_EQ(rig_start(&r), 0);
    CHECK_EQ(put_items(&r, 0, 3), 0);
    CHECK_EQ(stats_of(&r).pending, 3);
    other.name = "other";
    r.config.targets = &other;
    CHECK_EQ(exports_reconfigure(r.e, &r.config, r.why, sizeof(r.why)), 0);
    CHECK(!exports_stats(r.e, 1, &s));
    r.config.targets = &r.target;
    CHECK_EQ(exports_reconfigure(r.e, &r.config, r.why, sizeof(r.why)), 0);
    CHECK_STR(stats_of(&r).name, "main");
    CHECK_EQ(stats_of(&r).pending, 0);
}
