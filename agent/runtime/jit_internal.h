/* Declarations shared by the readers of JIT maps: the requested addresses, and what is known of each so far. */
#pragma once
#include "base/buf.h"
#include "base/vec.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <sys/types.h>

/* Of a map. Of a longer text map the end is read, where the youngest code is; of a longer jitdump, which can be read
 * from its beginning only, the first part. */
#define JIT_MAX_BYTES ((off_t)256 << 20)
#define JIT_MAX_NAME  4096 /* bytes; what is beyond is cut off */

struct jit_hit {
    u64 start;
    u32 name, system_name, file; /* places in texts; 0: none */
    u32 line;
};
struct jit_query {
    const u64 *addresses; /* ascending */
    struct jit_hit *hits; /* of each */
    size_t n;
    struct buf texts; /* place 0 is "" */
    size_t left;      /* how many more hits may be written: entries may overlap without end */
};

/* The addresses in [start, start + size): the first one's row, and how many. */
size_t jit_range(const struct jit_query *q, u64 start, u64 size, size_t *first);
/* An entry of the map. False: too much already, stop reading. */
bool jit_entry(struct jit_query *q, u64 start, u64 size, const char *name, size_t len);

/* A name as its writer spells it, in parts. V8 writes "LazyCompile:*run /app/x.js:3:12", CPython "py::run:/app/x.py".
 */
struct jit_spelling {
    const char *name, *file;
    size_t len, file_len;
    u32 line; /* of the declaration; 0 = unknown */
    bool v8;
};
struct jit_spelling jit_spell(const char *name, size_t len);

/* Where a text of these bytes stands in q->texts; 0 without memory. */
u32 jit_text(struct jit_query *q, const char *s, size_t len);

/* Reads the file from `from` on; -errno or 0. */
int perf_map_read(int fd, off_t size, struct jit_query *q);
int jitdump_read(int fd, off_t size, struct jit_query *q);
/* Is that what the file begins with? */
bool jitdump_is(int fd);
