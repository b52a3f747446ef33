/* Caches names across intervals: (file, offset) -> frames. Only offsets that are not cached are sent to the parser. Its
 * size is limited: a full cache is emptied. Owned by the worker.
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

struct name_cache;
struct names;

/* 0 or -ENOMEM. */
int name_cache_new(struct name_cache **out, size_t max_bytes);
void name_cache_free(struct name_cache **n);

/* A query for the names of n ascending offsets of file `id`. `ask` is called once, for the offsets that are not cached,
 * and passes their names to `learn`, or returns -errno, which is then the result. Otherwise `use` is called with all
 * names, and the result is 0. */
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
