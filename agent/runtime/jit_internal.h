/* Declarations shared by the readers of JIT maps: the requested addresses, and what is known of each so far. */
#pragma once
#include "base/buf.h"
#include "base/vec.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <sys/types.h>

/* Maximum size of a map. If a text map is longer, its end is read, which has the latest code; if a jitdump is longer,
 * its first part is read, because it can only be read from its start. */
#define JIT_MAX_BYTES ((off_t)256 << 20)
#define JIT_MAX_NAME  4096 /* bytes; longer names are truncated */

struct jit_hit {
    u64 start;
    u32 name, system_name, file; /* positions in texts; 0: none */
    u32 line;
};
struct jit_query {
    const u64 *addresses; /* ascending */
    struct jit_hit *hits; /* one per address */
    size_t n;
    struct buf texts; /* position 0 is "" */
    size_t left;      /* limit of further hits, because many entries may overlap */
};

/* Returns the number of addresses in [start, start + size), and the row of the first one. */
size_t jit_range(const struct jit_query *q, u64 start, u64 size, size_t *first);
/* Adds an entry of the map. False: a limit is reached, stop reading. */
bool jit_entry(struct jit_query *q, u64 start, u64 size, const char *name, size_t len);

/* The parts of a name in the format of its runtime. V8 writes "LazyCompile:*run /app/x.js:3:12", CPython
 * "py::run:/app/x.py".
 */
struct jit_spelling {
    const char *name, *file;
    size_t len, file_len;
    u32 line; /* of the declaration; 0 = unknown */
    bool v8;
};
struct jit_spelling jit_spell(const char *name, size_t len);

/* Returns the position of this text in q->texts, adding it if necessary; 0 if out of memory. */
u32 jit_text(struct jit_query *q, const char *s, size_t len);

/* Read the map. Return 0 or -errno. */
int perf_map_read(int fd, off_t size, struct jit_query *q);
int jitdump_read(int fd, off_t size, struct jit_query *q);
/* Tells whether the file is a jitdump, by its first bytes. */
bool jitdump_is(int fd);
