/* The rules of the configuration: what is profiled and how it is labelled. A reload replaces them as a whole.
 */
#pragma once
#include "kube/labels.h"
#include "kube/policy.h"
#include "publish/publish.h"

/* A target of the configuration: what matches gets the labels. Patterns with '*'; NULL: any. */
struct target_rule {
    const char *container_id, *name, *image, *pod, *namespace, *unit;
    const struct label_set *labels;
};

/* What the operator decided; replaced as a whole on reload. Everything is borrowed from `owner`. */
struct discover_rules {
    struct policy policy;
    struct kube_label_options labels;
    unsigned rate;       /* samples a second where nobody asks for another one */
    u32 events;          /* bits of those that are sampled without being asked for */
    bool everything;     /* containers that belong to no pod are profiled */
    bool host_processes; /* and so is what runs in no container */
    bool pod_events;     /* warnings about annotations are posted as Events */
    bool targets_only;   /* only what a rule matches */
    const struct target_rule *rules;
    size_t nrules;
    const struct process_rule *processes; /* the same by program or pid */
    size_t nprocesses;
    const struct label_set *default_labels; /* of what no rule matches; NULL: none */
    void *owner;
    void (*release)(void *owner); /* called when nothing refers to it any more */
};

enum discover_kube { DISCOVER_NO_KUBE, DISCOVER_BY_CRI, DISCOVER_BY_KUBE }; /* by API server or kubelet */
