/* The rules of the configuration: what is profiled and how it is labelled. A reload replaces them as a whole.
 */
#pragma once
#include "kube/labels.h"
#include "kube/policy.h"
#include "publish/publish.h"

/* A target of the configuration: whatever matches gets the labels. Patterns may contain '*'; NULL matches anything. */
struct target_rule {
    const char *container_id, *name, *image, *pod, *namespace, *unit;
    const struct label_set *labels;
};

/* The operator's decisions, replaced as a whole on reload. Everything is borrowed from `owner`. */
struct discover_rules {
    struct policy policy;
    struct kube_label_options labels;
    unsigned rate;       /* samples per second unless a pod requests another rate */
    u32 events;          /* bits of the events that are sampled by default */
    bool everything;     /* profile containers that belong to no pod */
    bool host_processes; /* also profile processes outside of containers */
    bool pod_events;     /* post warnings about annotations as Events */
    bool targets_only;   /* profile only what a rule matches */
    const struct target_rule *rules;
    size_t nrules;
    const struct process_rule *processes; /* the same, by program or PID */
    size_t nprocesses;
    const struct label_set *default_labels; /* labels of whatever no rule matches; NULL: none */
    void *owner;
    void (*release)(void *owner); /* called once nothing refers to the rules any longer */
};

enum discover_kube { DISCOVER_NO_KUBE, DISCOVER_BY_CRI, DISCOVER_BY_KUBE }; /* by API server or kubelet */
