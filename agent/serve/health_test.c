/* What the pages say of a whole agent: its pipeline, discovery, publisher and exports are real, the kernel side and the
 * container runtime are not.
 */
#include "serve/health_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int fetch(void *ctx, struct cri_list *out, char *why, size_t why_len)
{
    bool fails = *(bool *)ctx;
    if (fails)
        snprintf(why, why_len, "the fake fails");
    return fails ? -EIO : 0;
}

static int want(void *pipeline, u64 cgroup, u64 want)
{
    return pipeline_want(pipeline, cgroup, want);
}

static void unwant(void *pipeline, u64 cgroup)
{
    pipeline_unwant(pipeline, cgroup);
}

static void set_rate(void *pipeline, unsigned hz)
{
    pipeline_set_rate(pipeline, hz);
}

struct agent {
    struct health health;
    struct hierarchy hierarchy;
    struct container_source source;
    bool runtime_fails;
};

static int agent_open(struct agent *a, enum discover_kube pods, const struct export_target *targets, size_t ntargets)
{
    char why[256];
    struct pipeline_config pipeline = {
        .aggregate_bytes = 1 << 20,
        .probe = {.table_bytes = 1 << 20, .events = {{.hz = 19, .time = true}}, .nevents = 1, .user = true},
        .events = {event_kind_find("cpu")},
    };
    struct export_config exports = {.targets = targets, .ntargets = ntargets};
    a->health.node = "node-1";
    a->health.looped_ns = now_ns();
    snprintf(a->hierarchy.mount, sizeof(a->hierarchy.mount), "/nowhere");
    a->source = (struct container_source){.ctx = &a->runtime_fails, .fetch = fetch};
    int rc = pipeline_new(&a->health.pipeline, &pipeline, why, sizeof(why));
    if (!rc)
        rc = exports_new(&a->health.exports, &exports, why, sizeof(why));
    if (!rc)
        rc = publisher_new(&a->health.publisher, &(struct publisher_config){.exports = a->health.exports});
    struct discover_config discover = {
        .sampler = {.ctx = a->health.pipeline, .want = want, .unwant = unwant, .set_rate = set_rate},
        .publisher = a->health.publisher,
        .hierarchy = &a->hierarchy,
        .containers = {.hierarchy = a->hierarchy, .source = &a->source},
        .source = pods,
        .kube = {.url = "http://127.0.0.1:1", .node = "node-1"}};
    return rc ? rc : discover_new(&a->health.discover, &discover, &(struct discover_rules){.rate = 19}, why, 256);
}

static int agent_run(struct agent *a)
{
    char why[256];
    return discover_start(a->health.discover, why, sizeof(why));
}

static void agent_close(struct agent *a)
{
    discover_free(&a->health.discover);
    publisher_free(&a->health.publisher);
    exports_free(&a->health.exports);
    pipeline_free(&a->health.pipeline);
}
#define AUTO_AGENT CLEANUP(agent_close) struct agent

/* The mailbox of a discovery whose thread does not run takes no more: nobody waits for an answer. */
static void fill_mailbox(struct agent *a)
{
    for (int i = 0; i < 20000; i++)
        discover_stranger(a->health.discover, 9, 1);
}

static bool is_ready(struct agent *a, struct buf *why)
{
    buf_free(why);
    bool ready = health_ready(&a->health, why);
    buf_char(why, 0);
    return ready;
}

static bool does_export(struct agent *a, struct buf *why)
{
    buf_free(why);
    bool exports = health_exports(&a->health, why);
    buf_char(why, 0);
    return exports;
}

#define WAIT(condition)                                                               \
    for (u64 until_ = now_ns() + 10 * NS_PER_SEC; !(condition) && now_ns() < until_;) \
    usleep(2000)

