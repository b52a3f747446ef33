/* xprof agent: from options to a pipeline that runs until it is told to stop. */
#include "cli/agent/agent.h"
#include "agent/wiring.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/agent/agent_events.h"
#include "cli/agent/agent_options.h"
#include "cli/agent/exports.h"
#include "cli/agent/kubeconfig.h"
#include "cli/agent/rules.h"
#include "cli/agent/service.h"
#include "events/events.h"
#include "serve/serve.h"
#include <errno.h>
#include <malloc.h>
#include <string.h>

#define LOOK_MS  500
#define FLUSH_MS 5000 /* at the end: what cannot be sent by then stays in the spool */
#define NOWHERE                                                                                                     \
    "no backend is configured, so profiles are discarded: set --pyroscope-url or --otlp-url, or list exporters in " \
    "the file"

struct service {
    int argc;
    char **argv;
    const struct agent_options *options; /* of the rules in force */
    char node[256];
    struct agent *agent;
    struct agent_events events;   /* as at the start */
    bool events_differ;           /* the file has other probes by now */
    struct kubeconfig kubeconfig; /* its files are read again when connections are made */
    struct service_signals signals;
    char why[512];
};

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

/* Those of the start stay, and so do their bits in wants. */
static int read_events(struct service *s, const struct agent_options *o, struct config_file *file, struct buf *message)
{
    CLEANUP(agent_events_free) struct agent_events events = {.n = 0};
    int rc = agent_events_make(&events, o, file, message);
    if (rc)
        return rc;
    s->events_differ = s->agent && !agent_events_same(&s->events, &events);
    if (!s->agent) {
        s->events = events;
        events = (struct agent_events){.n = 0};
    }
    return 0;
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
    if (!rc)
        rc = read_events(s, &o, file, message);
    if (!rc && o.check_config)
        rc = check_start(&o, exports, message);
    if (!rc && o.print_config)
        agent_options_print(&o, file, message);
    if (!rc)
        find_node(s, &o);
    if (!rc)
        rc = agent_rules_make(rules, &o, &file, &s->events, kube_source(&o, &kube, s->node) != DISCOVER_NO_KUBE,
                              s->node, message);
    agent_options_free(&o);
    config_file_free(&file);
    return rc;
}

static void choose_events(struct pipeline_config *c, struct service *s)
{
    const struct agent_options *o = s->options;
    const struct events_wanted wanted = {.names = s->events.names,
                                         .n = s->events.n,
                                         .hz = (unsigned)o->rate,
                                         .find = agent_events_find,
                                         .ctx = &s->events};
    events_choose(&wanted, c->events, c->probe.events, &c->probe.nevents); /* all of them are there */
    events_tag((const char *const *)o->io_labels.v, o->io_labels.n, c->events, c->probe.events, c->probe.nevents);
}

static void configure_pipeline(struct pipeline_config *c, const struct agent_options *o)
{
    c->cache_dir = o->cache_dir;
    c->cache_bytes = o->cache_size;
    c->debug.host_root = o->host_root;
    c->debug.dirs = (const char *const *)o->debug_dirs.v;
    c->debug.ndirs = o->debug_dirs.n;
    c->debug.urls = (const char *const *)o->debuginfod_urls.v;
    c->debug.nurls = o->debuginfod_urls.n;
    c->debug.more_urls = getenv("DEBUGINFOD_URLS");
    c->debug.proxy = o->proxy;
    c->debug.no_proxy = o->no_proxy;
    c->short_names = o->short_names;
    c->hide_idle = o->offcpu_hide;
    c->no_synth = !o->synth;
    c->aggregate_bytes = o->stack_memory;
    c->probe.target = XP_TARGET_CGROUP;
    c->probe.kernel = o->kernel;
    c->probe.user = o->user;
    c->probe.measure = true;
    c->probe.thread_labels = o->thread_label;
    c->probe.table_bytes = o->table_memory;
    c->probe.cgroup_events = true;
    c->probe.sample_run_time = true;
    c->probe.wait_min_ns = o->offcpu_min;
    c->heap_cost = (unsigned)o->memory_max_cost;
    c->probe.max_cost = (unsigned)o->probe_max_cost;
    c->probe.links = event_probe_links_of(o->probe_links);
}

static enum process_frames process_frames_of(const struct agent_options *o)
{
    static const char *const when[] = {
        [PROCESS_FRAMES_AUTO] = "auto", [PROCESS_FRAMES_ALWAYS] = "always", [PROCESS_FRAMES_NEVER] = "never"};
    int i = 0;
    while (strcmp(when[i], o->process_frames) != 0)
        i++;
    return (enum process_frames)i;
}

static struct agent_limits limits_of(const struct agent_options *o)
{
    return (struct agent_limits){.interval_ns = o->interval_ns, .max_cpu = (unsigned)o->max_cpu};
}

/* Options to the agent's configuration, which refers to them. 0, or -errno and why. */
static int configure(struct service *s, const struct discover_rules *rules, const struct agent_exports *exports,
                     struct agent_config *c)
{
    const struct agent_options *o = s->options;
    *c = (struct agent_config){
        .exports = &exports->config,
        .publisher = {.every = agent_rules_labels(rules), .process_frames = process_frames_of(o)},
        .discover.containers = {.host_root = o->host_root, .cri_socket = o->cri_socket},
        .listen = strcmp(o->listen, "off") != 0 ? o->listen : NULL,
        .targets_token_file = o->targets_token_file,
        .node = s->node,
        .exclusive = o->exclusive,
        .limits = limits_of(o),
    };
    configure_pipeline(&c->pipeline, o);
    choose_events(&c->pipeline, s);
    struct discover_config *d = &c->discover;
    d->source = kube_source(o, &d->kube, s->node);
    if (d->source != DISCOVER_BY_KUBE || !o->kubeconfig)
        return 0;
    return kubeconfig_read(&s->kubeconfig, o->kubeconfig, &d->kube, s->why, sizeof(s->why));
}

