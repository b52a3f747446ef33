/* A world for tests of the search: folders that stand for the roots of a container and of the host, and a directory of
 * the user's.
 */
#pragma once
#include "base/buf.h"
#include "base/cleanup.h"
#include "debug/debug.h"

#define ID   "0123456789abcdef"
#define BYID "usr/lib/debug/.build-id/01/23456789abcdef.debug"

struct world {
    char dir[64];
    struct parser *parser;
    int container, host;
    const char *dirs[1];
    char users[80];
    struct debug_search_paths places;
    struct debug_files files;
    struct debug_trace trace;
};

bool world_new(struct world *w);
void world_free(struct world *w);

/* What a file is made of; NULL: it has none of that. */
struct made {
    const char *id, *info, *link, *alt;
    u32 crc;
    const char *alt_id;
    bool package, symbols;
};
void make_file(struct buf *out, const struct made *m);
/* Below the world's folder: "container/bin/x". Returns the file's CRC. */
u32 put_file(struct world *w, const char *where, const struct made *m);

/* Looks for the debug file of container/bin/x; the outcome of some place that was tried is `outcome`. */
bool look(struct world *w, const char *outcome);
/* Where the first file that was used begins. */
const char *whose_is_used(const struct world *w);