TEST(health_of_a_collector_that_comes_round)
{
    AUTO_AGENT a = {.runtime_fails = false};
    AUTO_BUF struct buf why = {0}, stuck = {0};
    CHECK_EQ(agent_open(&a, DISCOVER_NO_KUBE, NULL, 0), 0);
    CHECK(health_healthy(&a.health, &why));
    CHECK(why.len == 6 && !memcmp(why.data, "alive\n", 6));
    a.health.looped_ns -= 60 * NS_PER_SEC;
    CHECK(!health_healthy(&a.health, &stuck));
    buf_char(&stuck, 0);
    CHECK(!strncmp(stuck.data, "the collector thread has been stuck for 6", 41)); /* s; a busy machine takes more */
    buf_free(&why);
    CHECK(!health_ready(&a.health, &why)); /* and nobody else is asked */
    CHECK(why.len && !memcmp(why.data, "the collector", 13));
}

/* A worker that is slow makes profiles late; only one that hangs is a reason for a restart. */
TEST(health_of_a_worker_that_hangs)
{
    AUTO_BUF struct buf why = {0};
    struct worker_lag lag = {.busy_ns = 59 * NS_PER_SEC, .late_ns = 59 * NS_PER_SEC};
    CHECK(health_worker_lives(&lag, &why) && health_worker_keeps_up(&lag, &why));
    CHECK_EQ(why.len, 0);
    lag.late_ns = 60 * NS_PER_SEC;
    CHECK(health_worker_lives(&lag, &why) && !health_worker_keeps_up(&lag, &why));
    lag.busy_ns = 600 * NS_PER_SEC;
    CHECK(!health_worker_lives(&lag, &why));
    buf_char(&why, 0);
    CHECK_STR(why.data, "profiles are 60 s late\nthe worker thread has been stuck for 600 s\n");
}

TEST(health_tells_export_apart_from_readiness)
{
    const struct export_target bad = {.kind = EXPORT_PYROSCOPE, .name = "bad", .url = "http://127.0.0.1:1"},
                               good = {.kind = EXPORT_PYROSCOPE, .name = "good", .url = "http://127.0.0.1:1"};
    AUTO_AGENT a = {.runtime_fails = false};
    AUTO_BUF struct buf why = {0};
    struct export_stats s = {0};
    CHECK_EQ(agent_open(&a, DISCOVER_NO_KUBE, NULL, 0), 0);
    CHECK_EQ(agent_run(&a), 0);
    CHECK(!does_export(&a, &why));
    CHECK_STR(why.data, "no exporter is configured\n");
    CHECK(is_ready(&a, &why)); /* nothing that a restart or another node would help */
    CHECK_STR(why.data, "ready\n");
    struct export_config one = {.targets = &bad, .ntargets = 1};
    char text[256];
    CHECK_EQ(exports_reconfigure(a.health.exports, &one, text, sizeof(text)), 0);
    CHECK(does_export(&a, &why)); /* nothing is known against it */
    CHECK_STR(why.data, "profiles are exported\n");
    struct export_label labels[] = {{"__name__", "x"}, {"service_name", "x"}};
    struct export_item item = {
        .labels = labels, .nlabels = 2, .type = "cpu", .time_ns = clock_ns(CLOCK_REALTIME), .pprof = "", .len = 0};
    CHECK_EQ(exports_put(a.health.exports, &item), 0);
    WAIT(exports_stats(a.health.exports, 0, &s) && s.sick);
    CHECK(is_ready(&a, &why));
    CHECK(!does_export(&a, &why));
    CHECK(!strncmp(why.data, "no exporter gets through: ", 26) && strlen(why.data) > 28);
    struct export_target both[] = {good, bad};
    struct export_config two = {.targets = both, .ntargets = 2};
    CHECK_EQ(exports_reconfigure(a.health.exports, &two, text, sizeof(text)), 0);
    CHECK(does_export(&a, &why)); /* the other one works, as far as is known */
}

