/* Holds the parts of pods and namespaces (core/v1) that the agent needs: kube_pod and kube_namespace. Made from JSON
 * that a server sent, or field by field from what a container runtime tells of a sandbox. Texts are never NULL but "",
 * bounded in length; labels, annotations and containers are bounded in number, and what does not fit is left out and
 * counted.
 */
#pragma once
#include "bpf/types.h"
#include "kube/pairs.h"
#include <stdbool.h>
#include <stddef.h>

#define KUBE_CONTAINERS_MAX 64
#define KUBE_TEXT_MAX       1024 /* bytes of any single text: names are at most 253, images rarely 300 */

struct json;

struct kube_container {
    char *name, *id, *last_id, *image; /* id: without "containerd://"; last_id: of the one that ran before a restart */
    bool init, ephemeral, running;
};

struct kube_pod {
    char *uid;         /* as the API knows it */
    char *runtime_uid; /* as kubelet, CRI and cgroups know it: another one for static pods, else the same */
    char *namespace, *name, *node, *phase, *ip, *resource_version;
    char *workload_kind, *workload_name; /* "Deployment" "web"; "" for a pod that nobody owns */
    u64 started;                         /* seconds since 1970; 0: not yet */
    bool deleting;
    struct kube_pairs labels, annotations;
    struct kube_container *containers;
    size_t ncontainers;
    unsigned left_out; /* labels, annotations, containers and texts that did not fit */
};

struct kube_namespace {
    char *name, *resource_version;
    bool deleting;
    struct kube_pairs labels, annotations;
    unsigned left_out;
};

/* 0; -EBADMSG it has no uid, namespace or name (so it is no pod); -ENOMEM. */
int kube_pod_from_json(struct kube_pod **out, const struct json *j);
/* A pod of which only this is known yet; the rest is "", and can be added: pairs, containers. 0 or -ENOMEM. */
int kube_pod_new(struct kube_pod **out, const char *uid, const char *namespace, const char *name);
void kube_pod_free(struct kube_pod **p);
/* The owned text at `field` becomes a copy of `text`; longer ones are cut. 0 or -ENOMEM. */
int kube_pod_set(char **field, const char *text);
/* Finds workload_kind and workload_name by labels that controllers set, for a pod whose owner nobody told: sandboxes of
 * a runtime carry labels, but no owner. Leaves "" what they do not prove. 0 or -ENOMEM. */
int kube_pod_guess_workload(struct kube_pod *p);
/* NULL when there is no such container. `id` is the whole one; the one before a restart counts. */
const struct kube_container *kube_pod_container(const struct kube_pod *p, const char *id);

int kube_namespace_from_json(struct kube_namespace **out, const struct json *j);
void kube_namespace_free(struct kube_namespace **n);
