#include "kube/known.h"
#include <stdlib.h>
#include <string.h>

/* Where `key` stands, or would stand. */
static size_t place_of(const struct known *k, const char *key, bool *found)
{
    size_t low = 0, high = k->n;
    *found = false;
    while (low < high && !*found) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(k->v[mid].key, key);
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
        *found = !c;
    }
    return *found ? high : low;
}

static bool grow(struct known *k)
{
    size_t cap = k->cap ? 2 * k->cap : 64;
    struct known_entry *v = k->n == KNOWN_MAX ? NULL : reallocarray(k->v, cap, sizeof(*v));
    if (!v)
        return false;
    k->v = v;
    k->cap = cap;
    return true;
}

struct known_entry *known_put(struct known *k, const char *key, bool *added)
{
    bool found;
    size_t i = place_of(k, key, &found);
    if (added)
        *added = !found;
    if (found)
        return &k->v[i];
    if (k->n == k->cap && !grow(k))
        return NULL;
    char *copy = strdup(key);
    if (!copy)
        return NULL;
    memmove(&k->v[i + 1], &k->v[i], (k->n - i) * sizeof(k->v[0]));
    k->v[i] = (struct known_entry){.key = copy};
    k->n++;
    return &k->v[i];
}

bool known_remove(struct known *k, const char *key)
{
    bool found;
    size_t i = place_of(k, key, &found);
    if (!found)
        return false;
    free(k->v[i].key);
    k->n--;
    memmove(&k->v[i], &k->v[i + 1], (k->n - i) * sizeof(k->v[0]));
    return true;
}

void known_sweep(struct known *k, u64 oldest, void (*gone)(void *ctx, const char *key), void *ctx)
{
    size_t left = 0;
    for (size_t i = 0; i < k->n; i++) {
        if (k->v[i].round >= oldest) {
            k->v[left++] = k->v[i];
            continue;
        }
        gone(ctx, k->v[i].key);
        free(k->v[i].key);
    }
    k->n = left;
}

void known_free(struct known *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->v[i].key);
    free(k->v);
    *k = (struct known){0};
}
