#include "cli/agent/rules.h"
#include "base/cleanup.h"
#include <errno.h>
#include <string.h>

#define MAX_TARGETS 256
#define RATE_MIN    1

#define MAX_TYPES 64

struct agent_rules {
    struct agent_options options;
    struct config_file *file;
    struct selector *pods, *namespaces;
    struct policy_type types[MAX_TYPES];
    struct label_set external; /* of every profile */
    struct label_set defaults; /* of what no target matches */
    struct target_rule targets[MAX_TARGETS];
    struct process_rule processes[MAX_TARGETS];
    size_t ntargets, nprocesses;
    struct label_set labels[MAX_TARGETS];
};

static void release(void *owner)
{
    struct agent_rules *r = owner;
    selector_free(&r->pods);
    selector_free(&r->namespaces);
    labels_free(&r->external);
    labels_free(&r->defaults);
    for (size_t i = 0; i < MAX_TARGETS; i++)
        labels_free(&r->labels[i]);
    agent_options_free(&r->options);
    config_file_free(&r->file);
    free(r);
}

static void add_type(struct agent_rules *r, size_t *n, const char *name, bool built, bool usual)
{
    const struct event_kind *kind = event_kind_find(name);
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(r->types[i].name, name))
            return;
    if (*n < MAX_TYPES)
        r->types[(*n)++] = (struct policy_type){.name = name,
                                                .built = built,
                                                .usual = usual,
                                                .aliases = kind ? kind->aliases : NULL,
                                                .sampled = kind && kind->default_hz};
}

/* What is sampled comes first: its place is its bit in a want. */
static size_t make_types(struct agent_rules *r, const struct agent_events *events)
{
    size_t n = 0;
    for (size_t i = 0; i < events->n; i++)
        add_type(r, &n, events->names[i], true, i < events->usual);
    for (size_t i = 0; event_name(i); i++)
        add_type(r, &n, event_name(i), false, false);
    return n;
}

static int make_external(struct agent_rules *r, const char *node, struct buf *message)
{
    for (size_t i = 0; i < r->options.labels.n; i++) {
        const char *text = r->options.labels.v[i], *equals = strchr(text, '=');
        AUTO_FREE char *name = strndup(text, (size_t)(equals - text));
        int rc = name ? labels_set(&r->external, name, equals + 1) : -ENOMEM;
        if (rc) {
            buf_printf(message, "xprof agent: --label %s: %s\n", text, strerror(-rc));
            return rc;
        }
    }
    return labels_add(&r->external, "node", node) == -ENOMEM ? -ENOMEM : 0;
}

/* The map of labels at a path of the file. */
static int take_labels(struct agent_rules *r, const char *path, struct label_set *out, struct buf *message)
{
    char at[256];
    const char *key;
    unsigned line = 0;
    for (size_t i = 0; (key = config_file_key(r->file, path, i, &line)); i++) {
        snprintf(at, sizeof(at), "%s.%s", path, key);
        const char *value = config_file_take(r->file, at, NULL);
        int rc = value ? labels_set(out, key, value) : -EINVAL;
        if (rc) {
            buf_printf(message, "xprof agent: %s:%u: %s: not a valid label (%s)\n", config_file_name(r->file), line,
                       key, value ? strerror(-rc) : "a string is needed");
            return rc;
        }
    }
    return 0;
}

static const char *take_field(struct agent_rules *r, size_t i, const char *key, unsigned *line)
{
    char path[128];
    snprintf(path, sizeof(path), "targets.%zu.%s", i, key);
    return config_file_take(r->file, path, line);
}

/* A target by pid or comm. 1: it is one; 0: it is not; -EINVAL. */
static int take_process(struct agent_rules *r, size_t i, struct buf *message)
{
    unsigned line = 0;
    struct process_rule *p = &r->processes[r->nprocesses];
    const char *pid = take_field(r, i, "pid", &line);
    p->comm = take_field(r, i, "comm", &line);
    if (!pid && !p->comm)
        return 0;
    char *end = NULL;
    unsigned long number = pid ? strtoul(pid, &end, 10) : 0;
    if (pid && (*end || !number || number > UINT32_MAX)) {
        buf_printf(message, "xprof agent: %s:%u: pid: \"%s\" is not a process ID\n", config_file_name(r->file), line,
                   pid);
        return -EINVAL;
    }
    p->pid = (u32)number;
    p->labels = &r->labels[i];
    r->nprocesses++;
    return 1;
}

