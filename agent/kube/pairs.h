/* Holds the labels or annotations of a pod or namespace, keys as Kubernetes writes them ("app.kubernetes.io/name").
 * Bounded in number and bytes; what does not fit is left out and counted by whoever fills it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define KUBE_PAIRS_MAX      256
#define KUBE_PAIRS_BYTES    (256 * 1024) /* the API server's own limit for the annotations of an object */
#define KUBE_PAIR_VALUE_MAX 4096         /* longer values are cut: nothing that we read may be so long */

struct kube_pair {
    char *key, *value; /* one allocation, owned through key */
};
struct kube_pairs { /* {0} is empty */
    struct kube_pair *v;
    size_t n, bytes;
};

/* Adds a pair; a key that is there already keeps its place and gets the value. 0; -ENOSPC a bound was hit; -EBADMSG the
 * key is empty; -ENOMEM. */
int kube_pairs_add(struct kube_pairs *p, const char *key, const char *value);
/* NULL when the key is not there, or `p` is NULL. */
const char *kube_pairs_get(const struct kube_pairs *p, const char *key);
void kube_pairs_free(struct kube_pairs *p);
