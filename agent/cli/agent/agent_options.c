#include "cli/agent/agent_options.h"
#include "base/cleanup.h"
#include "bpf/xprof.h"
#include "events/events.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AT(field)  offsetof(struct agent_options, field)
#define SECOND     1000000000ull
#define HOUR       (3600 * SECOND)
#define MIN_TABLES (4ull << 20)
#define MAX_TABLES ((u64)XP_MAX_SHARDS << (XP_SHARD_SHIFT + 2))
#define MAX_ITEMS  64

#define WORDS(fn, ...)                                               \
    static const char *fn(size_t i)                                  \
    {                                                                \
        static const char *const words[] = {__VA_ARGS__};            \
        return i < sizeof(words) / sizeof(*words) ? words[i] : NULL; \
    }
WORDS(targeting_name, "annotation", "namespace", "all")
WORDS(on_off, "on", "off")
WORDS(kube_name, "auto", "api", "kubelet", "cri", "off")
WORDS(process_frames_name, "auto", "always", "never")

static const struct option_row rows[] = {
    {"config", 0, OPTION_TEXT, "FILE", AT(config), .hint = HINT_FILE, .help = "read options from this YAML file"},
    {"check-config", 0, OPTION_BOOL, NULL, AT(check_config), .help = "check all options and exit"},
    {"print-config", 0, OPTION_BOOL, NULL, AT(print_config),
     .help = "print all options as a configuration file and exit"},
    {"verbose", 'v', OPTION_BOOL, NULL, AT(verbose), .help = "log more detail"},

    {"rate", 'F', OPTION_NUMBER, "HZ", AT(rate), 1, 1000, .fallback = "49",
     .help = "sampling rate, in samples per second per CPU"},
    {"max-rate", 0, OPTION_NUMBER, "HZ", AT(max_rate), 1, 1000, .fallback = "499",
     .help = "highest sampling rate that a pod annotation can request"},
    {"interval", 0, OPTION_DURATION, "TIME", AT(interval_ns), SECOND, HOUR, .fallback = "10s",
     .help = "length of a profile; each container has one profile per interval and event"},
    {"events", 'e', OPTION_LIST, "EVENT,...", AT(events), .most = XP_MAX_EVENTS, .fallback = "cpu", .value = event_name,
     .resolve = event_name_of, .listing = "xprof list", .help = "events to record"},
    {"offcpu-min", 0, OPTION_DURATION, "TIME", AT(offcpu_min), 0, 10 * SECOND, .fallback = "1ms",
     .help = "user stacks of shorter waits need not be taken; their time is counted all the same"},
    {"offcpu-hide", 0, OPTION_TEXT, "WHAT", AT(offcpu_hide), .value = event_hideable,
     .help = "leave out blocked time of idle threads: event loops and pools (idle)"},
    {"memory-max-cost", 0, OPTION_PERCENT, "PERCENT", AT(memory_max_cost), 0, 100, .fallback = "5",
     .help = "event memory: limit of what probes cost a process, in percent of its own CPU time; off: none"},
    {"probe-max-cost", 0, OPTION_PERCENT, "PERCENT", AT(probe_max_cost), 0, 100, .fallback = "5",
     .help = "take the probes of an event off while they cost more than this share of one CPU (rss: 1); off: no limit"},
    {"probe-links", 0, OPTION_TEXT, "MEANS", AT(probe_links), .fallback = "auto", .value = event_probe_links,
     .help = "how functions, allocators and USDT probes are probed: `auto` is the best means of the kernel, `perf` an "
             "event each"},
    {"io-labels", 0, OPTION_LIST, "NAME,...", AT(io_labels), .most = XP_MAX_EVENTS, .value = event_tag,
     .help =
         "labels of samples that tell bytes apart: file (event file), peer (event net); many values (default: none)"},
    {"kernel", 0, OPTION_SWITCH, "on/off", AT(kernel), .fallback = "on", .help = "record kernel stacks"},
    {"user", 0, OPTION_SWITCH, "on/off", AT(user), .fallback = "on", .help = "record user stacks"},
    {"max-cpu", 0, OPTION_NUMBER, "PERCENT", AT(max_cpu), 1, 10000, .fallback = "10",
     .help =
         "CPU limit for the agent, in percent of one CPU (from 8 CPUs on: of each 8); above it the sampling rate is "
         "lowered, first that of pods that request a higher one"},
    {"table-memory", 0, OPTION_SIZE, "SIZE", AT(table_memory), MIN_TABLES, MAX_TABLES, .fallback = "256M",
     .help = "maximum kernel memory for unwind tables"},
    {"stack-memory", 0, OPTION_SIZE, "SIZE", AT(stack_memory), 1 << 20, 4ull << 30, .fallback = "64M",
     .help = "maximum memory for the stacks of an interval; further stacks are dropped and counted"},
    {"cache-dir", 0, OPTION_TEXT, "DIR", AT(cache_dir), .hint = HINT_DIRECTORY, .fallback = "/var/cache/xprof",
     .help = "cache directory for unwind tables, indexes of lines and names, and downloaded debug files"},
    {"cache-size", 0, OPTION_SIZE, "SIZE", AT(cache_size), 1 << 20, 1ull << 40, .fallback = "512M",
     .help = "maximum size of the cache; half is for downloaded debug files if debuginfod servers are configured"},
    {"synth", 0, OPTION_SWITCH, "on/off", AT(synth), .fallback = "on",
     .help = "derive unwind rows from the instructions of code without unwind information"},
    {"debug-dir", 0, OPTION_LIST, "DIR,...", AT(debug_dirs), .most = 16, .hint = HINT_DIRECTORY,
     .help = "additional directories with debug files"},
    {"debuginfod-urls", 0, OPTION_LIST, "URL,...", AT(debuginfod_urls), .most = 8,
     .help = "debuginfod servers to fetch debug files from (default: $DEBUGINFOD_URLS)"},

    {"targeting", 0, OPTION_TEXT, "HOW", AT(targeting), .value = targeting_name,
     .help = "which pods to profile (default: annotation; without Kubernetes: all)"},
    {"include-namespaces", 0, OPTION_LIST, "NAME,...", AT(include_namespaces), .most = MAX_ITEMS,
     .help = "namespaces to profile; with --targeting=namespace: those that need no annotation; * is a wildcard"},
    {"exclude-namespaces", 0, OPTION_LIST, "NAME,...", AT(exclude_namespaces), .most = MAX_ITEMS,
     .help = "namespaces that are never profiled, regardless of annotations; * is a wildcard"},
    {"pod-selector", 0, OPTION_TEXT, "SELECTOR", AT(pod_selector),
     .help = "profile only pods with matching labels (syntax of kubectl -l)"},
    {"namespace-selector", 0, OPTION_TEXT, "SELECTOR", AT(namespace_selector),
     .help = "profile only pods in namespaces with matching labels (syntax of kubectl -l)"},
    {"annotation-prefix", 0, OPTION_TEXT, "PREFIX", AT(annotation_prefix), .fallback = POLICY_PREFIX,
     .help = "prefix of the annotations on pods and namespaces"},
    {"host-processes", 0, OPTION_TEXT, "on/off", AT(host), .value = on_off,
     .help = "also profile processes outside of containers (default: on without Kubernetes)"},
    {"targets-only", 0, OPTION_SWITCH, "on/off", AT(targets_only), .fallback = "off",
     .help = "profile only what matches an entry of `targets` in the configuration file"},

    {"kube", 0, OPTION_TEXT, "SOURCE", AT(kube), .fallback = "auto", .value = kube_name,
     .help = "source of pod metadata; auto: API server in a cluster, else off; cri: container runtime"},
    {"kubeconfig", 0, OPTION_TEXT, "FILE", AT(kubeconfig), .hint = HINT_FILE,
     .help = "kubeconfig file for reaching the API server from outside of a pod"},
    {"api-url", 0, OPTION_TEXT, "URL", AT(api_url),
     .help = "URL of the API server (default: that of the cluster the agent runs in)"},
    {"kubelet-url", 0, OPTION_TEXT, "URL", AT(kubelet_url), .fallback = "https://127.0.0.1:10250",
     .help = "URL of the kubelet of this node"},
    {"kubelet-insecure", 0, OPTION_BOOL, NULL, AT(kubelet_insecure), .help = "do not verify the kubelet's certificate"},
    {"node-name", 0, OPTION_TEXT, "NAME", AT(node_name),
     .help = "name of this node in Kubernetes (default: the host name)"},
    {"pod-events", 0, OPTION_SWITCH, "on/off", AT(pod_events), .fallback = "off",
     .help = "post an Event on each pod with invalid annotations"},
    {"cri-socket", 0, OPTION_TEXT, "PATH", AT(cri_socket), .hint = HINT_FILE,
     .help = "socket of the container runtime; none: do not use it (default: the first known one that exists)"},
    {"host-root", 0, OPTION_TEXT, "DIR", AT(host_root), .hint = HINT_DIRECTORY, .fallback = "/",
     .help = "directory where the node's root file system is mounted"},

    {"pod-labels", 0, OPTION_LIST, "LABEL,...", AT(pod_labels), .most = 16, .help = "pod labels to add to profiles"},
    {"label", 0, OPTION_REPEAT, "NAME=VALUE", AT(labels), .most = 16, .help = "label for all profiles (repeatable)"},
    {"image-label", 0, OPTION_SWITCH, "on/off", AT(image_label), .fallback = "off",
     .help = "add the container image and its version as labels"},
    {"thread-label", 0, OPTION_SWITCH, "on/off", AT(thread_label), .fallback = "off",
     .help = "add the names of threads, the kernel's 15 characters, as a label of samples; many values"},
    {"short-names", 0, OPTION_SWITCH, "on/off", AT(short_names), .fallback = "off",
     .help = "show C++ functions without argument lists"},
    {"process-frames", 0, OPTION_TEXT, "WHEN", AT(process_frames), .fallback = "auto", .value = process_frames_name,
     .help = "show the process name at the root of stacks; auto: in containers with several programs"},

    {"pyroscope-url", 0, OPTION_TEXT, "URL", AT(pyroscope_url), .help = "Pyroscope server to send profiles to"},
    {"otlp-url", 0, OPTION_TEXT, "URL", AT(otlp_url), .help = "OTLP/HTTP endpoint to send profiles to"},
    {"output-dir", 0, OPTION_TEXT, "DIR", AT(output_dir), .hint = HINT_DIRECTORY,
     .help = "directory to write profiles to"},
    {"output-size", 0, OPTION_SIZE, "SIZE", AT(output_size), 1 << 20, 1ull << 40, .fallback = "1G",
     .help = "maximum size of the output directory; oldest files are removed first"},
    {"output-age", 0, OPTION_DURATION, "TIME", AT(output_age_ns), SECOND, 8760 * HOUR, .fallback = "24h",
     .help = "maximum age of files in the output directory; older ones are removed"},
    {"tenant", 0, OPTION_TEXT, "ID", AT(tenant), .help = "tenant ID, sent to servers as X-Scope-OrgID"},
    {"user-name", 0, OPTION_TEXT, "NAME", AT(user_name), .help = "user name for basic authentication at servers"},
    {"password-file", 0, OPTION_TEXT, "FILE", AT(password_file), .hint = HINT_FILE,
     .help = "file with the password for basic authentication"},
    {"bearer-token-file", 0, OPTION_TEXT, "FILE", AT(bearer_token_file), .hint = HINT_FILE,
     .help = "file with a bearer token for servers; read again when it changes"},
    {"ca-file", 0, OPTION_TEXT, "FILE", AT(ca_file), .hint = HINT_FILE,
     .help = "CA certificates for verifying servers (default: those of the system)"},
    {"cert-file", 0, OPTION_TEXT, "FILE", AT(cert_file), .hint = HINT_FILE, .help = "client certificate for servers"},
    {"key-file", 0, OPTION_TEXT, "FILE", AT(key_file), .hint = HINT_FILE,
     .help = "private key of the client certificate"},
    {"proxy", 0, OPTION_TEXT, "URL", AT(proxy),
     .help = "proxy for reaching backends and debuginfod servers; off: none (default: $HTTPS_PROXY, $HTTP_PROXY)"},
    {"no-proxy", 0, OPTION_TEXT, "HOST,...", AT(no_proxy),
     .help = "hosts, domains and networks that are reached without the proxy (default: $NO_PROXY)"},
    {"state-dir", 0, OPTION_TEXT, "DIR", AT(state_dir), .hint = HINT_DIRECTORY, .fallback = "/var/lib/xprof",
     .help = "directory for profiles that have not been sent yet"},
    {"spool-size", 0, OPTION_SIZE, "SIZE", AT(spool_size), 1 << 20, 1ull << 40, .fallback = "256M",
     .help = "maximum size of unsent profiles on disk; oldest are dropped first"},
    {"spool-age", 0, OPTION_DURATION, "TIME", AT(spool_age_ns), 60 * SECOND, 168 * HOUR, .fallback = "6h",
     .help = "maximum age of unsent profiles; older ones are dropped"},
    {"listen", 0, OPTION_TEXT, "ADDRESS:PORT", AT(listen), .fallback = "127.0.0.1:7055",
     .help = "address for /metrics, /healthz, /readyz and /targets; off: no server"},
    {"targets-token-file", 0, OPTION_TEXT, "FILE", AT(targets_token_file), .hint = HINT_FILE,
     .help = "file with the bearer token that lets other hosts read /targets (default: only this host)"},
    {"exclusive", 0, OPTION_SWITCH, "on/off", AT(exclusive), .fallback = "on",
     .help = "refuse to start while another agent runs on this machine"},
};
_Static_assert(sizeof(rows) / sizeof(*rows) <= OPTIONS_MAX, "they must fit");

