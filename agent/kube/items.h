/* Splits a List of the API into objects while it arrives.
 *
 *   {"kind":"PodList","metadata":{...},"items":[{...},{...}]}
 *
 * A list may hold every pod of a node, and a parsed tree takes ten times the memory of the text. So each object of
 * "items" is passed on as text as soon as it is complete, and the rest is kept as the head of the list,
 * {"kind":..,"metadata":..,"items":[]}. Only brackets and strings are parsed here; the readers of the pieces check that
 * they are JSON.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define ITEMS_HEAD_MAX (256 * 1024)

struct items { /* initialize with {.max = bytes of one object} */
    size_t max;
    struct buf head; /* the list without its objects */
    struct buf item; /* the object that is not complete yet */
    unsigned depth;
    bool quoted, escaped, inside; /* inside: in the array "items" */
    bool skipping;                /* this object is too long */
    bool broken;                  /* not a list: unbalanced brackets, or the head is too long */
    char key[8];                  /* last string at depth 1, possibly truncated */
    size_t key_len;
    u64 oversize; /* objects skipped: too long, or out of memory */
};

/* Calls `each` for every object that ends in these bytes. Returns false if `each` did, or if the bytes are not a
 * list. */
bool items_feed(struct items *t, const char *data, size_t n, bool (*each)(void *ctx, const char *object, size_t len),
                void *ctx);
/* Tells whether the whole list has arrived. */
bool items_complete(const struct items *t);
void items_free(struct items *t);
