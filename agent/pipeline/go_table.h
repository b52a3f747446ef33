/* The table in which a Go program's runtime keeps what it has allocated (runtime/go_heap.h), as it is read from the
 * program's memory. The program runs meanwhile, and may have written anything there: all is bounded.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "runtime/go_heap.h"

#define GO_TABLE_DEPTH 1024 /* of a stack: what Go has at most (src/runtime/mprof.go: maxProfStackDepth) */

struct go_cycle { /* memRecordCycle */
    u64 allocs, frees, alloc_bytes, free_bytes;
};
struct go_bucket {
    u32 first, n;            /* of its stack, in words: return addresses, leaf first */
    struct go_cycle sum;     /* as runtime/pprof would show it */
    struct go_cycle waiting; /* in cycles of garbage collection that have not ended */
};
struct go_table { /* newest bucket first; the runtime never removes one */
    VEC(u64) words;
    VEC(struct go_bucket) buckets;
    u64 rate; /* bytes per sample, on average */
    bool any; /* a garbage collection has ended */
};

/* Reads up to `len` bytes of the memory of a process. Returns how many there were, or -errno; -EREMOTEIO: it does not
 * answer. */
typedef int go_memory_read(void *ctx, u32 tgid, u64 at, void *to, size_t len);
struct go_memory;

int go_memory_new(struct go_memory **out, go_memory_read *read, void *ctx); /* 0 or -ENOMEM */
void go_memory_free(struct go_memory **m);
/* Reads the table of a process. `base`: what distances in `where` are added to. `room`: bytes that it may have.
 * Returns 0; -EAGAIN: it changed meanwhile; -E2BIG: it has more, or takes too long; -EBADMSG; or another -errno. */
int go_table_read(struct go_memory *m, u32 tgid, u64 base, const struct go_heap *where, u64 room, struct go_table *out);
u64 go_table_bytes(const struct go_table *t);
void go_table_free(struct go_table *t);