const struct command agent_command = {
    .name = "agent",
    .help = "profile the pods, containers and services of this machine continuously",
    .details =
        "Options can also be set by environment variables (XPROF_INTERVAL=15s) and in the configuration file\n"
        "(interval: 15s), which can also list exporters and targets. The file is read again when it changes,\n"
        "and on SIGHUP.\n",
    .rows = rows,
    .nrows = sizeof(rows) / sizeof(*rows),
};

/* ---- Sources ------------------------------------------------------------------------------------------------------
 */

static const char *from_file(void *ctx, const struct option_row *row, size_t i, char *where, size_t len)
{
    struct config_file *f = ctx;
    char path[80];
    unsigned line = 0;
    const char *text = NULL;
    if (!f || !strcmp(row->flag, "config"))
        return NULL;
    if (!i)
        text = config_file_take(f, row->flag, &line);
    size_t n = text ? 0 : config_file_items(f, row->flag);
    for (size_t item = 0; item < n && !text; item++) { /* others of the list are maps: probes among events */
        snprintf(path, sizeof(path), "%s.%zu", row->flag, item);
        text = config_file_take(f, path, &line);
        if (text && i--)
            text = NULL;
    }
    if (text)
        snprintf(where, len, "%s:%u: %s", config_file_name(f), line, row->flag);
    return text;
}

