/* Builds the label set for the profiles of a pod's container. A pure function. Labels are added in this order; an
 * earlier label is never replaced or crowded out by a later one:
 *
 *   namespace pod container node workload_kind workload_name service_name service_namespace service_instance_id
 *   the operator's external labels (cluster="eu-1")
 *   image, version (by option)
 *   the pod labels selected by the operator, with sanitised names
 *   (app.kubernetes.io/part-of: app_kubernetes_io_part_of)
 *
 * service_name is the first of: the annotation xprof.io/service-name, the annotation
 * resource.opentelemetry.io/service.name, the label app.kubernetes.io/instance, the label app.kubernetes.io/name, the
 * workload, the pod, the container (the order of Grafana's k8s-monitoring chart).
 */
#pragma once
#include "base/labels.h"
#include "kube/pod.h"
#include "kube/policy.h"

struct kube_label_options { /* everything is borrowed */
    const char *node;       /* NULL: the node named by the pod */
    const char *const *pod_labels;
    size_t npod_labels;
    const struct label_set *external; /* NULL: none */
    bool image;                       /* image="registry/name:tag" */
    bool version;                     /* version=: label app.kubernetes.io/version, else the image's tag */
};

/* `container` is the container's name, `c` its other data (or NULL), `wants` the evaluated annotations of the pod (or
 * NULL). `out` must be empty. *left_out (may be NULL) is set to the number of labels that did not fit. Returns 0 or
 * -ENOMEM. */
int kube_labels(struct label_set *out, const struct kube_pod *pod, const char *container,
                const struct kube_container *c, const struct wants *wants, const struct kube_label_options *options,
                unsigned *left_out);
