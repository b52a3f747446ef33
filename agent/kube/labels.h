/* Makes the label set of a pod's container for its profiles. A pure function. In this order, of which an earlier one is
 * never replaced or crowded out by a later:
 *
 *   namespace pod container node workload_kind workload_name service_name service_namespace service_instance_id
 *   the operator's external labels (cluster="eu-1")
 *   image, version (by option)
 *   the pod labels that the operator chose, their names made clean (app.kubernetes.io/part-of:
 * app_kubernetes_io_part_of)
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
    const char *node;       /* NULL: what the pod says */
    const char *const *pod_labels;
    size_t npod_labels;
    const struct label_set *external; /* NULL: none */
    bool image;                       /* image="registry/name:tag" */
    bool version;                     /* version=: label app.kubernetes.io/version, else the image's tag */
};

/* `container` is its name, `c` what else is known of it (or NULL), `wants` the pod's (or NULL). 0 or -ENOMEM; *left_out
 * (may be NULL) is the number of labels for which there was no room. `out` holds nothing before. */
int kube_labels(struct label_set *out, const struct kube_pod *pod, const char *container,
                const struct kube_container *c, const struct wants *wants, const struct kube_label_options *options,
                unsigned *left_out);