/* What flag or environment decided is not wrong in the file. */
static void take_all(struct config_file *f)
{
    char where[256];
    for (size_t i = 0; f && i < agent_command.nrows; i++)
        for (size_t k = 0; from_file(f, &rows[i], k, where, sizeof(where)); k++)
            ;
}

/* --config itself, from flag or environment. */
static int find_config(int argc, char **argv, const char **path, struct buf *message)
{
    struct agent_options o = {0};
    int at;
    int rc = options_parse_from(&agent_command, argc, argv, &options_environment, 1, &o, &at, message);
    *path = o.config;
    options_free(&agent_command, &o);
    return rc;
}

static int complain(struct buf *message, const char *text)
{
    buf_printf(message, "xprof agent: %s\n", text);
    return -EINVAL;
}

static int check_selector(const char *flag, const char *text, struct buf *message)
{
    struct selector *s = NULL;
    char why[256];
    int rc = text ? selector_parse(&s, text, why, sizeof(why)) : 0;
    if (rc)
        buf_printf(message, "xprof agent: --%s: %s\n", flag, why);
    selector_free(&s);
    return rc;
}

/* As in PREFIX/NAME: a DNS subdomain. Nothing would ever be found under another. */
static bool is_prefix(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-");
    return n && n <= 253 && !s[n] && !strchr(".-", s[0]) && !strchr(".-", s[n - 1]);
}

