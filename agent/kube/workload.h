/* Finds the workload of a pod from names alone, so that no permission to read ReplicaSets or Jobs is needed.
 *
 * A Deployment names its ReplicaSets NAME-HASH and labels their pods pod-template-hash=HASH; a CronJob names its Jobs
 * NAME-TIME, the scheduled minute since 1970 (before Kubernetes 1.21: the second). All other owners are the workload
 * themselves.
 */
#pragma once
#include "kube/pairs.h"
#include <stdbool.h>
#include <stddef.h>

struct workload {
    const char *kind; /* constant, or borrowed from the arguments */
    const char *name; /* borrowed */
    size_t name_len;
};

/* Finds the workload from the pod's controller (kind and name of the ownerReference) and the pod's labels. */
struct workload workload_of_owner(const char *kind, const char *name, const struct kube_pairs *labels);
/* Finds the workload from the pod's name and labels; kind is "" if they are not sufficient. */
struct workload workload_of_labels(const char *pod, const struct kube_pairs *labels);
