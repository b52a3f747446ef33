/* The options of `xprof agent`. Every option is a flag, a variable (XPROF_ and the flag in capitals) and a key of the
 * configuration file; the first one in that order is used. Exporters and targets, which are lists of many fields, can
 * only be set in the file.
 */
#pragma once
#include "cli/options/config_file.h"
#include "cli/options/options.h"
#include "kube/policy.h"
#include "kube/selector.h"

struct agent_options {
    /* sources of options */
    const char *config;
    bool check_config, print_config, verbose;
    /* sampling */
    u64 rate, max_rate, interval_ns, max_cpu;
    u64 offcpu_min;          /* ns */
    const char *offcpu_hide; /* "idle"; NULL: nothing */
    u64 memory_max_cost;     /* percent; 0: no limit */
    u64 probe_max_cost;      /* the same */
    const char *probe_links; /* the means by which probes are attached */
    struct option_list events, io_labels;
    bool kernel, user;
    u64 table_memory, stack_memory, cache_size;
    const char *cache_dir;
    bool synth, short_names;
    struct option_list debug_dirs, debuginfod_urls;
    /* what to profile */
    const char *targeting; /* NULL: annotation with Kubernetes, else all */
    struct option_list include_namespaces, exclude_namespaces;
    const char *pod_selector, *namespace_selector, *annotation_prefix;
    const char *host; /* NULL: on without Kubernetes */
    bool targets_only;
    /* sources of container and pod metadata */
    const char *kube, *kubeconfig, *api_url, *kubelet_url, *node_name;
    bool kubelet_insecure, pod_events;
    const char *cri_socket, *host_root;
    /* labels */
    struct option_list pod_labels, labels;
    bool image_label, thread_label;
    const char *process_frames;
    /* destinations of profiles */
    const char *pyroscope_url, *otlp_url, *output_dir;
    const char *tenant, *user_name, *password_file, *bearer_token_file, *ca_file, *cert_file, *key_file;
    const char *proxy, *no_proxy;
    u64 output_size, output_age_ns;
    const char *state_dir;
    u64 spool_size, spool_age_ns;
    const char *listen, *targets_token_file;
    bool exclusive;
};

extern const struct command agent_command;

/* Reads flags, environment and file. Returns 0; -EINVAL and one line in `message`; -ECANCELED and the help in
 * `message`. *file is set to the configuration file, or NULL. Strings in *out are borrowed from argv, the environment
 * and *file, so *file must outlive *out. */
int agent_options_parse(int argc, char **argv, struct agent_options *out, struct config_file **file,
                        struct buf *message);
/* Tells whether a proxy's URL is one that can be used, or "off". */
bool agent_options_is_proxy(const char *s);
void agent_options_free(struct agent_options *o);
/* Returns the next option, starting at *at, that differs and only takes effect at the next start; NULL: there is
 * none. */
const char *agent_options_fixed(const struct agent_options *a, const struct agent_options *b, size_t *at);
/* Prints all options as a configuration file with their help texts. Lists that can only be set in a file are taken from
 * `file`, which may be NULL. */
void agent_options_print(const struct agent_options *o, const struct config_file *file, struct buf *out);
