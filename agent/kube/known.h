/* Remembers the keys of the objects that were reported, so that objects missing from a complete list can be reported as
 * removed. Sorted by key, limited in number.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define KNOWN_MAX 32768 /* objects: pods of a node (at most hundreds), or namespaces of a cluster */

struct known_entry {
    char *key; /* owned */
    u64 state; /* state of the object when it was reported; set by the caller */
    u64 round; /* the last list with this object, or its time; set by the caller */
};
struct known { /* {0} is empty */
    struct known_entry *v;
    size_t n, cap;
};

/* Returns the entry for this key, adding it if necessary (sets *added, which may be NULL); valid until the next call.
 * NULL: KNOWN_MAX is reached, or out of memory. */
struct known_entry *known_put(struct known *k, const char *key, bool *added);
/* Removes a key. Returns whether it existed. */
bool known_remove(struct known *k, const char *key);
/* Removes the entries that were last put before round `oldest`, and calls `gone` for each. */
void known_sweep(struct known *k, u64 oldest, void (*gone)(void *ctx, const char *key), void *ctx);
void known_free(struct known *k);
