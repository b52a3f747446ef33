/* Names that were asked for before: (file, offset) -> frames, kept from interval to interval, because what is hot now
 * was hot a moment ago. The parser is asked for the rest only. Bounded in bytes: when full, it begins anew. The
 * worker's.
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

struct named;
struct names;

/* 0 or -ENOMEM. */
int named_new(struct named **out, size_t max_bytes);
void named_free(struct named **n);

/* Asks for names of n ascending offsets of file `id`; `ask` is called for those that are not known, in one call, and
 * hands their names to `learn` (or returns -errno, which is then the answer). 0: `use` was called with all of them. */
struct named_question {
    u32 id;
    const u64 *offsets;
    size_t n;
    int (*ask)(void *ctx, u32 id, const u64 *offsets, size_t n, void (*learn)(void *arg, const struct names *names),
               void *arg);
    void *ctx;
    void (*use)(void *arg, const struct names *names);
    void *arg;
};
int named_answer(struct named *n, const struct named_question *q);
u64 named_hits(const struct named *n);