/* ---- Running ------------------------------------------------------------------------------------------------------
 */

static void apply(struct service *s, const struct agent_options *o)
{
    s->options = o;
    log_set_level(o->verbose ? LOG_INFO : LOG_WARN);
}

/* The names of options that differ from the ones before, and that only a start can change: NULL behind the last. */
#define MAX_FIXED 64
static void find_fixed(const struct agent_options *before, const struct agent_options *now,
                       const char *names[MAX_FIXED])
{
    size_t at = 0, n = 0;
    while (n < MAX_FIXED - 1 && (names[n] = agent_options_fixed(before, now, &at)))
        n++;
    names[n] = NULL;
}

static int reload_from(struct service *s, struct discover_rules **rules, struct agent_exports *exports,
                       struct buf *message)
{
    const char *fixed[MAX_FIXED];
    bool end;
    int rc = read_config(s, *rules, exports, &end, message);
    if (rc)
        return rc;
    const struct agent_options *o = agent_rules_options(*rules);
    struct agent_limits limits = limits_of(o);
    find_fixed(s->options, o, fixed);
    rc = agent_reload(s->agent, &exports->config, rules, &limits, s->why, sizeof(s->why));
    if (rc) {
        buf_printf(message, "%s\n", s->why);
        return rc;
    }
    apply(s, o); /* the old options may be gone by now */
    for (size_t i = 0; fixed[i]; i++)
        log_warn("--%s: the new value takes effect at the next start", fixed[i]);
    if (s->events_differ)
        log_warn("events: the new probes take effect at the next start");
    return 0;
}

/* Reads the configuration again. What cannot change while running keeps its old value, and that is said. */
static void reload(struct service *s)
{
    AUTO_BUF struct buf message = {0};
    CLEANUP(discover_rules_free) struct discover_rules *rules = calloc(1, sizeof(*rules));
    struct agent_exports exports = {0};
    int rc = rules ? reload_from(s, &rules, &exports, &message) : -ENOMEM;
    bool nowhere = !exports.config.ntargets;
    agent_exports_free(&exports);
    if (rc) {
        agent_note_reload_error(s->agent);
        log_error("configuration not reloaded, the previous one stays in effect: %.*s",
                  (int)(message.len ? message.len - 1 : 0), message.data ? message.data : "");
        return;
    }
    if (nowhere)
        log_warn(NOWHERE);
    log_info("configuration reloaded");
}

static void run(struct service *s)
{
    enum service_request request = SERVICE_NONE;
    service_notify("READY=1");
    while (request != SERVICE_STOP) {
        service_wait(&s->signals, LOOK_MS);
        agent_look_after(s->agent);
        request = service_poll(&s->signals, now_ns());
        if (request == SERVICE_RELOAD)
            reload(s);
    }
    service_notify("STOPPING=1");
}

static int start(struct service *s, const struct discover_rules *rules, const struct agent_exports *exports)
{
    struct agent_config c;
    int rc = service_signals_init(&s->signals, s->options->config);
    if (!rc)
        rc = configure(s, rules, exports, &c);
    if (rc)
        rules->release(rules->owner);
    else
        rc = agent_start(&s->agent, &c, rules, s->why, sizeof(s->why));
    return rc;
}

static int serve_until_stopped(struct service *s, const struct discover_rules *rules, struct agent_exports *exports)
{
    mallopt(M_ARENA_MAX, 2); /* an arena for each of ten threads is memory that only lies there */
    /* Else each large block that is freed raises it, and later ones leave holes between what stays. */
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    char spool[512]; /* the options are freed with the agent */
    snprintf(spool, sizeof(spool), "%s",
             agent_rules_options(rules)->state_dir ? agent_rules_options(rules)->state_dir : "");
    apply(s, agent_rules_options(rules));
    int rc = start(s, rules, exports);
    agent_exports_free(exports);
    if (rc)
        log_error("%s", s->why);
    else
        run(s);
    if (agent_stop(&s->agent, FLUSH_MS))
        log_warn("not all profiles were sent: the rest stays in %s", spool);
    kubeconfig_free(&s->kubeconfig);
    service_signals_free(&s->signals);
    return rc ? 1 : 0;
}

int cli_agent(int argc, char **argv)
{
    AUTO_BUF struct buf message = {0};
    struct service s = {.argc = argc, .argv = argv};
    struct discover_rules rules;
    struct agent_exports exports = {0};
    bool end;
    int rc = read_config(&s, &rules, &exports, &end, &message);
    if (!rc && !end && !exports.config.ntargets && getenv("KUBERNETES_SERVICE_HOST")) {
        log_warn(NOWHERE); /* a chart's first try */
    } else if (!rc && !end && !exports.config.ntargets) {
        buf_str(&message,
                "xprof agent: no destination for profiles: set --pyroscope-url, --otlp-url or --output-dir\n");
        rules.release(rules.owner);
        rc = -EINVAL;
    }
    if (rc || end) {
        agent_exports_free(&exports);
        if (!rc)
            rules.release(rules.owner);
        if (!rc && message.len)
            fwrite(message.data, 1, message.len, stdout);
        rc = rc ? options_report(rc, &message) : 0;
    } else {
        rc = serve_until_stopped(&s, &rules, &exports);
    }
    agent_events_free(&s.events);
    return rc;
}
