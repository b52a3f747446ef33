/* xprof agent: from options to a pipeline that runs until it is told to stop. */
#include "cli/agent_exports.h"
#include "cli/agent_options.h"
#include "cli/agent_rules.h"
#include "cli/cli.h"
#include "cli/kubeconfig.h"
#include "cli/service.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "govern.h"
#include "serve/serve.h"
#include "vitals.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>

#define POLL_MS      500  /* whatever cannot wait wakes the ring */
#define FLUSH_MS     5000 /* at the end: what cannot be sent by then stays in the spool */
#define HOUSEKEEPING NS_PER_SEC
#define NOWHERE      "profiles go nowhere: --pyroscope-url, --otlp-url or an exporter in the file"

struct service {
    int argc;
    char **argv;
    const struct agent_options *options; /* of the rules in force */
    char node[256];
    struct hierarchy hierarchy;
    struct agent_config config;
    struct agent *agent;
    struct exports *exports;
    struct publisher *publisher;
    struct discover *discover;
    struct serve *serve;
    struct vitals vitals;
    struct governor governor;
    struct kubeconfig kubeconfig; /* its files are read again when connections are made */
    int lock;                     /* the machine's; -1 */
    struct service_signals signals;
    u64 rotated_ns, kept_house_ns;
    u64 interval_ns;
    unsigned max_cpu;
    char why[512];
};

/* ---- Sinks --------------------------------------------------------------------------------------------------------
 */

static void on_profile(void *ctx, const struct profile *p)
{
    const struct service *s = ctx;
    publisher_publish(s->publisher, p);
}

static void on_cgroup(void *ctx, const struct xp_cgroup_event *e)
{
    const struct service *s = ctx;
    if (s->discover)
        discover_cgroup(s->discover, e);
}

static void on_unknown(void *ctx, u64 cgroup, u32 tgid)
{
    const struct service *s = ctx;
    if (s->discover)
        discover_stranger(s->discover, cgroup, tgid);
}

/* ---- Configuration ------------------------------------------------------------------------------------------------
 */

static enum discover_kube kube_source(const struct agent_options *o, struct kube_config *k, const char *node)
{
    const char *how = o->kube;
    bool in_cluster = getenv("KUBERNETES_SERVICE_HOST") != NULL;
    if (!strcmp(how, "auto"))
        how = in_cluster || o->api_url || o->kubeconfig ? "api" : "off";
    if (!strcmp(how, "off"))
        return DISCOVER_NO_KUBE;
    if (!strcmp(how, "cri"))
        return DISCOVER_BY_CRI;
    bool kubelet = !strcmp(how, "kubelet");
    *k = (struct kube_config){
        .source = kubelet ? KUBE_KUBELET : KUBE_API,
        .url = kubelet ? o->kubelet_url : o->api_url,
        .node = node,
        .insecure_skip_verify = kubelet && o->kubelet_insecure,
    };
    return DISCOVER_BY_KUBE;
}

static void find_node(struct service *s, const struct agent_options *o)
{
    if (o->node_name)
        snprintf(s->node, sizeof(s->node), "%s", o->node_name);
    else if (gethostname(s->node, sizeof(s->node) - 1))
        snprintf(s->node, sizeof(s->node), "unknown");
}

/* --check-config: what only the start would find out. */
static int check_start(const struct agent_options *o, const struct agent_exports *exports, struct buf *message)
{
    char why[512];
    int rc = exports_check(&exports->config, why, sizeof(why));
    if (!rc && strcmp(o->listen, "off") != 0)
        rc = serve_check(o->listen, why, sizeof(why));
    if (rc)
        buf_printf(message, "xprof agent: %s\n", why);
    return rc;
}

/* Options to everything that is derived from them; nothing has started yet. */
static int read_config(struct service *s, struct discover_rules *rules, struct agent_exports *exports, bool *end,
                       struct buf *message)
{
    struct agent_options o = {0};
    struct config_file *file = NULL;
    struct kube_config kube;
    int rc = agent_options_parse(s->argc, s->argv, &o, &file, message);
    *end = o.check_config || o.print_config;
    if (!rc)
        rc = agent_exports_resolve(exports, &o, file, message);
    if (!rc && o.check_config)
        rc = check_start(&o, exports, message);
    if (!rc && o.print_config)
        agent_options_print(&o, file, message);
    if (!rc)
        find_node(s, &o);
    if (!rc)
        rc = agent_rules_make(rules, &o, &file, kube_source(&o, &kube, s->node) != DISCOVER_NO_KUBE, s->node, message);
    agent_options_free(&o);
    config_file_free(&file);
    return rc;
}

