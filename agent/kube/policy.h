/* Decides whether a pod is profiled. A pure function of the annotations and labels of pod and namespace and of the
 * configuration; it is evaluated again whenever one of these changes.
 *
 *   xprof.io/profile: "true" | "false" | "cpu,offcpu,..."    true: the default types
 *   xprof.io/rate: "49"                                      samples a second, moved into the configured bounds
 *   xprof.io/containers: "app,sidecar"                       only these containers of the pod
 *   xprof.io/service-name: "checkout"                        the label service_name
 *   profiles.grafana.com/cpu.ebpf.enabled: "true" | "false"  counts when xprof.io/profile is not there
 *
 * Each may stand on the pod, or on its namespace as the default of its pods; the pod's wins. `targeting` says what a
 * pod needs for being profiled:
 *
 *   annotation  its own annotation or its namespace's asks for it
 *   namespace   its namespace asks for it, by annotation or by being listed in `include`; the pod's annotation chooses
 *               types or opts out, but a pod cannot opt in by itself
 *   all         nothing; its annotation or its namespace's may opt out
 *
 * Before that, and whatever is annotated: a namespace listed in `exclude`, or (targeting annotation and all) not listed
 * in a non-empty `include`, is left alone, and so is a pod that the selectors do not match, or whose namespace's labels
 * are selected by but cannot be known.
 *
 * What cannot be understood is never guessed: it becomes a warning and counts for nothing. An `xprof.io/profile` of
 * which nothing is understood profiles nothing, and so does an `xprof.io/containers` that names no container.
 */
#pragma once
#include "bpf/types.h"
#include "kube/pairs.h"
#include "kube/selector.h"
#include <stdbool.h>

#define POLICY_PREFIX     "xprof.io"
#define WANTS_CONTAINERS  16
#define WANTS_WARNINGS    8
#define WANTS_SERVICE_MAX 255 /* bytes of a service name */

enum policy_targeting { POLICY_ANNOTATION, POLICY_NAMESPACE, POLICY_ALL };

/* A profile type by name; its place in the table is its bit in `events`. At most 32. */
struct policy_type {
    const char *name;
    bool built; /* false: part of the grammar, but not of this version */
    bool usual; /* one of those that "true" means */
};

struct policy { /* everything is borrowed */
    enum policy_targeting targeting;
    const char *prefix;                          /* of the annotations; NULL: POLICY_PREFIX */
    const char *const *include, *const *exclude; /* namespaces; '*' stands for any characters */
    size_t ninclude, nexclude;
    const struct selector *pods, *namespaces; /* by label; NULL: all */
    unsigned rate_min, rate_max;              /* for the annotation; samples a second */
    const struct policy_type *types;
    size_t ntypes;
};

/* What is known of a pod and its namespace; NULL where nothing is (no right to read namespaces, say). */
struct policy_facts {
    const char *namespace;
    const struct kube_pairs *annotations, *labels;
    const struct kube_pairs *namespace_annotations, *namespace_labels;
};

struct wants { /* plain data: copied by assignment */
    bool profiled;
    u32 events;    /* bits of policy.types; 0 when not profiled */
    unsigned rate; /* samples a second; 0: the default */
    size_t ncontainers;
    char containers[WANTS_CONTAINERS][64];    /* only these; none: all */
    char service_name[WANTS_SERVICE_MAX + 1]; /* "": not given */
    char reason[160];                         /* why or why not: one clean line for people */
    size_t nwarnings;                         /* lines below; more are not kept */
    char warnings[WANTS_WARNINGS][160];       /* what was ignored and why: clean text */
};

void policy_decide(struct wants *out, const struct policy *p, const struct policy_facts *facts);
/* Is this container of a profiled pod wanted? */
bool wants_container(const struct wants *w, const char *name);

/* "annotation", "namespace" or "all". 0 or -EINVAL. */
int policy_targeting_from(const char *name, enum policy_targeting *out);
/* Does `text` match a pattern in which '*' stands for any characters? */
bool policy_glob(const char *pattern, const char *text);