bool agent_options_is_proxy(const char *s)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
        if (!strncmp(s, schemes[i], strlen(schemes[i])) && s[strlen(schemes[i])])
            return true;
    return !strcmp(s, "off");
}

static int check(const struct agent_options *o, struct buf *message)
{
    int rc = check_selector("pod-selector", o->pod_selector, message);
    if (!rc)
        rc = check_selector("namespace-selector", o->namespace_selector, message);
    if (rc)
        return rc;
    if (!o->kernel && !o->user)
        return complain(message, "--kernel=off and --user=off together leave nothing to take");
    if (!!o->cert_file != !!o->key_file)
        return complain(message, "--cert-file and --key-file belong together");
    if (o->proxy && !agent_options_is_proxy(o->proxy))
        return complain(message, "--proxy: a URL such as http://proxy.example:3128 is needed, or off");
    if (o->rate > o->max_rate)
        return complain(message, "--rate is above --max-rate");
    if (!is_prefix(o->annotation_prefix))
        return complain(message, "--annotation-prefix: a domain is needed, such as " POLICY_PREFIX);
    for (size_t i = 0; i < o->labels.n; i++)
        if (!strchr(o->labels.v[i], '=') || o->labels.v[i][0] == '=')
            return complain(message, "--label: NAME=VALUE is needed");
    return 0;
}

