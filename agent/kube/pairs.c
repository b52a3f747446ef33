#include "kube/pairs.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct kube_pair *find(const struct kube_pairs *p, const char *key)
{
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->v[i].key, key))
            return &p->v[i];
    return NULL;
}

static int make(struct kube_pair *out, const char *key, const char *value, size_t *bytes)
{
    size_t k = strlen(key) + 1, v = strnlen(value, KUBE_PAIR_VALUE_MAX);
    char *both = malloc(k + v + 1);
    if (!both)
        return -ENOMEM;
    memcpy(both, key, k);
    memcpy(both + k, value, v);
    both[k + v] = 0;
    *out = (struct kube_pair){both, both + k};
    *bytes = k + v + 1;
    return 0;
}

int kube_pairs_add(struct kube_pairs *p, const char *key, const char *value)
{
    struct kube_pair *old = find(p, key), pair;
    size_t bytes;
    if (!*key)
        return -EBADMSG;
    if (!old && p->n == KUBE_PAIRS_MAX)
        return -ENOSPC;
    if (p->bytes + strlen(key) + strnlen(value, KUBE_PAIR_VALUE_MAX) + 2 > KUBE_PAIRS_BYTES)
        return -ENOSPC;
    if (!old && !(p->n & (p->n - 1))) { /* at 0 and every power of two: room for twice as many */
        struct kube_pair *v = reallocarray(p->v, p->n ? 2 * p->n : 1, sizeof(*v));
        if (!v)
            return -ENOMEM;
        p->v = v;
    }
    int rc = make(&pair, key, value, &bytes);
    if (rc)
        return rc;
    if (old)
        free(old->key);
    *(old ? old : &p->v[p->n++]) = pair;
    p->bytes += bytes;
    return 0;
}

const char *kube_pairs_get(const struct kube_pairs *p, const char *key)
{
    const struct kube_pair *pair = p ? find(p, key) : NULL;
    return pair ? pair->value : NULL;
}

void kube_pairs_free(struct kube_pairs *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].key);
    free(p->v);
    *p = (struct kube_pairs){0};
}
