/* Splits a stream of bytes into lines, independently of how it is cut into pieces. A line longer than the limit is
 * skipped and counted; memory grows to the longest line seen, never beyond the limit. Empty lines are ignored.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct lines { /* initialize with {.max = bytes} */
    size_t max;
    struct buf line; /* line whose end has not arrived yet */
    bool skipping;
    u64 oversize; /* lines skipped: too long, or out of memory */
};

/* Calls `each` for every line that ends in these bytes, without the line end. Returns false if `each` did; the
 * remaining bytes are then not read. */
bool lines_feed(struct lines *l, const char *data, size_t n, bool (*each)(void *ctx, const char *line, size_t len),
                void *ctx);
void lines_free(struct lines *l);
