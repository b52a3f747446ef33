/* Holds the labels or annotations of a pod or namespace, keys as Kubernetes writes them ("app.kubernetes.io/name").
 * Limited in number and bytes; pairs that do not fit are left out, and counted by the caller.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define KUBE_PAIRS_MAX      256
#define KUBE_PAIRS_BYTES    (256 * 1024) /* the API server's own limit for the annotations of an object */
#define KUBE_PAIR_VALUE_MAX 4096         /* longer values are truncated; no value that xprof uses may be that long */

struct kube_pair {
    char *key, *value; /* one allocation, owned through key */
};
struct kube_pairs { /* {0} is empty */
    struct kube_pair *v;
    size_t n, bytes;
};

/* Adds a pair; an existing key keeps its position and gets the value. Returns 0; -ENOSPC: a limit is reached; -EBADMSG:
 * the key is empty; -ENOMEM. */
int kube_pairs_add(struct kube_pairs *p, const char *key, const char *value);
/* Returns the value of `key`; NULL: there is no such key, or `p` is NULL. */
const char *kube_pairs_get(const struct kube_pairs *p, const char *key);
void kube_pairs_free(struct kube_pairs *p);