TEST(health_is_not_ready_before_pods_are_known)
{
    AUTO_AGENT runtime = {.runtime_fails = true}, kube = {.runtime_fails = false};
    AUTO_BUF struct buf why = {0};
    CHECK_EQ(agent_open(&runtime, DISCOVER_BY_CRI, NULL, 0), 0);
    CHECK_EQ(agent_run(&runtime), 0);
    WAIT((is_ready(&runtime, &why), strstr(why.data, "fake")));
    CHECK_STR(why.data, "the pods of this node are not known yet: the fake fails\n");
    CHECK(!is_ready(&runtime, &why));
    CHECK_EQ(agent_open(&kube, DISCOVER_BY_KUBE, NULL, 0), 0);
    CHECK_EQ(agent_run(&kube), 0);
    CHECK(!is_ready(&kube, &why));
    CHECK_STR(why.data, "the pods of this node are not known yet: the API server or kubelet has not listed them yet\n");
}

/* Containers that no pod owns are profiled without their names, if need be. */
TEST(health_is_ready_without_a_runtime_that_pods_do_not_need)
{
    const struct export_target target = {.kind = EXPORT_PYROSCOPE, .name = "t", .url = "http://127.0.0.1:1"};
    AUTO_AGENT a = {.runtime_fails = true};
    AUTO_BUF struct buf why = {0};
    CHECK_EQ(agent_open(&a, DISCOVER_NO_KUBE, &target, 1), 0);
    CHECK_EQ(agent_run(&a), 0);
    WAIT((is_ready(&a, &why), strstr(why.data, "fake")));
    CHECK_STR(why.data, "ready; container runtime: the fake fails\n");
    CHECK(is_ready(&a, &why));
}

TEST(health_when_the_discovery_does_not_respond)
{
    AUTO_AGENT a = {.runtime_fails = true};
    AUTO_BUF struct buf why = {0}, json = {0}, page = {0};
    CHECK_EQ(agent_open(&a, DISCOVER_NO_KUBE, NULL, 0), 0);
    fill_mailbox(&a);
    CHECK(!is_ready(&a, &why));
    CHECK_STR(why.data, "the discovery thread does not respond\n");
    CHECK(!health_targets(&a.health, &json));
    CHECK(json.len == 5 && !memcmp(json.data, "null\n", 5));
    health_metrics(&a.health, false, &page);
    buf_char(&page, 0);
    CHECK(strstr(page.data, "\nxprof_profiles_total 0\n") && !strstr(page.data, "xprof_pods"));
}

/* ---- Metrics ---- */