static int set_events(struct service *s)
{
    struct agent_config *c = &s->config;
    for (size_t i = 0; i < s->options->events.n; i++) {
        const struct event_kind *kind = event_kind_find(s->options->events.v[i]);
        c->events[i] = kind;
        c->probe.events[i] = (struct probe_event){.perf_type = kind->perf_type,
                                                  .perf_config = kind->perf_config,
                                                  .hz = (unsigned)s->options->rate,
                                                  .time = kind->time};
    }
    c->probe.nevents = s->options->events.n;
    return 0;
}

static int find_hierarchy(struct service *s)
{
    char root[4096];
    snprintf(root, sizeof(root), "%s/sys/fs/cgroup", strcmp(s->options->host_root, "/") ? s->options->host_root : "");
    int rc = hierarchy_find(&s->hierarchy, strcmp(s->options->host_root, "/") ? root : NULL);
    if (rc) {
        snprintf(s->why, sizeof(s->why), "no cgroups are mounted at %.400s", root);
        return rc;
    }
    s->config.probe.cgroup_subsys = -1;
    if (s->hierarchy.unified)
        return 0;
    int subsys = probe_cgroup_subsys(s->hierarchy.controller);
    if (subsys < 0) {
        snprintf(s->why, sizeof(s->why), "this kernel does not know the cgroup controller %s", s->hierarchy.controller);
        return subsys;
    }
    s->config.probe.cgroup_subsys = subsys;
    return 0;
}

static void configure(struct service *s)
{
    const struct agent_options *o = s->options;
    struct agent_config *c = &s->config;
    c->sink = (struct agent_sink){.ctx = s, .profile = on_profile, .cgroup = on_cgroup};
    c->cache_dir = o->cache_dir;
    c->debug.host_root = o->host_root;
    c->debug.dirs = (const char *const *)o->debug_dirs.v;
    c->debug.ndirs = o->debug_dirs.n;
    c->debug.urls = (const char *const *)o->debuginfod_urls.v;
    c->debug.nurls = o->debuginfod_urls.n;
    c->debug.more_urls = getenv("DEBUGINFOD_URLS");
    c->short_names = o->short_names;
    c->no_synth = !o->synth;
    c->cache_bytes = o->cache_size;
    c->aggregate_bytes = o->stack_memory;
    c->probe.target = XP_TARGET_CGROUP;
    c->probe.kernel = o->kernel;
    c->probe.user = o->user;
    c->probe.measure = true;
    c->probe.table_bytes = o->table_memory;
    c->probe.cgroup_events = true;
    set_events(s);
}

/* ---- Start --------------------------------------------------------------------------------------------------------
 */

static int start_publisher(struct service *s, const struct discover_rules *rules)
{
    static const char *const when[] = {
        [PROCESS_FRAMES_AUTO] = "auto", [PROCESS_FRAMES_ALWAYS] = "always", [PROCESS_FRAMES_NEVER] = "never"};
    struct publisher_config c = {
        .exports = s->exports, .every = agent_rules_labels(rules), .unknown = on_unknown, .ctx = s};
    while (strcmp(when[c.process_frames], s->options->process_frames) != 0)
        c.process_frames++;
    return publisher_new(&s->publisher, &c);
}

static int start_discovery(struct service *s, const struct discover_rules *rules)
{
    struct discover_config c = {
        .agent = s->agent,
        .publisher = s->publisher,
        .hierarchy = &s->hierarchy,
        .containers = {.hierarchy = s->hierarchy,
                       .host_root = s->options->host_root,
                       .cri_socket = s->options->cri_socket},
    };
    c.source = kube_source(s->options, &c.kube, s->node);
    int rc = 0;
    if (c.source == DISCOVER_BY_KUBE && s->options->kubeconfig)
        rc = kubeconfig_read(&s->kubeconfig, s->options->kubeconfig, &c.kube, s->why, sizeof(s->why));
    if (rc) {
        rules->release(rules->owner);
        return rc;
    }
    rc = discover_new(&s->discover, &c, rules, s->why, sizeof(s->why));
    return rc ? rc : discover_start(s->discover, s->why, sizeof(s->why));
}

