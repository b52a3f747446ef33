#include "discover/namespaces.h"
#include <errno.h>
#include <string.h>

/* Where the name stands, or would stand. */
static size_t place_of(const struct namespaces *s, const char *name, bool *found)
{
    size_t low = 0, high = s->all.n;
    *found = false;
    while (low < high && !*found) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(s->all.v[mid]->name, name);
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
        *found = !c;
    }
    return high;
}

static size_t beyond_share(const struct kube_namespace *ns)
{
    size_t n = ns->annotations.bytes + ns->labels.bytes;
    return n > NAMESPACES_SHARE ? n : 0;
}

const struct kube_namespace *namespaces_find(const struct namespaces *s, const char *name)
{
    bool found;
    size_t i = place_of(s, name, &found);
    return found ? s->all.v[i] : NULL;
}

int namespaces_put(struct namespaces *s, struct kube_namespace *ns)
{
    bool found;
    namespaces_remove(s, ns->name);
    size_t i = place_of(s, ns->name, &found), beyond = beyond_share(ns);
    bool full = s->all.n == KNOWN_MAX || (beyond && s->bytes + beyond > NAMESPACES_BYTES);
    if (full || VEC_RESERVE(&s->all, s->all.n + 1)) {
        kube_namespace_free(&ns);
        s->refused++;
        return full ? -ENOSPC : -ENOMEM;
    }
    memmove(&s->all.v[i + 1], &s->all.v[i], (s->all.n - i) * sizeof(*s->all.v));
    s->all.v[i] = ns;
    s->all.n++;
    s->bytes += beyond;
    return 0;
}

void namespaces_remove(struct namespaces *s, const char *name)
{
    bool found;
    size_t i = place_of(s, name, &found);
    if (!found)
        return;
    s->bytes -= beyond_share(s->all.v[i]);
    kube_namespace_free(&s->all.v[i]);
    s->all.n--;
    memmove(&s->all.v[i], &s->all.v[i + 1], (s->all.n - i) * sizeof(*s->all.v));
}

void namespaces_free(struct namespaces *s)
{
    for (size_t i = 0; i < s->all.n; i++)
        kube_namespace_free(&s->all.v[i]);
    vec_free(&s->all);
    *s = (struct namespaces){.refused = s->refused};
}