static int take_target(struct agent_rules *r, size_t i, struct buf *message)
{
    struct target_rule t = {.labels = &r->labels[i]};
    struct field {
        const char *key, **to;
    } fields[] = {
        {"container-id", &t.container_id}, {"name", &t.name}, {"image", &t.image}, {"pod", &t.pod},
        {"namespace", &t.namespace},       {"unit", &t.unit},
    };
    bool any = false;
    int process = take_process(r, i, message);
    for (size_t k = 0; k < sizeof(fields) / sizeof(*fields); k++)
        any |= (*fields[k].to = take_field(r, i, fields[k].key, NULL)) != NULL;
    if (process >= 0 && (process > 0) == any) {
        buf_printf(message,
                   "xprof agent: %s: target %zu: one of container-id, name, image, pod, namespace, unit is needed, or "
                   "pid and comm alone\n",
                   config_file_name(r->file), i + 1);
        return -EINVAL;
    }
    if (!process)
        r->targets[r->ntargets++] = t;
    char path[128];
    snprintf(path, sizeof(path), "targets.%zu.labels", i);
    return process < 0 ? process : take_labels(r, path, &r->labels[i], message);
}

static int take_targets(struct agent_rules *r, struct buf *message)
{
    size_t n = r->file ? config_file_items(r->file, "targets") : 0;
    if (n > MAX_TARGETS) {
        buf_printf(message, "xprof agent: more than %d targets\n", MAX_TARGETS);
        return -EINVAL;
    }
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = take_target(r, i, message);
    if (!rc && r->file)
        rc = take_labels(r, "default-target", &r->defaults, message);
    return !rc && r->file ? take_labels(r, "default-labels", &r->defaults, message) : rc; /* the same */
}

/* After everybody took what they know. */
static int check_left(const struct config_file *f, struct buf *message)
{
    unsigned line;
    const char *left = f ? config_file_left(f, &line) : NULL;
    if (!left)
        return 0;
    buf_printf(message, "xprof agent: %s:%u: there is no option \"%s\"\n", config_file_name(f), line, left);
    return -EINVAL;
}

static void make_policy(struct agent_rules *r, bool kube, size_t ntypes, struct policy *p)
{
    const struct agent_options *o = &r->options;
    *p = (struct policy){
        .targeting = kube ? POLICY_ANNOTATION : POLICY_ALL,
        .prefix = o->annotation_prefix,
        .include = (const char *const *)o->include_namespaces.v,
        .ninclude = o->include_namespaces.n,
        .exclude = (const char *const *)o->exclude_namespaces.v,
        .nexclude = o->exclude_namespaces.n,
        .pods = r->pods,
        .namespaces = r->namespaces,
        .rate_min = RATE_MIN,
        .rate_max = (unsigned)o->max_rate,
        .types = r->types,
        .ntypes = ntypes,
    };
    if (o->targeting)
        policy_targeting_from(o->targeting, &p->targeting);
}

static int fill(struct agent_rules *r, struct discover_rules *rules, const struct agent_events *events, bool kube,
                const char *node, struct buf *message)
{
    const struct agent_options *o = &r->options;
    char why[256];
    int rc = o->pod_selector ? selector_parse(&r->pods, o->pod_selector, why, sizeof(why)) : 0;
    if (!rc && o->namespace_selector)
        rc = selector_parse(&r->namespaces, o->namespace_selector, why, sizeof(why));
    if (!rc)
        rc = make_external(r, node, message);
    if (!rc)
        rc = take_targets(r, message);
    if (!rc)
        rc = check_left(r->file, message);
    if (rc)
        return rc;
    *rules = (struct discover_rules){
        .labels = {.node = node,
                   .pod_labels = (const char *const *)o->pod_labels.v,
                   .npod_labels = o->pod_labels.n,
                   .external = &r->external,
                   .image = o->image_label,
                   .version = o->image_label},
        .rate = (unsigned)o->rate,
        .events = (u32)((1ull << events->usual) - 1),
        .host_processes = o->host ? !strcmp(o->host, "on") : !kube,
        .pod_events = o->pod_events,
        .targets_only = o->targets_only,
        .rules = r->targets,
        .nrules = r->ntargets,
        .processes = r->processes,
        .nprocesses = r->nprocesses,
        .default_labels = &r->defaults,
        .owner = r,
        .release = release,
    };
    make_policy(r, kube, make_types(r, events), &rules->policy);
    rules->everything = rules->policy.targeting == POLICY_ALL;
    return 0;
}

int agent_rules_make(struct discover_rules *rules, struct agent_options *o, struct config_file **file,
                     const struct agent_events *events, bool kube, const char *node, struct buf *message)
{
    struct agent_rules *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->options = *o;
    r->file = *file;
    int rc = fill(r, rules, events, kube, node, message);
    if (rc) { /* they stay the caller's */
        r->options = (struct agent_options){0};
        r->file = NULL;
        release(r);
        return rc;
    }
    *o = (struct agent_options){0};
    *file = NULL;
    return 0;
}

const struct agent_options *agent_rules_options(const struct discover_rules *rules)
{
    return &((const struct agent_rules *)rules->owner)->options;
}

const struct label_set *agent_rules_labels(const struct discover_rules *rules)
{
    return &((const struct agent_rules *)rules->owner)->external;
}