static int start_server(struct service *s)
{
    struct serve_handlers h = {.ctx = &s->vitals,
                               .metrics = vitals_metrics,
                               .healthy = vitals_healthy,
                               .ready = vitals_ready,
                               .targets = vitals_targets};
    s->vitals = (struct vitals){.agent = s->agent,
                                .discover = s->discover,
                                .exports = s->exports,
                                .publisher = s->publisher,
                                .node = s->node,
                                .looped_ns = now_ns(),
                                .rate = (unsigned)s->options->rate};
    if (!strcmp(s->options->listen, "off"))
        return 0;
    int rc = serve_new(&s->serve, s->options->listen, &h, s->why, sizeof(s->why));
    if (!rc)
        log_info("serving /metrics on port %u", serve_port(s->serve));
    return rc;
}

/* One agent a machine: the root of its cgroups is the same inode in every container, and can be locked by whoever reads
 * it. The lock goes with the process. */
static int lock_machine(struct service *s)
{
    s->lock = open(s->hierarchy.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!s->options->exclusive || s->lock < 0 || !s->hierarchy.whole || !flock(s->lock, LOCK_EX | LOCK_NB))
        return 0;
    if (errno != EWOULDBLOCK)
        return 0; /* a kernel that cannot lock there: then nobody is refused */
    snprintf(s->why, sizeof(s->why), "another xprof agent runs on this machine (--exclusive=off allows it)");
    return -EBUSY;
}

/* The rules belong to the discovery once it is there. */
static int start(struct service *s, struct discover_rules *rules, const struct agent_exports *exports)
{
    int rc = find_hierarchy(s);
    if (!rc)
        rc = lock_machine(s);
    if (!rc) {
        configure(s);
        rc = agent_new(&s->agent, &s->config, s->why, sizeof(s->why)); /* forks: before any thread */
    }
    if (!rc)
        rc = exports_new(&s->exports, &exports->config, s->why, sizeof(s->why));
    if (!rc && (rc = start_publisher(s, rules)))
        snprintf(s->why, sizeof(s->why), "out of memory");
    if (!rc)
        rc = agent_start(s->agent, s->why, sizeof(s->why));
    if (rc) {
        rules->release(rules->owner);
        return rc;
    }
    rc = start_discovery(s, rules);
    return rc ? rc : start_server(s);
}

/* ---- Running ------------------------------------------------------------------------------------------------------
 */

static void tell_news(struct service *s)
{
    char line[512];
    while (exports_news(s->exports, line, sizeof(line)))
        log_warn("%s", line);
}

static void apply(struct service *s, const struct agent_options *o)
{
    s->options = o;
    s->interval_ns = o->interval_ns;
    governor_init(&s->governor, (unsigned)o->max_cpu);
    log_set_level(o->verbose ? LOG_INFO : LOG_WARN);
}

/* Reads the configuration again. What cannot change while running keeps its old value, and that is said. */
static void reload(struct service *s)
{
    AUTO_BUF struct buf message = {0};
    CLEANUP(discover_rules_free) struct discover_rules *rules = calloc(1, sizeof(*rules));
    struct agent_exports exports = {0};
    bool end;
    int rc = rules ? read_config(s, rules, &exports, &end, &message) : -ENOMEM;
    bool nowhere = !exports.config.ntargets;
    if (!rc && (rc = exports_reconfigure(s->exports, &exports.config, s->why, sizeof(s->why))))
        buf_printf(&message, "%s\n", s->why);
    agent_exports_free(&exports);
    if (rc) {
        s->vitals.reload_errors++;
        log_error("the configuration stays what it was: %.*s", (int)(message.len ? message.len - 1 : 0),
                  message.data ? message.data : "");
        return;
    }
    const struct agent_options *o = agent_rules_options(rules);
    size_t at = 0;
    for (const char *fixed; (fixed = agent_options_fixed(s->options, o, &at));)
        log_warn("--%s changes with the next start only", fixed);
    if (nowhere)
        log_warn(NOWHERE);
    discover_reload(s->discover, &rules); /* from here on nothing can fail */
    apply(s, o);                          /* the old options may be gone by now */
    s->vitals.reloads++;
    log_info("the configuration was read again");
}

