/* Holds the parts of pods and namespaces (core/v1) that the agent needs: kube_pod and kube_namespace. They are built
 * from a server's JSON, or field by field from a sandbox of a container runtime. Texts are never NULL (but may be "")
 * and limited in length. The number of labels, annotations and containers is limited; those that do not fit are left
 * out and counted.
 */
#pragma once
#include "bpf/types.h"
#include "kube/keys.h"
#include <stdbool.h>
#include <stddef.h>

#define KUBE_CONTAINERS_MAX 64
#define KUBE_TEXT_MAX       1024 /* bytes of any single text: names are at most 253, images rarely 300 */

struct json;

struct kube_container {
    char *name, *id, *last_id, *image; /* id: without "containerd://"; last_id: ID before the last restart */
    bool init, ephemeral, running;
};

struct kube_pod {
    char *uid;         /* as in the API */
    char *runtime_uid; /* as in kubelet, CRI and cgroups: differs from uid for static pods */
    char *namespace, *name, *node, *phase, *ip, *resource_version;
    char *workload_kind, *workload_name; /* "Deployment" "web"; "" for a pod without owner */
    u64 started;                         /* seconds since 1970; 0: not yet */
    bool deleting;
    struct kube_pairs labels, annotations;
    struct kube_container *containers;
    size_t ncontainers;
    unsigned left_out; /* labels, annotations, containers and texts that did not fit */
};

struct kube_namespace {
    char *name;
    struct kube_pairs labels, annotations;
    unsigned left_out;
    unsigned keys; /* number of the kube_keys that it was read with */
};

/* Returns 0; -EBADMSG: UID, namespace or name is missing, so it is not a pod; -ENOMEM. */
int kube_pod_from_json(struct kube_pod **out, const struct json *j);
/* Creates a pod of which only these fields are known. The other texts are ""; pairs and containers can be added.
 * Returns 0 or -ENOMEM. */
int kube_pod_new(struct kube_pod **out, const char *uid, const char *namespace, const char *name);
void kube_pod_free(struct kube_pod **p);
/* Whether all its containers have ended for good, as its phase says. */
bool kube_pod_is_over(const struct kube_pod *p);
/* Replaces the owned text at `field` with a copy of `text`, truncated if too long. Returns 0 or -ENOMEM. */
int kube_pod_set(char **field, const char *text);
/* Derives workload_kind and workload_name from labels that controllers set, for a pod without a known owner: sandboxes
 * of a runtime have labels, but no owner. Fields that cannot be derived stay "". Returns 0 or -ENOMEM. */
int kube_pod_guess_workload(struct kube_pod *p);
/* Finds a container by its full ID, or by its ID before a restart. NULL: there is no such container. */
const struct kube_container *kube_pod_container(const struct kube_pod *p, const char *id);

/* Keeps the labels and annotations that `keys` lists. Returns 0; -EBADMSG: there is no name; -ENOMEM. */
int kube_namespace_from_json(struct kube_namespace **out, const struct json *j, const struct kube_keys *keys);
void kube_namespace_free(struct kube_namespace **n);
