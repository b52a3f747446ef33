/* Remembers the keys of the objects that were reported, so that objects missing from a complete list can be reported as
 * removed. Sorted by key, bounded in number.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define KNOWN_MAX 32768 /* objects: pods of a node (at most hundreds), or namespaces of a cluster */

struct known_entry {
    char *key; /* owned */
    u64 state; /* of the object when it was told of; the caller's */
    u64 round; /* the last list that held it, or when that was; the caller's */
};
struct known { /* {0} is empty */
    struct known_entry *v;
    size_t n, cap;
};

/* The entry for this key, made if need be (*added says so, and may be NULL); valid until the next call. NULL: KNOWN_MAX
 * or no memory. */
struct known_entry *known_put(struct known *k, const char *key, bool *added);
/* Whether it was there. */
bool known_remove(struct known *k, const char *key);
/* Removes what was last put before round `oldest`, calling `gone` for each. */
void known_sweep(struct known *k, u64 oldest, void (*gone)(void *ctx, const char *key), void *ctx);
void known_free(struct known *k);
