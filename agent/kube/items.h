/* Splits a List of the API into objects while it arrives.
 *
 *   {"kind":"PodList","metadata":{...},"items":[{...},{...}]}
 *
 * A list may hold every pod of a node, ten times as much when it is a tree: so each object of "items" is handed on as
 * text as soon as it is whole, and the rest is kept as the list's head, {"kind":..,"metadata":..,"items":[]}. Brackets
 * and strings are all that is understood here; whether it is JSON at all, the reader of the pieces finds out.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define ITEMS_HEAD_MAX (256 * 1024)

struct items { /* {.max = bytes of one object} is ready */
    size_t max;
    struct buf head; /* the list without its objects */
    struct buf item; /* the object that has not ended yet */
    unsigned depth;
    bool quoted, escaped, inside; /* inside: of the array "items" */
    bool skipping;                /* this object is too long */
    bool broken;                  /* more closed than opened, or a head without end: no list */
    char key[8];                  /* the last string at depth 1, or its beginning */
    size_t key_len;
    u64 oversize; /* objects that were too long, or for which there was no memory */
};

/* Calls `each` for every object that ends in these bytes. False: `each` said so, or the bytes are no list. */
bool items_feed(struct items *t, const char *data, size_t n, bool (*each)(void *ctx, const char *object, size_t len),
                void *ctx);
/* Has the whole list arrived? */
bool items_complete(const struct items *t);
void items_free(struct items *t);
