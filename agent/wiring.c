#include "agent/wiring.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "container/hierarchy.h"
#include "pipeline/governor.h"
#include "serve/health.h"
#include "serve/serve.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>

#define POLL_MS 500 /* whatever cannot wait wakes the ring */

struct agent {
    struct agent_config config;
    struct hierarchy hierarchy;
    struct pipeline *pipeline;
    struct exports *exports;
    struct publisher *publisher;
    struct discover *discover;
    struct serve *serve;
    struct health health;
    struct governor governor;
    int lock; /* the machine's; -1 */
    pthread_t collector;
    bool collects;
    volatile bool stop;
    u64 interval_ns; /* atomic */
};

/* ---- Who tells whom ---- */

static void on_profile(void *ctx, const struct profile *p)
{
    const struct agent *a = ctx;
    publisher_publish(a->publisher, p);
}

static void on_cgroup(void *ctx, const struct xp_cgroup_event *e)
{
    const struct agent *a = ctx;
    if (a->discover)
        discover_cgroup(a->discover, e);
}

static void on_unknown(void *ctx, u64 cgroup, u32 tgid)
{
    const struct agent *a = ctx;
    if (a->discover)
        discover_stranger(a->discover, cgroup, tgid);
}

static int sampler_want(void *pipeline, u64 cgroup, u64 want)
{
    return pipeline_want(pipeline, cgroup, want);
}

static int sampler_set_parts(void *pipeline, u32 row, const struct xp_parts *parts)
{
    return pipeline_set_parts(pipeline, row, parts);
}

static void sampler_unwant(void *pipeline, u64 cgroup)
{
    pipeline_unwant(pipeline, cgroup);
}

static void sampler_set_rate(void *pipeline, unsigned hz)
{
    pipeline_set_rate(pipeline, hz);
}

/* ---- Start ---- */

static int find_hierarchy(struct agent *a, char *why, size_t len)
{
    char root[4096];
    const char *host = a->config.discover.containers.host_root;
    bool elsewhere = host && strcmp(host, "/") != 0;
    snprintf(root, sizeof(root), "%s/sys/fs/cgroup", elsewhere ? host : "");
    int rc = hierarchy_find(&a->hierarchy, elsewhere ? root : NULL);
    if (rc) {
        snprintf(why, len, "no cgroups are mounted at %.400s", root);
        return rc;
    }
    int subsys = a->hierarchy.unified ? -1 : probe_cgroup_subsys(a->hierarchy.controller);
    if (!a->hierarchy.unified && subsys < 0) {
        snprintf(why, len, "this kernel does not know the cgroup controller %s", a->hierarchy.controller);
        return subsys;
    }
    a->config.pipeline.probe.cgroup_subsys = subsys;
    a->config.pipeline.neighbours = true;
    return 0;
}

/* One agent a machine: the root of its cgroups is the same inode in every container, and can be locked by whoever reads
 * it. The lock goes with the process. */
static int lock_machine(struct agent *a, char *why, size_t len)
{
    a->lock = open(a->hierarchy.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!a->config.exclusive || a->lock < 0 || !a->hierarchy.whole || !flock(a->lock, LOCK_EX | LOCK_NB))
        return 0;
    if (errno != EWOULDBLOCK)
        return 0; /* a kernel that cannot lock there: then nobody is refused */
    snprintf(why, len, "another xprof agent runs on this machine (--exclusive=off allows it)");
    return -EBUSY;
}

static int start_publisher(struct agent *a, char *why, size_t len)
{
    struct publisher_config c = a->config.publisher;
    c.exports = a->exports;
    c.unknown = on_unknown;
    c.ctx = a;
    int rc = publisher_new(&a->publisher, &c);
    if (rc)
        snprintf(why, len, "out of memory");
    return rc;
}

static int start_discovery(struct agent *a, const struct discover_rules *rules, char *why, size_t len)
{
    struct discover_config c = a->config.discover;
    c.sampler = (struct discover_sampler){.ctx = a->pipeline,
                                          .want = sampler_want,
                                          .set_parts = sampler_set_parts,
                                          .unwant = sampler_unwant,
                                          .set_rate = sampler_set_rate};
    c.publisher = a->publisher;
    c.hierarchy = &a->hierarchy;
    c.containers.hierarchy = a->hierarchy;
    int rc = discover_new(&a->discover, &c, rules, why, len);
    return rc ? rc : discover_start(a->discover, why, len);
}

static int start_server(struct agent *a, char *why, size_t len)
{
    struct serve_config c = {.address = a->config.listen,
                             .targets_token_file = a->config.targets_token_file,
                             .handlers = {.ctx = &a->health,
                                          .metrics = health_metrics,
                                          .healthy = health_healthy,
                                          .ready = health_ready,
                                          .exports = health_exports,
                                          .targets = health_targets}};
    a->health = (struct health){.pipeline = a->pipeline,
                                .discover = a->discover,
                                .exports = a->exports,
                                .publisher = a->publisher,
                                .node = a->config.node,
                                .looped_ns = now_ns(),
                                .rate = pipeline_rate(a->pipeline)};
    if (!a->config.listen)
        return 0;
    int rc = serve_new(&a->serve, &c, why, len);
    if (!rc)
        log_info("serving /metrics on port %u", serve_port(a->serve));
    return rc;
}

