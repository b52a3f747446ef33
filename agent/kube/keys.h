/* Names the annotations and labels of a namespace that a policy looks at. A cluster has thousands of namespaces, each
 * with up to 256 KiB of annotations; only the values of these keys are kept of them.
 */
#pragma once
#include "base/vec.h"
#include "kube/policy.h"

struct kube_key_list {
    VEC(char *) all; /* owned */
};
struct kube_keys {
    struct kube_key_list annotations, labels;
    unsigned number; /* set by the caller: objects that are read with these keys get it */
};

/* Returns 0 or -ENOMEM. */
int kube_keys_new(struct kube_keys **out, const struct policy *p);
void kube_keys_free(struct kube_keys **k);
bool kube_keys_equal(const struct kube_keys *a, const struct kube_keys *b);
bool kube_key_listed(const struct kube_key_list *l, const char *key);
