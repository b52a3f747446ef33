#include "kube/keys.h"
#include "base/cleanup.h"
#include <errno.h>
#include <string.h>

static int add(struct kube_key_list *l, const char *key)
{
    AUTO_FREE char *copy = strdup(key);
    char **slot = copy ? VEC_PUSH(&l->all) : NULL;
    if (!slot)
        return -ENOMEM;
    *slot = TAKE_PTR(copy);
    return 0;
}

int kube_keys_new(struct kube_keys **out, const struct policy *p)
{
    CLEANUP(kube_keys_free) struct kube_keys *k = calloc(1, sizeof(*k));
    char key[POLICY_KEY_MAX];
    int rc = k ? 0 : -ENOMEM;
    for (size_t i = 0; !rc && policy_annotation(key, p, i); i++)
        rc = add(&k->annotations, key);
    const char *label;
    for (size_t i = 0; !rc && (label = selector_key(p->namespaces, i)); i++)
        rc = add(&k->labels, label);
    if (!rc)
        *out = TAKE_PTR(k);
    return rc;
}

static void free_list(struct kube_key_list *l)
{
    for (size_t i = 0; i < l->all.n; i++)
        free(l->all.v[i]);
    vec_free(&l->all);
}

void kube_keys_free(struct kube_keys **k)
{
    if (!*k)
        return;
    free_list(&(*k)->annotations);
    free_list(&(*k)->labels);
    free(TAKE_PTR(*k));
}

static bool lists_equal(const struct kube_key_list *a, const struct kube_key_list *b)
{
    for (size_t i = 0; i < a->all.n && i < b->all.n; i++)
        if (strcmp(a->all.v[i], b->all.v[i]) != 0)
            return false;
    return a->all.n == b->all.n;
}

bool kube_keys_equal(const struct kube_keys *a, const struct kube_keys *b)
{
    return lists_equal(&a->annotations, &b->annotations) && lists_equal(&a->labels, &b->labels);
}

bool kube_key_listed(const struct kube_key_list *l, const char *key)
{
    for (size_t i = 0; i < l->all.n; i++)
        if (!strcmp(l->all.v[i], key))
            return true;
    return false;
}