static void keep_house(struct service *s, u64 now)
{
    s->kept_house_ns = now;
    tell_news(s);
    __atomic_store_n(&s->vitals.rate, agent_rate(s->agent), __ATOMIC_RELAXED);
    if (!governor_due(&s->governor, now))
        return;
    unsigned share = governor_look(&s->governor, agent_cpu_seconds(s->agent), now);
    if (share != s->governor.told)
        agent_set_share(s->agent, share);
    s->governor.told = share;
    __atomic_store_n(&s->vitals.throttled, s->governor.throttled, __ATOMIC_RELAXED);
}

static void run(struct service *s)
{
    enum service_request request = SERVICE_NONE;
    s->rotated_ns = s->kept_house_ns = now_ns();
    service_notify("READY=1");
    while (request != SERVICE_STOP) {
        agent_poll(s->agent, POLL_MS);
        u64 now = now_ns();
        __atomic_store_n(&s->vitals.looped_ns, now, __ATOMIC_RELAXED);
        if (now - s->rotated_ns >= s->interval_ns) {
            s->rotated_ns = now;
            agent_rotate(s->agent);
        }
        if (now - s->kept_house_ns >= HOUSEKEEPING)
            keep_house(s, now);
        request = service_poll(&s->signals, now);
        if (request == SERVICE_RELOAD)
            reload(s);
    }
    service_notify("STOPPING=1");
}

/* What was sampled goes out before the end, as far as servers take it in time. */
static void stop(struct service *s)
{
    if (s->agent && s->publisher) {
        agent_stop(s->agent);
        publisher_flush(s->publisher);
    }
    if (s->exports && exports_flush(s->exports, FLUSH_MS))
        log_warn("not everything was sent: the rest stays in %s", s->options->state_dir);
    if (s->exports)
        tell_news(s);
    serve_free(&s->serve);
    discover_free(&s->discover);
    kubeconfig_free(&s->kubeconfig);
    agent_free(&s->agent);
    publisher_free(&s->publisher);
    exports_free(&s->exports);
    service_signals_free(&s->signals);
    xp_cleanup_close(&s->lock);
}

static int serve_until_stopped(struct service *s, struct discover_rules *rules, struct agent_exports *exports)
{
    const struct agent_options *o = agent_rules_options(rules);
    mallopt(M_ARENA_MAX, 2); /* an arena for each of ten threads is memory that only lies there */
    int rc = service_signals_init(&s->signals, o->config);
    apply(s, o);
    if (!rc)
        rc = start(s, rules, exports);
    else
        rules->release(rules->owner);
    agent_exports_free(exports);
    if (rc)
        log_error("%s", s->why);
    else
        run(s);
    stop(s);
    return rc ? 1 : 0;
}

int cli_agent(int argc, char **argv)
{
    AUTO_BUF struct buf message = {0};
    struct service s = {.argc = argc, .argv = argv, .lock = -1};
    struct discover_rules rules;
    struct agent_exports exports = {0};
    bool end;
    int rc = read_config(&s, &rules, &exports, &end, &message);
    if (!rc && !end && !exports.config.ntargets && getenv("KUBERNETES_SERVICE_HOST")) {
        log_warn(NOWHERE); /* a chart's first try */
    } else if (!rc && !end && !exports.config.ntargets) {
        buf_str(&message, "xprof agent: where do profiles go? --pyroscope-url, --otlp-url or --output-dir\n");
        rules.release(rules.owner);
        rc = -EINVAL;
    }
    if (rc || end) {
        agent_exports_free(&exports);
        if (!rc)
            rules.release(rules.owner);
        if (!rc && message.len)
            fwrite(message.data, 1, message.len, stdout);
        return rc ? options_report(rc, &message) : 0;
    }
    return serve_until_stopped(&s, &rules, &exports);
}