static double seconds_of(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

/* Takes some CPU time of this thread, in the kernel and here: enough for a clock that ticks a hundred times a second.
 */
static double burn(void)
{
    static const double enough = 0.05;
    AUTO_CLOSE int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    struct rusage u = {0};
    char page[4096];
    while ((double)u.ru_utime.tv_usec / 1e6 + (double)u.ru_utime.tv_sec < enough ||
           (double)u.ru_stime.tv_usec / 1e6 + (double)u.ru_stime.tv_sec < enough)
        if (read(fd, page, sizeof(page)) < 0 || getrusage(RUSAGE_THREAD, &u))
            return 0;
    return seconds_of(&u);
}

struct library_thread { /* as libmicrohttpd starts them */
    const char *name;
    pthread_barrier_t *burnt, *over;
    double seconds;
};

static void *library_run(void *arg)
{
    struct library_thread *t = arg;
    pthread_setname_np(pthread_self(), t->name);
    t->seconds = burn();
    pthread_barrier_wait(t->burnt);
    pthread_barrier_wait(t->over);
    return NULL;
}

/* The CPU seconds of a stage; -1: there is none, or more than one. */
static double stage(const struct buf *page, const char *name)
{
    char text[80];
    snprintf(text, sizeof(text), "\nxprof_cpu_seconds_total{stage=\"%s\"} ", name);
    const char *at = strstr(page->data, text);
    return !at || strstr(at + 1, text) ? -1 : strtod(at + strlen(text), NULL);
}

TEST(health_metrics_tell_cpu_time_by_what_threads_do)
{
    AUTO_AGENT a = {.health = {.rate = 19}};
    AUTO_BUF struct buf page = {0};
    pthread_barrier_t burnt, over;
    pthread_t ids[2];
    CHECK_EQ(agent_open(&a, DISCOVER_NO_KUBE, NULL, 0), 0);
    CHECK_EQ(agent_run(&a), 0);
    CHECK(!pthread_barrier_init(&burnt, NULL, 3) && !pthread_barrier_init(&over, NULL, 3));
    struct library_thread threads[] = {{"MHD-one", &burnt, &over, 0}, {"MHD-two", &burnt, &over, 0}};
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&ids[i], NULL, library_run, &threads[i]), 0);
    pthread_barrier_wait(&burnt);
    double own = burn();
    health_metrics(&a.health, false, &page);
    pthread_barrier_wait(&over);
    for (int i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&burnt);
    pthread_barrier_destroy(&over);
    buf_char(&page, 0);
    struct rusage now;
    getrusage(RUSAGE_THREAD, &now);
    CHECK(stage(&page, "main") > own - 0.05 && stage(&page, "main") <= seconds_of(&now));
    double both = threads[0].seconds + threads[1].seconds;
    CHECK(stage(&page, "server") > both - 0.08 && stage(&page, "server") < both + 0.08);
    CHECK(stage(&page, "discover") >= 0 && stage(&page, "parser") >= 0);
    CHECK_EQ(stage(&page, "MHD-one"), -1);
}

TEST(health_metrics_of_a_whole_agent)
{
    const struct export_target targets[] = {{.kind = EXPORT_PYROSCOPE, .name = "a", .url = "http://127.0.0.1:1"},
                                            {.kind = EXPORT_PYROSCOPE, .name = "b", .url = "http://127.0.0.1:1"}};
    AUTO_AGENT a = {.health = {.rate = 19, .throttled = 3, .reloads = 5, .reload_errors = 7}};
    AUTO_BUF struct buf page = {0}, json = {0};
    CHECK_EQ(agent_open(&a, DISCOVER_NO_KUBE, targets, 2), 0);
    CHECK_EQ(agent_run(&a), 0);
    struct xp_cgroup_event e = {.type = XP_RECORD_CGROUP, .made = 1, .id = 5, .path = "/system.slice/x.service"};
    discover_cgroup(a.health.discover, &e);
    CHECK_EQ(publisher_set_rules(a.health.publisher, NULL, 0), 0);
    health_metrics(&a.health, true, &page);
    buf_char(&page, 0);
    CHECK(strstr(page.data, "node=\"node-1\"} 1\n"));
    CHECK(strstr(page.data, "\nxprof_sampling_rate_hertz 19\n"));
    CHECK(strstr(page.data, "\nxprof_throttles_total 3\n"));
    CHECK(strstr(page.data, "\nxprof_config_reloads_total{outcome=\"ok\"} 5\n"));
    CHECK(strstr(page.data, "\nxprof_config_reloads_total{outcome=\"error\"} 7\n"));
    CHECK(strstr(page.data, "\nxprof_samples_total 0\n"));
    CHECK(strstr(page.data, "\nxprof_profiles_total 0\n"));
    CHECK(strstr(page.data, "\nxprof_export_up{exporter=\"a\"} 1\nxprof_export_up{exporter=\"b\"} 1\n"));
    CHECK(strstr(page.data, "\nxprof_spool_profiles_total 0\n"));
    CHECK(strstr(page.data, "\nxprof_services 1\n"));
    CHECK(strstr(page.data, "\n# EOF\n"));
    CHECK(health_targets(&a.health, &json));
    buf_char(&json, 0);
    CHECK(json.data[0] == '[' && strstr(json.data, "x.service"));
}
