/* Keeps the namespaces of the cluster, of which there may be thousands more than this node has pods of: sorted by name,
 * limited in the bytes of their annotations and labels. Each may have its share of them; only those that want more are
 * refused when the rest is used up.
 */
#pragma once
#include "kube/known.h"
#include "kube/pod.h"

#define NAMESPACES_BYTES (8 << 20)                      /* annotations and labels of those with more than their share */
#define NAMESPACES_SHARE (NAMESPACES_BYTES / KNOWN_MAX) /* of each */

struct namespaces { /* {0} is empty */
    VEC(struct kube_namespace *) all;
    size_t bytes; /* of those with more than their share */
    u64 refused;  /* in total */
};

/* NULL: it is not known. */
const struct kube_namespace *namespaces_find(const struct namespaces *s, const char *name);
/* Takes ownership and replaces the one of the same name. Returns 0; -ENOSPC: a limit was reached, -ENOMEM: in both
 * cases the one of that name is gone. */
int namespaces_put(struct namespaces *s, struct kube_namespace *ns);
void namespaces_remove(struct namespaces *s, const char *name);
void namespaces_free(struct namespaces *s);
