/* Caches names across intervals: (file, offset) -> frames. Only offsets that are not cached are sent to the parser.
 * Owned by the worker.
 *
 * There are two generations. A name is learned into the young one, and moves there from the old one when it is used.
 * When room is short at the end of an interval, the old one is given up and the young one becomes old. So names that
 * are used in every interval stay, whatever else comes and goes. Each owner has its share of the young generation
 * (base/shares.h); beyond that it gets its names, but they are not kept.
 */
#pragma once
#include "base/shares.h"
#include "bpf/types.h"
#include <stddef.h>

struct name_cache;
struct names;

/* `max_bytes` is for both generations. 0 or -ENOMEM. */
int name_cache_new(struct name_cache **out, size_t max_bytes);
void name_cache_free(struct name_cache **n);

/* A query for the names of n ascending offsets of file `id`. `ask` is called once, for the offsets that are not cached,
 * and passes their names to `learn`, or returns -errno, which is then the result. Otherwise `use` is called with all
 * names, and the result is 0. */
struct name_cache_query {
    u32 id;
    u64 owner; /* of the file; SHARES_ALL: nobody's, which may take all the room and make some at any time */
    const u64 *offsets;
    size_t n;
    bool passing; /* better names may come: what is asked for now is not kept */
    int (*ask)(void *ctx, u32 id, const u64 *offsets, size_t n, void (*learn)(void *arg, const struct names *names),
               void *arg);
    void *ctx;
    void (*use)(void *arg, const struct names *names);
    void *arg;
};
int name_cache_answer(struct name_cache *n, const struct name_cache_query *q);
/* Ends an interval: makes room if some was missing. */
void name_cache_age(struct name_cache *n);
/* Returns the number of offsets that were answered without asking. */
u64 name_cache_hits(const struct name_cache *n);
