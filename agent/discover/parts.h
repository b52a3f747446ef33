/* Numbers the sets of rates that pods request for single events (annotation xprof.io/rate: "cpu=49,page-faults=9"), so
 * that a want can name one. Pods with the same rates share a row, so there are few.
 *
 *     parts_row  -> the number of a set, which is new if nobody has requested it so far
 *     parts_tell -> tells the kernel side what is in a row, before a want names it
 *
 * When every pod is judged again, rows that none of them has used meanwhile become free (parts_begin, parts_end). Owned
 * by the discovery thread.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>

struct part_row {
    struct xp_parts parts;
    bool told, used; /* the kernel side knows it; since parts_begin, somebody has requested it */
};
struct parts {
    VEC(struct part_row) rows; /* the first one has number 1 */
    bool full;                 /* somebody has not got a row */
};

void parts_free(struct parts *p);
/* Returns 0 if there is no room. */
u32 parts_row(struct parts *p, const struct xp_parts *parts);
/* Tells the kernel side, by `set`, unless it knows the row. Returns 0, or what `set` returned. */
int parts_tell(struct parts *p, u32 row, int (*set)(void *ctx, u32 row, const struct xp_parts *parts), void *ctx);
void parts_begin(struct parts *p);
void parts_end(struct parts *p);
