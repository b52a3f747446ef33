/* Decides whether a pod is profiled. A pure function of the configuration and of the annotations and labels of the
 * pod and its namespace; it is evaluated again whenever one of these changes.
 *
 *   xprof.io/profile: "true" | "false" | "cpu,offcpu,..."    true: the default types
 *   xprof.io/rate: "49" | "cpu=49,page-faults=9"             samples per second, clamped to the configured limits
 *   xprof.io/offcpu-min: "100us"                             the time from which waits have stacks
 *   xprof.io/lock-min: "100us"                               the same of waits for locks
 *   xprof.io/containers: "app,sidecar"                       only these containers of the pod
 *   xprof.io/service-name: "checkout"                        the label service_name
 *   profiles.grafana.com/cpu.ebpf.enabled: "true" | "false"  used if there is no xprof.io/profile
 *
 * An annotation on the namespace is the default for its pods; an annotation on the pod takes precedence. `targeting`
 * determines what a pod needs to be profiled:
 *
 *   annotation  an annotation on the pod or its namespace requests it
 *   namespace   its namespace is annotated, or listed in `include`; the pod's annotation selects types or opts out,
 *               but a pod cannot opt in on its own
 *   all         nothing; an annotation on the pod or its namespace can opt out
 *
 * Regardless of annotations, these pods are never profiled: those of a namespace listed in `exclude`; with targeting
 * annotation or all, those of a namespace not listed in a non-empty `include`; those that the selectors do not match;
 * and those whose namespace labels are unknown although there is a namespace selector.
 *
 * Invalid values are never guessed: they are ignored with a warning. If no part of an `xprof.io/profile` is valid, the
 * pod is not profiled; the same holds for an `xprof.io/containers` that names no container.
 */
#pragma once
#include "bpf/types.h"
#include "kube/pairs.h"
#include "kube/selector.h"
#include <stdbool.h>

#define POLICY_PREFIX     "xprof.io"
#define POLICY_KEY_MAX    320 /* an annotation's key: a prefix of 253 bytes, '/', the name */
#define WANTS_CONTAINERS  16
#define WANTS_WARNINGS    8
#define WANTS_SERVICE_MAX 255 /* bytes of a service name */

enum policy_targeting { POLICY_ANNOTATION, POLICY_NAMESPACE, POLICY_ALL };

/* A profile type by name. Its index in the table is its bit in `events`: those that are built are the first ones,
 * at most 32. */
struct policy_type {
    const char *name;
    bool built;                 /* false: valid, but this agent does not record it */
    bool usual;                 /* one of the types selected by "true" */
    const char *const *aliases; /* names that stand for `name`, NULL behind the last; NULL: none */
    bool sampled;               /* it has a rate; others are counted exactly */
};

struct policy { /* everything is borrowed */
    enum policy_targeting targeting;
    const char *prefix;                          /* prefix of the annotations; NULL: POLICY_PREFIX */
    const char *const *include, *const *exclude; /* namespaces; '*' stands for any characters */
    size_t ninclude, nexclude;
    const struct selector *pods, *namespaces; /* by label; NULL: all */
    unsigned rate_min, rate_max;              /* limits for the annotation; samples per second */
    const struct policy_type *types;
    size_t ntypes;
};

/* What is known about a pod and its namespace; NULL if unknown (for example, without permission to read namespaces). */
struct policy_facts {
    const char *namespace;
    const struct kube_pairs *annotations, *labels;
    const struct kube_pairs *namespace_annotations, *namespace_labels;
};

#define WANTS_OFFCPU_MIN 1000ull
#define WANTS_OFFCPU_MAX 50000000ull

struct wants { /* plain data: copied by assignment */
    bool profiled;
    u32 events;        /* bits of policy.types; 0 when not profiled */
    unsigned rate;     /* samples per second; 0: the default */
    u16 rates[32];     /* of single types, by their bit; 0: `rate` */
    u64 offcpu_min_ns; /* how long waits are that have stacks; 0: the default */
    u64 lock_min_ns;   /* the same of waits for locks; 0: offcpu_min_ns */
    size_t ncontainers;
    char containers[WANTS_CONTAINERS][64];    /* only these; none: all */
    char service_name[WANTS_SERVICE_MAX + 1]; /* "": not given */
    char reason[160];                         /* why or why not, as one line of text */
    size_t nwarnings;                         /* number of lines below; further ones are dropped */
    char warnings[WANTS_WARNINGS][160];       /* what was ignored and why; no control characters */
};

/* Writes the key of the i-th annotation that decisions depend on; false past the last one. */
bool policy_annotation(char key[POLICY_KEY_MAX], const struct policy *p, size_t i);
void policy_decide(struct wants *out, const struct policy *p, const struct policy_facts *facts);
/* Tells whether both ask for the same, for whatever reasons. */
bool wants_same(const struct wants *a, const struct wants *b);
/* Tells whether to profile this container of a profiled pod. */
bool wants_container(const struct wants *w, const char *name);

/* "annotation", "namespace" or "all". 0 or -EINVAL. */
int policy_targeting_from(const char *name, enum policy_targeting *out);
/* Tells whether `text` matches a pattern in which '*' stands for any characters. */
bool policy_glob(const char *pattern, const char *text);
