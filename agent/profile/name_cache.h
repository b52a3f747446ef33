/* Caches names across intervals: (file, offset) -> frames. Only offsets that are not cached are sent to the parser.
 * Bounded in bytes: a full cache is emptied. Owned by the worker.
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

struct name_cache;
struct names;

/* 0 or -ENOMEM. */
int name_cache_new(struct name_cache **out, size_t max_bytes);
void name_cache_free(struct name_cache **n);

/* Asks for names of n ascending offsets of file `id`; `ask` is called for those that are not known, in one call, and
 * hands their names to `learn` (or returns -errno, which is then the answer). 0: `use` was called with all of them. */
struct name_cache_query {
    u32 id;
    const u64 *offsets;
    size_t n;
    int (*ask)(void *ctx, u32 id, const u64 *offsets, size_t n, void (*learn)(void *arg, const struct names *names),
               void *arg);
    void *ctx;
    void (*use)(void *arg, const struct names *names);
    void *arg;
};
int name_cache_answer(struct name_cache *n, const struct name_cache_query *q);
u64 name_cache_hits(const struct name_cache *n);