static int start_sampling(struct agent *a, char *why, size_t len)
{
    int rc = find_hierarchy(a, why, len);
    if (!rc)
        rc = lock_machine(a, why, len);
    a->config.pipeline.sink = (struct pipeline_sink){.ctx = a, .profile = on_profile, .cgroup = on_cgroup};
    if (!rc)
        rc = pipeline_new(&a->pipeline, &a->config.pipeline, why, len); /* forks: before any thread */
    if (!rc)
        rc = exports_new(&a->exports, a->config.exports, why, len);
    if (!rc)
        rc = start_publisher(a, why, len);
    return rc ? rc : pipeline_start(a->pipeline, why, len);
}

static void *collect(void *agent)
{
    struct agent *a = agent;
    u64 rotated_ns = now_ns();
    pthread_setname_np(pthread_self(), "collector");
    while (!stop_requested(&a->stop)) {
        pipeline_poll(a->pipeline, POLL_MS);
        u64 now = now_ns();
        __atomic_store_n(&a->health.looped_ns, now, __ATOMIC_RELAXED);
        if (now - rotated_ns < __atomic_load_n(&a->interval_ns, __ATOMIC_RELAXED))
            continue;
        rotated_ns = now;
        pipeline_rotate(a->pipeline);
    }
    return NULL;
}

static int start_collector(struct agent *a, char *why, size_t len)
{
    int rc = pthread_create(&a->collector, NULL, collect, a);
    a->collects = !rc;
    if (rc)
        snprintf(why, len, "cannot start a thread: %s", strerror(rc));
    return -rc;
}

static void stop_collector(struct agent *a)
{
    stop_request(&a->stop);
    if (a->collects)
        pthread_join(a->collector, NULL);
    a->collects = false;
}

static void set_limits(struct agent *a, const struct agent_limits *limits)
{
    __atomic_store_n(&a->interval_ns, limits->interval_ns, __ATOMIC_RELAXED);
    governor_init(&a->governor, governor_limit(limits->max_cpu, sysconf(_SC_NPROCESSORS_ONLN)));
}

/* The rules belong to the discovery once it is there. */
int agent_start(struct agent **out, const struct agent_config *config, const struct discover_rules *rules, char *why,
                size_t len)
{
    struct agent *a = calloc(1, sizeof(*a));
    snprintf(why, len, "out of memory");
    int rc = a ? 0 : -ENOMEM;
    if (!rc) {
        a->config = *config;
        a->lock = -1;
        set_limits(a, &config->limits);
        rc = start_sampling(a, why, len);
    }
    if (rc)
        rules->release(rules->owner);
    else
        rc = start_discovery(a, rules, why, len);
    if (!rc)
        rc = start_server(a, why, len);
    if (!rc)
        rc = start_collector(a, why, len);
    if (rc) {
        agent_stop(&a, 0);
        return rc;
    }
    *out = a;
    return 0;
}

/* ---- Running ---- */

static void log_export_news(struct agent *a)
{
    char line[512];
    while (exports_news(a->exports, line, sizeof(line)))
        log_warn("%s", line);
}

void agent_look_after(struct agent *a)
{
    u64 now = now_ns();
    log_export_news(a);
    __atomic_store_n(&a->health.rate, pipeline_rate(a->pipeline), __ATOMIC_RELAXED);
    if (!governor_due(&a->governor, now))
        return;
    unsigned share = governor_look(&a->governor, pipeline_cpu_seconds(a->pipeline), now);
    if (share != a->governor.told)
        discover_set_share(a->discover, share);
    a->governor.told = share;
    __atomic_store_n(&a->health.throttled, a->governor.throttled, __ATOMIC_RELAXED);
}

int agent_reload(struct agent *a, const struct export_config *exports, struct discover_rules **rules,
                 const struct agent_limits *limits, char *why, size_t len)
{
    int rc = exports_reconfigure(a->exports, exports, why, len);
    if (rc)
        return rc;
    discover_reload(a->discover, rules); /* from here on nothing can fail */
    set_limits(a, limits);
    __atomic_add_fetch(&a->health.reloads, 1, __ATOMIC_RELAXED);
    return 0;
}

void agent_note_reload_error(struct agent *a)
{
    __atomic_add_fetch(&a->health.reload_errors, 1, __ATOMIC_RELAXED);
}

int agent_stop(struct agent **aa, unsigned flush_ms)
{
    struct agent *a = *aa;
    int rc = 0;
    if (!a)
        return 0;
    stop_collector(a);
    if (a->pipeline && a->publisher) {
        pipeline_stop(a->pipeline);
        publisher_flush(a->publisher);
    }
    if (a->exports) {
        rc = exports_flush(a->exports, flush_ms);
        log_export_news(a);
    }
    serve_free(&a->serve);
    discover_free(&a->discover);
    pipeline_free(&a->pipeline);
    publisher_free(&a->publisher);
    exports_free(&a->exports);
    xp_cleanup_close(&a->lock);
    free(a);
    *aa = NULL;
    return rc;
}