int agent_options_parse(int argc, char **argv, struct agent_options *out, struct config_file **file,
                        struct buf *message)
{
    const char *path;
    char why[512];
    *file = NULL;
    int rc = find_config(argc, argv, &path, message);
    if (rc)
        return rc;
    if (path && config_file_new(file, path, why, sizeof(why)))
        return complain(message, why);
    struct option_source sources[] = {options_environment, {from_file, *file}};
    int at;
    rc = options_parse_from(&agent_command, argc, argv, sources, 2, out, &at, message);
    take_all(*file);
    return rc ? rc : check(out, message);
}

void agent_options_free(struct agent_options *o)
{
    options_free(&agent_command, o);
}

const char *agent_options_fixed(const struct agent_options *a, const struct agent_options *b, size_t *at)
{
    static const size_t fixed[] = {
        AT(events),          AT(kernel),      AT(user),         AT(table_memory),
        AT(stack_memory),    AT(cache_dir),   AT(cache_size),   AT(debug_dirs),
        AT(debuginfod_urls), AT(short_names), AT(kube),         AT(kubeconfig),
        AT(api_url),         AT(kubelet_url), AT(node_name),    AT(kubelet_insecure),
        AT(cri_socket),      AT(host_root),   AT(labels),       AT(synth),
        AT(process_frames),  AT(state_dir),   AT(listen),       AT(targets_token_file),
        AT(proxy),           AT(no_proxy),    AT(offcpu_min),   AT(offcpu_hide),
        AT(memory_max_cost), AT(io_labels),   AT(thread_label), AT(probe_max_cost),
        AT(probe_links),
    };
    while (*at < agent_command.nrows) {
        const struct option_row *row = &rows[(*at)++];
        AUTO_BUF struct buf x = {0}, y = {0};
        size_t k = 0;
        while (k < sizeof(fixed) / sizeof(*fixed) && row->offset != fixed[k])
            k++;
        if (k == sizeof(fixed) / sizeof(*fixed))
            continue;
        options_format(row, a, &x);
        options_format(row, b, &y);
        if (x.len != y.len || (x.len && memcmp(x.data, y.data, x.len) != 0))
            return row->flag;
    }
    return NULL;
}

