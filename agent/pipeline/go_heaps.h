/* Reads the heap profiles that Go programs keep themselves (runtime/go_heap.h), from their memory: so they cost the
 * programs nothing. One thread follows processes and reads; another one takes what was read, as samples. Values are
 * those of the whole table of the runtime, scaled as runtime/pprof does.
 *
 * Tables are divided fairly among containers. A program whose table is refused keeps what was read of it before.
 */
#pragma once
#include "pipeline/go_table.h"
#include "pipeline/waits.h"

#define GO_HEAPS_BYTES (64u << 20) /* limit of all tables that are kept; the one being read comes on top */

struct go_heaps;
struct hung;

struct go_heaps_config {
    size_t event;     /* that of the samples */
    bool since_start; /* the first ones have what the program has allocated since it began, not since it was followed */
    go_memory_read *read;
    void *ctx;         /* for `read` */
    struct hung *hung; /* borrowed: processes whose memory does not answer are left alone for a while */
    u64 limit;         /* in bytes */
    u64 *refused;      /* borrowed, atomic: counts programs whose table was too large, took too long or had no room */
};
int go_heaps_new(struct go_heaps **out, const struct go_heaps_config *config); /* 0 or -ENOMEM */
void go_heaps_free(struct go_heaps **g);

/* ---- The thread that reads ---- */

/* Follows the program that a process has mapped so, unless it does already. */
void go_heaps_follow(struct go_heaps *g, const struct xp_wanted *who, const struct xp_mapping *m,
                     const struct go_heap *where);
/* A process has ended, or is no longer wanted: what it held is gone. */
void go_heaps_leave(struct go_heaps *g, u32 tgid);
/* Reads those that live, if it is time to (reading takes at most one percent of the time), or `now`. */
void go_heaps_look(struct go_heaps *g, bool now);

/* ---- The thread that takes; any thread may call these ---- */

/* Passes the changes since the last call to `use`: values are what was allocated, and what is in use. */
void go_heaps_take(struct go_heaps *g, waits_use *use, void *ctx);
/* Begins a profile interval: the next call of go_heaps_take passes all that is in use. */
void go_heaps_begin(struct go_heaps *g);