/* ---- --print-config -----------------------------------------------------------------------------------------------
 */

/* What only a file can hold. */
static void print_lists(const struct config_file *file, struct buf *out)
{
    static const struct {
        const char *key, *help, *example; /* NULL: not told of */
    } lists[] = {
        {"exporters",
         "where profiles go, too; types are pyroscope, otlp, directory; each server with url, tenant, user-name,\n"
         "# password-file, bearer-token-file, ca-file, cert-file, key-file, proxy, no-proxy,\n"
         "# insecure-skip-verify, gzip, timeout, parallel, headers and labels; a folder with path, max-size, max-age",
         "[{name: archive, type: directory, path: /var/lib/xprof/archive, max-size: 200M}]"},
        {"targets",
         "whom to label otherwise, and with targets-only whom to profile at all: the first that matches, by "
         "container-id,\n"
         "# name, image, pod, namespace, unit (* stands for any characters), or by comm, pid",
         "[{image: \"*/nginx:*\", labels: {service_name: proxy}}, {comm: postgres, labels: {service_name: db}}]"},
        {"default-target", "labels of what no target matches", "{service_namespace: other}"},
        {"default-labels", "the same", NULL},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        AUTO_BUF struct buf text = {0};
        bool given = file && config_file_print(file, lists[i].key, &text);
        if (!given && !lists[i].example)
            continue;
        buf_printf(out, "# %s\n%s%s: ", lists[i].help, given ? "" : "# ", lists[i].key);
        if (given)
            buf_add(out, text.data, text.len);
        else
            buf_str(out, lists[i].example);
        buf_char(out, '\n');
    }
}

/* Of events, those that are maps. */
static void print_probes(const struct config_file *file, struct buf *out)
{
    char path[64];
    for (size_t i = 0, n = config_file_items(file, "events"); i < n; i++) {
        snprintf(path, sizeof(path), "events.%zu", i);
        if (!config_file_key(file, path, 0, NULL))
            continue;
        buf_str(out, "\n  - ");
        config_file_print(file, path, out);
    }
}

void agent_options_print(const struct agent_options *o, const struct config_file *file, struct buf *out)
{
    for (size_t i = 0; i < agent_command.nrows; i++) {
        const struct option_row *row = &rows[i];
        AUTO_BUF struct buf text = {0};
        if (row->offset == AT(config) || row->offset == AT(check_config) || row->offset == AT(print_config))
            continue;
        bool given = options_format(row, o, &text);
        buf_printf(out, "# %s\n%s%s:", row->help, given ? "" : "# ", row->flag);
        bool list = row->type == OPTION_REPEAT || row->type == OPTION_LIST;
        const struct option_list *items = (const void *)((const char *)o + row->offset);
        for (size_t k = 0; given && list && k < items->n; k++) {
            buf_str(out, "\n  - ");
            buf_json(out, items->v[k]);
        }
        if (file && row->offset == AT(events))
            print_probes(file, out);
        if (given && !list) {
            buf_char(out, ' ');
            row->type == OPTION_TEXT ? buf_json(out, text.data ? text.data : "") : buf_str(out, text.data);
        }
        buf_char(out, '\n');
    }
    print_lists(file, out);
}
